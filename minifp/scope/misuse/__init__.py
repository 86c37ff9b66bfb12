"""Misuse of mixed precision, caught: each told once, with the fix."""
