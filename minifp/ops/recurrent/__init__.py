"""Sequences, one step after the other."""
