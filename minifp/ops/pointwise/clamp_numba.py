"""Compiled kernels of clamp.py."""

import math

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import pointwise, summed
from minifp.runtime.cpu.math import NOTHING


@pointwise
def clamped(x, low, high):
    y = x if x >= low or x != x else low
    return y if y <= high or y != y else high


@pointwise
def where_inside(dy, x, low, high):
    return dy if x >= low and x <= high else NOTHING


@pointwise
def where_below(dy, x, low, high):
    return dy if x < low and low < high else NOTHING


@pointwise
def where_above(dy, x, low, high):
    return dy if x > high or high < low else NOTHING


SIDES = where_inside, where_below, where_above


def _limits(low, high):
    return -math.inf if low is None else low, math.inf if high is None else high


@any_device
def clamp_forward(x, *, to, min=None, max=None):
    return clamped(x, *_limits(min, max), to=to)


@any_device
def clamp_dx(dy, x, *, to, min=None, max=None):
    return where_inside(dy, x, *_limits(min, max), to=to)


@any_device
def clamp_between(x, low, high, *, to):
    return clamped(x, *_limits(low, high), to=to)


@any_device
def clamp_between_dx(dy, x, low, high, *, side, shape, to):
    return summed(SIDES[side], (dy, x, *_limits(low, high)), dy.shape, shape, to[0])
