"""Convolutions, and the windows that they are made of."""
