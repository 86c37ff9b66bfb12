"""Sweeps: the same comparison at every point of a grid of settings."""
