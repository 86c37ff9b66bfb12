"""The commands that show what number formats do: a file for each; see minifp/cli.py."""
