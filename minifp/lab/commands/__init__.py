"""The commands that train, compare and look at the machine: a file for each; see minifp/cli.py."""
