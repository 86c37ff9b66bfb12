"""The CPU: its threads."""
