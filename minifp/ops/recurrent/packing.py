"""Rows taken out of padded sequences, and put back: nothing is computed, so nothing is rounded.

    take: y_n = x_places(n)        put: y_places(n) = x_n, and the padding elsewhere

places: (N) different rows of the first two axes, merged. The gradient of each is the other one.
"""

from minifp.autograd.op import op
from minifp.numerics.formats import as_stored, is_float
from minifp.ops.public import public
from minifp.runtime.device import full, placed


def put(rows, places, shape, value=0):
    """An array of this shape with `rows` at these places of its merged first two axes."""
    if is_float(rows.dtype):
        value = as_stored(value, rows.dtype)
    y = full(shape, value, rows.dtype, like=rows)
    y.reshape(-1, *shape[2:])[placed(places, like=rows)] = rows
    return y


def take(x, places):
    """The rows at these places of x's merged first two axes."""
    return x.reshape(-1, *x.shape[2:])[placed(places, like=x)]


def pack_backward(dy, shape, to, places):
    return (put(dy, places, shape),)


@public(autocast="exact")
@op
def pack(x, *, places):
    """The rows of x (T, B, ...) at `places`: (N, ...)."""
    return take(x, places), (x.shape,), pack_backward


def unpack_backward(dy, to, places, shape, value):
    return (take(dy, places),)


@public(autocast="exact")
@op
def unpack(x, *, places, shape, value):
    """The rows x (N, ...) at `places` of a tensor of shape (T, B, ...), and `value` elsewhere."""
    return put(x, places, shape, value), (), unpack_backward
