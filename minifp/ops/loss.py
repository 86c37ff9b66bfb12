"""Losses: one float32 number for many.

cross entropy: l_n = log sum_c e^(z_nc - max_c z_nc) - (z_n,t(n) - max_c z_nc); L = mean_n l_n.
    z: (N, C) logits, stored;  t: (N) integers;  dz_nc = (softmax(z_n)_c - [c = t(n)]) dL / N.
mean squared error: L = mean (x - y)^2;  dx = 2 (x - y) dL / n.

The sums are in `reduce`. With reduction "none" the losses are stored in z's format.
"""

import math

import numpy as np

from minifp.backend import kernel
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.pointwise import square, sub
from minifp.policy import GIVEN
from minifp.recording import op, takes_tensor
from minifp.tape import Tensor

REDUCTIONS = ("mean", "sum", "none")
KNOWN = "one of " + ", ".join(REDUCTIONS)


@kernel("loss", "z")
def cross_entropy_forward(z, t, kept, *, sum):
    """The losses l_n, 0 where `kept` is false."""
    z = z - z.max(1, keepdims=True)
    chosen = np.take_along_axis(z, t[:, None], 1)[:, 0]
    return np.where(kept, np.log(sum(np.exp(z), axis=1)) - chosen, 0)


@kernel("loss", "compute")
def cross_entropy_total(z, t, kept, *, divisor, sum):
    return sum(cross_entropy_forward.reference(z, t, kept, sum=sum)) / divisor


@kernel("loss", GIVEN)
def cross_entropy_dz(dl, z, t, kept, *, divisor, sum):
    p = np.exp(z - z.max(1, keepdims=True))
    p /= sum(p, axis=1, keepdims=True)
    p[np.arange(len(t)), t] -= 1
    dl = np.where(kept, np.broadcast_to(dl, t.shape), 0)
    return p * (dl / divisor)[:, None]


def cross_entropy_backward(dl, z, t, kept, to, divisor, reduction):
    return cross_entropy_dz(dl, z, t, kept, divisor=divisor, to=to[0]), None, None


@op
def cross_entropy_(z, t, kept, *, divisor, reduction):
    if reduction == "none":
        loss = cross_entropy_forward(z, t, kept)
    else:
        loss = cross_entropy_total(z, t, kept, divisor=divisor)
    return loss, (z, t, kept), cross_entropy_backward


@takes_tensor
def cross_entropy(input, target, *, ignore_index=-100, reduction="mean"):
    """Softmax cross entropy of logits with class numbers, in nats.

    input: (N, C) or (N, C, d1, ...)  target: integers, (N) or (N, d1, ...).
    Rows whose target is `ignore_index` count neither in the sum nor in the mean. Result: a float32
    scalar, or with reduction "none" a tensor of target's shape. Raises DTypeError for targets that
    are not integers, ArgumentError for one that is no class.
    """
    t = target.array if isinstance(target, Tensor) else np.asarray(target)
    if t.dtype.kind not in "iu":
        raise DTypeError(
            f"cross_entropy: targets of {t.dtype}: expected integers, the class numbers"
        )
    if input.ndim < 2 or t.shape != input.shape[:1] + input.shape[2:]:
        raise ShapeError(
            f"cross_entropy: input of shape {input.shape} with target of shape {t.shape}: "
            "expected (N, C, ...) and (N, ...)"
        )
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"cross_entropy: reduction={reduction!r}: expected {KNOWN}")
    classes, kept = input.shape[1], t != ignore_index
    outside = kept & ((t < 0) | (t >= classes))
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        raise ArgumentError(
            f"cross_entropy: target {t[where]} at {where}: expected classes 0 to {classes - 1} "
            f"for input of shape {input.shape}"
        )
    z = input
    if z.ndim > 2:
        z = z.permute(0, *range(2, z.ndim), 1).reshape(-1, classes)
    rows = np.where(kept, t, 0).reshape(-1)
    divisor = max(int(kept.sum()), 1) if reduction == "mean" else 1
    loss = cross_entropy_(z, rows, kept.reshape(-1), divisor=divisor, reduction=reduction)
    return loss.reshape(t.shape) if reduction == "none" else loss


@kernel("loss", "compute")
def mse_forward(x, y, *, divisor, sum):
    d = x - y
    return sum(d * d) / divisor


@kernel("loss", GIVEN)
def mse_dx(dl, x, y, *, divisor):
    return (x - y) * (2 * dl / divisor)


def mse_backward(dl, x, y, to, divisor):
    return tuple(
        None if t is None else mse_dx(dl, a, b, divisor=divisor, to=t)
        for t, a, b in zip(to, (x, y), (y, x))
    )


@op
def mse_(x, y, *, divisor):
    return mse_forward(x, y, divisor=divisor), (x, y), mse_backward


@takes_tensor
def mse_loss(input, target, *, reduction="mean"):
    """The mean squared difference of two tensors of one shape; a float32 scalar unless "none"."""
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"mse_loss: reduction={reduction!r}: expected {KNOWN}")
    if input.shape != target.shape:
        raise ShapeError(f"mse_loss: input of shape {input.shape}, target of shape {target.shape}")
    if reduction == "none":
        return square(sub(input, target))
    return mse_(input, target, divisor=math.prod(input.shape) if reduction == "mean" else 1)
