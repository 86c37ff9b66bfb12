"""The commands for students: `teach`, and a file for each below it; see minifp/cli.py."""
