"""Negative log-likelihood of log-probabilities x with class numbers t.

l_n = -w_t(n) x_n,t(n);   "none": l, in x's format;   L = sum l, or sum l / sum w_t(n), float32.
x: (N, C, ...) or (C), stored;  t: (N, ...) or () integers;  w: (C) weights, 1 if None.

    dx_n,t(n) = -w_t(n) dL / sum w, 0 elsewhere

The sums are in `reduce`; L is never rounded to a storage format.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.losses import class_targets
from minifp.ops.losses.loss import check_reduction
from minifp.ops.public import public
from minifp.runtime.device import is_array_like


@kernel("loss", "x")
def nll_loss_each(x, t, w, *, ignore_index):
    rows, weights = class_targets.rows_and_weights(t, w, ignore_index)
    return np.where(t == ignore_index, 0, -class_targets.pick(x, rows) * weights)


@kernel("loss", COMPUTE)
def nll_loss_total(x, t, w, *, ignore_index, reduction, sum):
    weights = class_targets.rows_and_weights(t, w, ignore_index)[1]
    losses = nll_loss_each.reference(x, t, w, ignore_index=ignore_index)
    return sum(losses) / class_targets.weight_in_all(weights, reduction, sum)


@kernel("loss", GIVEN)
def nll_loss_dx(dl, x, t, w, *, ignore_index, reduction, sum):
    rows, weights = class_targets.rows_and_weights(t, w, ignore_index)
    dl = dl / class_targets.weight_in_all(weights, reduction, sum)
    return class_targets.in_class(np.where(t == ignore_index, 0, -(weights * dl)), rows, x)


def nll_loss_backward(dl, x, t, w, to, **settings):
    return nll_loss_dx(dl, x, t, w, to=to[0], **settings), None, None


@op
def nll_loss_op(x, t, w, *, ignore_index, reduction):
    if reduction == "none":
        losses = nll_loss_each(x, t, w, ignore_index=ignore_index)
    else:
        losses = nll_loss_total(x, t, w, ignore_index=ignore_index, reduction=reduction)
    return losses, (x, t, w), nll_loss_backward


@public("F", autocast="loss")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """The mean of -input in the class that `target` names, in nats if input is log_softmax's.

    input: (N, C), (N, C, d1, ...) or (C)   target: integers, (N), (N, d1, ...) or ()
    weight: of each class, (C); the mean is divided by the weights of the targets.

    Rows whose target is `ignore_index` count neither in the sum nor in the mean, which without any
    row is NaN. Result: a float32 scalar, or with reduction "none" a tensor of target's shape.
    Raises DTypeError for targets that are not integers, ShapeError where shapes do not fit,
    ArgumentError for a target that is no class (on a GPU its row gives NaN instead) and for weights
    that require a gradient.
    """
    check_reduction("nll_loss", reduction)
    class_targets.check_scores("nll_loss", input, weight, ignore_index)
    if not is_array_like(target):
        raise DTypeError(f"nll_loss: target is a {type(target).__name__}: expected a tensor")
    class_targets.as_classes("nll_loss", input, target, ignore_index)
    return nll_loss_op(input, target, weight, ignore_index=ignore_index, reduction=reduction)
