"""Softmax cross entropy of logits z, with classes t or with probabilities q as targets.

classes:        l_n = (1 - s) w_t(n) a_n,t(n) + s / C sum_c w_c a_nc;   a_nc = -log softmax(z_n)_c
probabilities:  l_n = sum_c w_c r_nc a_nc,                              r = (1 - s) q + s / C
z: (N, C, ...) or (C), stored;  t: (N, ...) or () integers;  q: as z;  w: (C) weights, 1 if None;
s: label smoothing (Szegedy et al. 2016, arXiv:1512.00567, section 7).

With "none" l, stored in z's format; else L = sum l / n, float32. In a mean n is the weight of all
targets that are not ignored, sum w_t(n), or, with probabilities, the number of rows.

    dz_nc = (softmax(z_n)_c sum_k v_nk - v_nc) dL / n,   dq_nc = (1 - s) w_c a_nc dL / n
    where l_n = sum_c v_nc a_nc:  v_nc = w_c r_nc,  or  (1 - s) w_c [c = t(n)] + s w_c / C

Subtracting the largest logit first keeps e^z below 1. The sums are in `reduce`.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.formats import is_float
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.losses.class_targets import (
    along_classes,
    as_classes,
    check_scores,
    class_axis,
    pick,
    rows_and_weights,
    weight_in_all,
)
from minifp.ops.losses.loss import check_reduction
from minifp.ops.public import public
from minifp.ops.reduce import largest
from minifp.runtime.device import is_array_like


def _below_largest(z):
    return z - largest(z, class_axis(z.ndim))


def _log_sum(z, sum):
    return np.log(sum(np.exp(z), axis=class_axis(z.ndim), keepdims=True))


def _surprise(z, sum):
    """a = -log softmax(z)."""
    z = _below_largest(z)
    return _log_sum(z, sum) - z


def _each_class(w, z):
    return np.ones_like(z) if w is None else np.broadcast_to(along_classes(w, z.ndim), z.shape)


def _weighted(w, z, q, smoothing):
    """v with probabilities as targets."""
    r = q if smoothing == 0 else (1 - smoothing) * q + smoothing / z.shape[class_axis(z.ndim)]
    return r if w is None else r * along_classes(w, z.ndim)


# ---- the losses ---------------------------------------------------------------------------------


@kernel("loss", "z")
def cross_entropy_each(z, t, w, *, ignore_index, smoothing, sum):
    """The losses of classes, 0 where they are ignored."""
    rows, weights = rows_and_weights(t, w, ignore_index)
    z, axis = _below_largest(z), class_axis(z.ndim)
    log_sum = _log_sum(z, sum)
    losses = log_sum.squeeze(axis) - pick(z, rows)
    losses = losses if w is None else losses * weights
    if smoothing:
        a = log_sum - z
        of_all = sum(a if w is None else a * along_classes(w, z.ndim), axis=axis)
        losses = (1 - smoothing) * losses + smoothing / z.shape[axis] * of_all
    return np.where(t == ignore_index, 0, losses)


@kernel("loss", COMPUTE)
def cross_entropy_total(z, t, w, *, ignore_index, smoothing, reduction, sum):
    each, weights = cross_entropy_each.reference, rows_and_weights(t, w, ignore_index)[1]
    losses = each(z, t, w, ignore_index=ignore_index, smoothing=smoothing, sum=sum)
    return sum(losses) / weight_in_all(weights, reduction, sum)


@kernel("loss", "z")
def soft_cross_entropy_each(z, q, w, *, smoothing, sum):
    """The losses with probabilities."""
    return sum(_weighted(w, z, q, smoothing) * _surprise(z, sum), axis=class_axis(z.ndim))


@kernel("loss", COMPUTE)
def soft_cross_entropy_total(z, q, w, *, smoothing, reduction, sum):
    losses = soft_cross_entropy_each.reference(z, q, w, smoothing=smoothing, sum=sum)
    return sum(losses) / (losses.size if reduction == "mean" else 1)


# ---- their gradients ----------------------------------------------------------------------------


@kernel("loss", GIVEN)
def cross_entropy_dz(dl, z, t, w, *, ignore_index, smoothing, reduction, sum):
    axis = class_axis(z.ndim)
    rows, weights = rows_and_weights(t, w, ignore_index)
    p = np.exp(_below_largest(z))
    p /= sum(p, axis=axis, keepdims=True)
    spread = 0
    if smoothing:
        v = _each_class(w, z)
        spread = smoothing / z.shape[axis] * (p * sum(v, axis=axis, keepdims=True) - v)
    dz, places = p, np.expand_dims(rows, axis)
    np.put_along_axis(dz, places, np.take_along_axis(p, places, axis) - 1, axis)
    if w is not None:
        dz = dz * np.expand_dims(weights, axis)
    if smoothing:
        dz = (1 - smoothing) * dz + spread
    dl = np.where(t == ignore_index, 0, dl / weight_in_all(weights, reduction, sum))
    return dz * np.expand_dims(dl, axis)


def _row_gradients(dl, z, reduction):
    """dL / n of each row, beside z."""
    axis = class_axis(z.ndim)
    if reduction == "none":
        return np.expand_dims(dl, axis)
    return dl / (z.size // z.shape[axis]) if reduction == "mean" else dl


@kernel("loss", GIVEN)
def soft_cross_entropy_dz(dl, z, q, w, *, smoothing, reduction, sum):
    axis = class_axis(z.ndim)
    p, v = np.exp(_below_largest(z)), _weighted(w, z, q, smoothing)
    p /= sum(p, axis=axis, keepdims=True)
    return (p * sum(v, axis=axis, keepdims=True) - v) * _row_gradients(dl, z, reduction)


@kernel("loss", GIVEN)
def soft_cross_entropy_dq(dl, z, q, w, *, smoothing, reduction, sum):
    a = _surprise(z, sum)
    a = a if w is None else a * along_classes(w, z.ndim)
    return (1 - smoothing) * a * _row_gradients(dl, z, reduction)


def cross_entropy_backward(dl, z, t, w, to, ignore_index, **settings):
    if t.dtype.kind in "iu":
        settings["ignore_index"] = ignore_index
        return cross_entropy_dz(dl, z, t, w, to=to[0], **settings), None, None
    kernels = soft_cross_entropy_dz, soft_cross_entropy_dq
    gradients = (
        None if format is None else gradient(dl, z, t, w, to=format, **settings)
        for gradient, format in zip(kernels, to)
    )
    return *gradients, None


# ---- the operation ------------------------------------------------------------------------------


@op
def cross_entropy_op(z, t, w, *, ignore_index, smoothing, reduction):
    settings = {"smoothing": smoothing}
    each, total = soft_cross_entropy_each, soft_cross_entropy_total
    if t.dtype.kind in "iu":
        settings["ignore_index"] = ignore_index
        each, total = cross_entropy_each, cross_entropy_total
    if reduction == "none":
        losses = each(z, t, w, **settings)
    else:
        losses = total(z, t, w, reduction=reduction, **settings)
    return losses, (z, t, w), cross_entropy_backward


@public("F", autocast="loss")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Softmax cross entropy of logits with class numbers, or with class probabilities, in nats.

    input: (N, C), (N, C, d1, ...) or (C)   weight: of each class, (C)
    target: integers, (N), (N, d1, ...) or (); or floating numbers of input's shape.
    label_smoothing: the share, 0 to 1, of each target that is spread over all classes.

    Rows whose target is `ignore_index` count neither in the sum nor in the mean, which without any
    row is NaN. Result: a float32 scalar, or with reduction "none" a tensor of target's shape (with
    probabilities, without its classes). Raises DTypeError for targets that are neither, ShapeError
    where shapes do not fit, ArgumentError for a target that is no class (on a GPU its row gives NaN
    instead) and for weights that require a gradient.
    """
    check_reduction("cross_entropy", reduction)
    check_range("cross_entropy: label_smoothing", label_smoothing, high=1.0)
    check_scores("cross_entropy", input, weight, ignore_index)
    if not is_array_like(target) or not is_float(target.dtype):
        target = as_classes("cross_entropy", input, target, ignore_index)
    else:
        _check_probabilities(input, target, ignore_index)
    settings = {"ignore_index": ignore_index, "smoothing": float(label_smoothing)}
    return cross_entropy_op(input, target, weight, reduction=reduction, **settings)


def _check_probabilities(input, target, ignore_index):
    if target.shape != input.shape:
        raise ShapeError(
            f"cross_entropy: targets of {target.dtype} of shape {target.shape} for input of shape "
            f"{input.shape}: expected probabilities of its shape, or integers, the class numbers"
        )
    if ignore_index >= 0:
        raise ArgumentError(
            f"cross_entropy: ignore_index={ignore_index} with probabilities as targets: "
            "only class numbers can be ignored"
        )
