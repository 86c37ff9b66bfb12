"""The titles, hints and known mistakes of exercises in words: a Markdown file for each lesson."""
