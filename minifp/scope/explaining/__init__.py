"""Formats explained: the bits of a number, and what an operation does to it."""
