"""What losses are made of: reductions, and a factory for losses element by element.

    l_i = f(x_i, t_i);   "none": l, in x's format;   "sum", "mean", ...: L = sum l / n, float32.
    dx_i = f'(x_i, t_i) dL / n, summed along the axes that broadcasting stretched; dt alike.

x: (...) stored;  t: targets, stored;  w, p: weights of elements, without gradient, or None. One
kernel gives the losses and their sum, so that nothing between the two is rounded. The sums are in
`reduce`; L is never rounded to a storage format.
"""

import math

import numpy as np

from minifp.autograd.op import op
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import check_constants, check_tensors
from minifp.ops.elementwise import named, sum_to

REDUCTIONS = ("mean", "sum", "none")


def elementwise_loss(name, value, x_slope, t_slope):
    """The operation with losses value(x, t, w, p, **settings), and their slopes in x and in t."""

    def each(x, t, w, p, **settings):
        return value(x, t, w, p, **settings)

    def total(x, t, w, p, *, divisor, sum, **settings):
        return sum(value(x, t, w, p, **settings)) / divisor

    def dx(dl, x, t, w, p, *, divisor, shape, sum, **settings):
        return sum_to(x_slope(x, t, w, p, **settings) * (dl / divisor), shape, sum)

    def dt(dl, x, t, w, p, *, divisor, shape, sum, **settings):
        return sum_to(t_slope(x, t, w, p, **settings) * (dl / divisor), shape, sum)

    each = named(each, f"{name}_each", None, value)
    each = kernel("loss", "x")(each)
    total = kernel("loss", COMPUTE)(named(total, f"{name}_total", None, value))
    dx = kernel("loss", GIVEN)(named(dx, f"{name}_dx", None, value))
    dt = kernel("loss", GIVEN)(named(dt, f"{name}_dt", None, value))

    def backward(dl, *saved, to, divisor, **settings):
        settings["divisor"] = divisor or 1
        gradients = (
            None if format is None else gradient(dl, *saved, shape=a.shape, to=format, **settings)
            for gradient, a, format in zip((dx, dt), saved, to)
        )
        return *gradients, None, None

    def apply(x, t, w, p, *, divisor, **settings):
        if divisor is None:
            return each(x, t, w, p, **settings), (x, t, w, p), backward
        return total(x, t, w, p, divisor=divisor, **settings), (x, t, w, p), backward

    return op(named(apply, name, None, value))


def divisor_of(reduction, shape, batch=None):
    """By what the sum of losses of this shape is divided; None for reduction "none"."""
    divisors = {"none": None, "sum": 1, "mean": math.prod(shape), "batchmean": batch}
    return divisors[reduction]


def check_reduction(function, reduction, choices=REDUCTIONS):
    """Raise ArgumentError unless it is one of them."""
    if not isinstance(reduction, str) or reduction not in choices:
        expected = ", ".join(choices)
        raise ArgumentError(f"{function}: reduction={reduction!r}: expected one of {expected}")


def check_pair(function, input, target):
    """Raise DTypeError for anything but floating tensors, ShapeError for two shapes."""
    check_tensors(function, input=input, target=target)
    if input.shape != target.shape:
        raise ShapeError(
            f"{function}: input of shape {input.shape}, target of shape {target.shape}: "
            "expected the same"
        )


def check_weights(function, shape, **weights):
    """Raise for what is neither None nor a constant tensor that broadcasts to `shape`."""
    check_constants(function, **weights)
    for name, w in weights.items():
        if w is not None:
            check_tensors(function, **{name: w})
            try:
                fits = np.broadcast_shapes(w.shape, shape) == shape
            except ValueError:
                fits = False
            if not fits:
                raise ShapeError(
                    f"{function}: {name} of shape {w.shape} does not broadcast to {shape}"
                )
