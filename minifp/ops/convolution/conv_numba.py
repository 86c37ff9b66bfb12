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
from minifp.numerics.dispatch import SUM_OVER
from minifp.ops.convolution import conv_depthwise_numba as depthwise
from minifp.ops.convolution.conv_correlation_numba import correlations, pack_weights, zero_of
from minifp.ops.convolution.conv_plan_numba import backward_plan, forward_plan, weight_plan
from minifp.ops.convolution.conv_weights_numba import add_slots, weight_sums
from minifp.runtime.cpu.kernels.half import VIEWS
from minifp.runtime.cpu.kernels.pool import flat, packed, view
from minifp.runtime.cpu.kernels.tile import CHAIN, LANES

FAR_APART = 4096  # a stride beyond which planes for each phase cost more than they save
NO_BIAS = {dtype: view(np.empty(0, dtype)) for dtype in VIEWS}


def run(plan, x, w, b, shape, dtype, finite=False):
    """The results (of a shape) of a Plan; finite: None if something in w is not."""
    y, x, w = np.empty(shape, dtype), flat(x), flat(w)
    weights = packed(plan.weights)
    for rows, ks, where in plan.packs:
        pack_weights(w, rows, ks, weights, where)
    if finite and zero_of(weights, plan.weights) != 0:
        return None
    read = x, plan.planes, plan.pairs, weights, plan.steps, plan.phases
    written = NO_BIAS[y.dtype] if b is None else flat(b), view(y).reshape(-1)
    sizes, cost = (plan.sizes, plan.in_panels), plan.cost
    correlations(
        plan.chunks, shape[0], *read, *written, *sizes, cost=cost, workspace=plan.workspace
    )
    return y


def is_depthwise(N, w_shape, groups):
    """Whether each channel has a kernel of its own, and there are planes for all lanes."""
    is_one_to_one = w_shape[0] == groups and w_shape[1] == 1
    return is_one_to_one and 1 < prod(w_shape[2:]) <= CHAIN and N * groups >= LANES


# ---- the compiled kernels ------------------------------------------------------------------------


@compiled_kernel
def conv_forward(x, w, b, *, stride, padding, dilation, groups, counts, to):
    if not x.size or not w.size or not prod(counts) or max(stride) > FAR_APART:
        return None
    shape = (x.shape[0], w.shape[0], *counts)
    if is_depthwise(x.shape[0], w.shape, groups):
        y = depthwise.forward(x, w, b, shape, (stride, padding, dilation), to[0])
        if y is not None:
            return y
    plan = forward_plan(x.shape, w.shape, groups, counts, stride, padding, dilation)
    return run(plan, x, w, b, shape, to[0])


@compiled_kernel
def conv_dx(dy, w, *, x_sizes, stride, padding, dilation, groups, to, bias=None):
    if not dy.size or not w.size or not prod(x_sizes) or max(stride) > FAR_APART:
        return None
    shape = (dy.shape[0], w.shape[1] * groups, *x_sizes)
    if is_depthwise(dy.shape[0], w.shape, groups):
        dx = depthwise.backward(dy, w, bias, shape, (stride, padding, dilation), to[0])
        if dx is not None:
            return dx
    plan = backward_plan(dy.shape, w.shape, groups, x_sizes, stride, padding, dilation)
    return run(plan, dy, w, bias, shape, to[0], finite=True)  # zeros around dy are not dy


@compiled_kernel
def conv_dw(dy, x, *, w_shape, stride, padding, dilation, groups, to):
    if not dy.size or not x.size or max(stride) > FAR_APART:
        return None
    if is_depthwise(x.shape[0], w_shape, groups):
        dw = depthwise.weight_gradient(dy, x, w_shape, (stride, padding, dilation), to[0])
        if dw is not None:
            return dw
    plan = weight_plan(x.shape, w_shape, groups, dy.shape[2:], stride, padding, dilation)
    dw, sums = np.empty(w_shape, to[0]), packed(plan.slots * plan.of_slot)
    read = flat(x), plan.planes, plan.pairs, flat(dy), plan.runs, plan.pixels
    shared = plan.sizes, sums, plan.chunks, plan.per, plan.in_panels
    weight_sums(plan.slots, x.shape[0], *read, *shared, cost=plan.cost, workspace=plan.workspace)
    O, C = w_shape[:2]
    places = groups, plan.places, O // groups, C, len(plan.places)
    cost = plan.slots * plan.of_slot / 2
    add_slots(O, sums, plan.slots, plan.of_slot, *places, flat(dw), cost=cost, workspace=C)
    return dw


@any_device
def conv_db(dy, *, to):
    return SUM_OVER[type(dy)](dy, (0, *range(2, dy.ndim)), to[0] or dy.dtype)
