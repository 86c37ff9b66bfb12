"""Checks of layers' arguments."""

import numpy as np

from minifp.errors import ArgumentError


def positive(**sizes):
    """Raise ArgumentError, naming it, for one that is not a positive integer."""
    for name, n in sizes.items():
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
            raise ArgumentError(f"{name}={n!r}: expected a positive integer")


def probability(layer, **values):
    """Raise ArgumentError, naming layer and argument, for one that is not between 0 and 1."""
    for name, p in values.items():
        if not (isinstance(p, (int, float)) and 0 <= p <= 1):
            raise ArgumentError(f"{layer}: {name}={p!r}: expected a probability between 0 and 1")
