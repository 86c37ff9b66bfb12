"""Compiled kernels of comparison.py."""

from minifp.numerics.dispatch import pointwise
from minifp.runtime.cpu.math import INF, NOTHING


@pointwise(dtype=bool)
def eq(x, y):
    return x == y


@pointwise(dtype=bool)
def ne(x, y):
    return x != y


@pointwise(dtype=bool)
def lt(x, y):
    return x < y


@pointwise(dtype=bool)
def le(x, y):
    return x <= y


@pointwise(dtype=bool)
def gt(x, y):
    return x > y


@pointwise(dtype=bool)
def ge(x, y):
    return x >= y


@pointwise(dtype=bool)
def isfinite(x):
    return abs(x) < INF


@pointwise(dtype=bool)
def isinf(x):
    return abs(x) == INF


@pointwise(dtype=bool)
def isnan(x):
    return x != x


@pointwise(dtype=bool)
def logical_not(x):
    return x == NOTHING
