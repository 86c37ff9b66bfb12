"""Compiled kernels of conv.py: correlations without unfolding.

A chunk is some pictures, or some rows of one. Its input is widened once into the workspace of the
thread, as planes with zeros around them, and there the sum over (c, i, j) reads each plane shifted
by the kernel's place: lanes run along the pixels of a plane, row after row, and a table says where
each (c, i, j) begins. So there is nothing to unfold, and a 1x1 kernel is a plain product.

Planes share their zeros: those behind a row are those before the next one. What is computed between
the rows is not stored. A stride divides a plane into its phases, each a plane of its own: of the
input where it is read, of the result where it is a gradient. So the products are as many as needed.

    forward   y[o, f]  = sum_{c,i,j} w[o, c, i, j] x[c, f + (i, j)]
    dx        the same for dy, with w turned and its first axes exchanged, phase by phase
    dw        dw[o, i, (j, c)] = sum_f dy[o, f] x[f + (i, j), c], with planes transposed to have
              channels last: lanes run along (j, c), neighbours in memory
"""

from math import prod

import numpy as np

from minifp.numerics.compiled import any_device, compiled_kernel
from minifp.numerics.dispatch import sum_over
from minifp.ops.convolution import conv_depthwise_numba as depthwise
from minifp.ops.convolution.conv_correlation_numba import (
    APART,
    KC,
    correlations,
    pack_weights,
    zero_of,
)
from minifp.ops.convolution.conv_plan_numba import MANY, backward_plan, forward_plan, weight_plan
from minifp.ops.convolution.conv_weights_numba import FAR, add_slots, weight_sums
from minifp.runtime.cpu.half import flat
from minifp.runtime.cpu.pool import aligned
from minifp.runtime.cpu.tile import CHAIN, COLUMNS, LANES


def as_pictures(shape):
    """A shape (N, C, H, W), of pictures or of sequences."""
    return shape if len(shape) == 4 else (*shape[:2], 1, *shape[2:])


def geometry_of(stride, padding, dilation):
    """The same for stride, padding and dilation."""
    return tuple(
        tuple(v) if len(v) == 2 else (one, *v)
        for v, one in ((stride, 1), (padding, 0), (dilation, 1))
    )


NO_BIAS = {2: np.empty(0, np.uint16), 4: np.empty(0, np.float32)}


def run(made, groups, x, w, b, shape, dtype, finite=False):
    """The results (of a shape) of a Plan; finite: None if something in w is not."""
    y, x, w = np.empty(shape, dtype), flat(x), flat(w)
    packed = aligned(made.weights)
    for rows, ks, where in made.packs:
        pack_weights(w, rows, ks, packed[where:])
    if finite and zero_of(packed, made.weights) != 0:
        return None
    N, O, OH, OW = as_pictures(shape)
    laid = made.planes
    correlations(
        *(laid.chunks, N, x, tuple(laid), packed, made.steps, made.phases),
        *(NO_BIAS[y.itemsize] if b is None else flat(b), flat(y)),
        *((O, OH, OW, groups, made.high, made.block), O // groups >= MANY),
        cost=made.cost,
        workspace=laid.total + made.high * made.block + (KC + 1) * APART,
    )
    return y


def is_depthwise(N, w_shape, groups):
    """Whether each channel has a kernel of its own, and there are planes for all lanes."""
    is_one_to_one = w_shape[0] == groups and w_shape[1] == 1
    return is_one_to_one and 1 < prod(w_shape[2:]) <= CHAIN and N * groups >= LANES


# ---- the compiled kernels ------------------------------------------------------------------------


@compiled_kernel
def conv_forward(x, w, b, *, stride, padding, dilation, groups, counts, to):
    shape = (x.shape[0], w.shape[0], *counts)
    if not x.size or not w.size or not prod(shape):
        return None
    counts = as_pictures((1, 1, *counts))[2:]
    given = geometry_of(stride, padding, dilation)
    if is_depthwise(x.shape[0], w.shape, groups):
        y = depthwise.forward(x, w, b, shape, counts, given, to[0])
        if y is not None:
            return y
    made = forward_plan(as_pictures(x.shape), as_pictures(w.shape), groups, counts, *given)
    return run(made, groups, x, w, b, shape, to[0])


@compiled_kernel
def conv_dx(dy, w, *, x_sizes, stride, padding, dilation, groups, to, bias=None):
    shape = (dy.shape[0], w.shape[1] * groups, *x_sizes)
    if not dy.size or not w.size or not prod(shape):
        return None
    sizes = as_pictures((1, 1, *x_sizes))[2:]
    given = geometry_of(stride, padding, dilation)
    if is_depthwise(dy.shape[0], w.shape, groups):
        dx = depthwise.backward(dy, w, bias, shape, sizes, given, to[0])
        if dx is not None:
            return dx
    made = backward_plan(as_pictures(dy.shape), as_pictures(w.shape), groups, sizes, *given)
    return run(made, groups, dy, w, bias, shape, to[0], finite=True)  # zeros around dy are not dy


@compiled_kernel
def conv_dw(dy, x, *, w_shape, stride, padding, dilation, groups, to):
    if not dy.size or not x.size:
        return None
    counts = as_pictures(dy.shape)[2:]
    given = geometry_of(stride, padding, dilation)
    if is_depthwise(x.shape[0], w_shape, groups):
        dw = depthwise.weight_gradient(dy, x, w_shape, given, to[0])
        if dw is not None:
            return dw
    shape = as_pictures(w_shape)
    made = weight_plan(as_pictures(x.shape), shape, groups, counts, *given)
    (O, C, KH, KW), laid = shape, made.planes
    M = O // groups
    sums = np.empty(made.slots * made.of_slot, np.float32)
    weight_sums(
        *(made.slots, x.shape[0], flat(x), tuple(laid), flat(dy), made.runs, made.pixels),
        *((O, *counts, groups, C, made.deep, made.of_slot), sums, laid.chunks, made.per),
        M >= MANY and C >= FAR,
        cost=made.cost,
        workspace=made.workspace + LANES + KC * COLUMNS,
    )
    dw = np.empty(w_shape, to[0])
    add_slots(
        *(O, sums, made.slots, made.of_slot, groups, made.places, M, C, KH * KW, flat(dw)),
        cost=sums.size / 2,
        workspace=C,
    )
    return dw


@any_device
def conv_db(dy, *, to):
    return sum_over(dy, (0, *range(2, dy.ndim)), to[0] or dy.dtype)
