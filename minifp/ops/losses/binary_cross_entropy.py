"""Binary cross entropy, in nats, of logits x or of probabilities x, with targets t in [0, 1].

logits:  l = (1 - t) s(x) + p t s(-x),  s(x) = log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
         dx = (1 - t) sigmoid(x) - p t sigmoid(-x),   dt = p s(-x) - s(x)
probabilities:  l = -t log x - (1 - t) log(1 - x), each logarithm at least -100
         dx = (x - t) / max(x (1 - x), 1e-12),   dt = log(1 - x) - log x

p: weight of positive targets (1 if None);  all of it times w, the weight of elements. No term of
the first is negative, so nothing cancels. What is stored and where sums are: see loss.py.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from minifp.autograd.loss_seed import automatic
from minifp.autograd.replay import again
from minifp.autograd.tape import Node, Tensor
from minifp.errors import ArgumentError
from minifp.numerics import policy
from minifp.numerics.autocast import KIND_OF
from minifp.numerics.formats import as_native, is_narrow
from minifp.ops.losses.loss import (
    check_pair,
    check_reduction,
    check_weights,
    divisor_of,
    elementwise_loss,
)
from minifp.ops.normalization.batch_norm import as_array
from minifp.ops.public import public
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda.arrays import is_on_device


def _times(loss, w):
    return loss if w is None else loss * w


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _of_logits(x, t, w, p):
    return _times((1 - t) * _softplus(x) + _times(t, p) * _softplus(-x), w)


def _of_logits_dx(x, t, w, p):
    return _times((1 - t) * _sigmoid(x) - _times(t, p) * _sigmoid(-x), w)


def _of_logits_dt(x, t, w, p):
    return _times(-x if p is None else p * _softplus(-x) - _softplus(x), w)


def _log(x):
    return np.maximum(np.log(x), -100)


def _log1m(x):
    return np.maximum(np.log1p(-x), -100)


def _of_probabilities(x, t, w, p):
    return _times(-t * _log(x) - (1 - t) * _log1m(x), w)


def _of_probabilities_dx(x, t, w, p):
    return _times((x - t) / np.maximum(x * (1 - x), 1e-12), w)


def _of_probabilities_dt(x, t, w, p):
    return _times(_log1m(x) - _log(x), w)


with_logits_op = elementwise_loss(
    "binary_cross_entropy_with_logits", _of_logits, _of_logits_dx, _of_logits_dt
)
probabilities_op = elementwise_loss(
    "binary_cross_entropy", _of_probabilities, _of_probabilities_dx, _of_probabilities_dt
)


@public("fp F", autocast="loss")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of logits with targets between 0 and 1, both of one shape, in nats.

    weight, pos_weight: of elements and of positive targets, broadcast to input's shape. A float32
    scalar unless "none". Raises DTypeError for anything but floating tensors, ShapeError where
    shapes do not fit, ArgumentError for weights that require a gradient.
    """
    function = "binary_cross_entropy_with_logits"
    check_reduction(function, reduction)
    check_pair(function, input, target)
    check_weights(function, input.shape, weight=weight, pos_weight=pos_weight)
    divisor = divisor_of(reduction, input.shape)
    return with_logits_op(input, target, weight, pos_weight, divisor=divisor)


@public("F", autocast="probability")
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Cross entropy of probabilities with targets between 0 and 1, both of one shape, in nats.

    Use binary_cross_entropy_with_logits. Here a probability has already been rounded: in float16
    those above 0.99976 are 1, where the loss can be 100 but never 9, and the gradient is up to 1e12
    and overflows. So if they come from a recorded sigmoid, in less than float32 or under autocast,
    the loss is computed from the sigmoid's own input, and a warning says so once. Other
    probabilities in less than float32 get a warning, and are an error under autocast, unless the
    process trains in mixed precision automatically.

    weight: of elements, broadcast to input's shape. A float32 scalar unless "none". Raises
    DTypeError for anything but floating tensors, ShapeError where shapes do not fit, ArgumentError
    for weights that require a gradient and for numbers outside of 0 to 1 (NaN is passed on; and on
    a GPU the numbers are not checked, which would have to wait for them).
    """
    check_reduction("binary_cross_entropy", reduction)
    check_pair("binary_cross_entropy", input, target)
    check_weights("binary_cross_entropy", input.shape, weight=weight)
    divisor, precision = divisor_of(reduction, input.shape), policy.get_precision()
    logits = _logits_of(input, precision.operations is not None)
    if logits is not None:
        _warn("used the input of the sigmoid instead of its probabilities, in float32")
        return with_logits_op(logits, target, weight, None, divisor=divisor)
    for name, v in (("input", as_array(input)), ("target", as_array(target))):
        if is_on_device(v):
            continue
        v = as_native(v)
        outside = (v < 0) | (v > 1)
        if outside.any():
            where = tuple(int(i) for i in np.argwhere(outside)[0])
            raise ArgumentError(
                f"binary_cross_entropy: {name} {v[where]} at {where}: expected numbers from 0 to 1"
            )
    if is_narrow(input.dtype):
        _warn("computes in float32, but from rounded probabilities")
    if precision.operations is None or not automatic:
        return probabilities_op(input, target, weight, None, divisor=divisor)
    with policy.precision(_without_casts(precision)):
        return probabilities_op(input.float(), target.float(), weight, None, divisor=divisor)


@cache
def _without_casts(precision):
    return replace(precision, operations=None, loss_scale=None)


def _warn(what):
    warn_once(
        "rounded probabilities",
        f"binary_cross_entropy {what}: sigmoid rounds probabilities near 1 to 1, where the loss "
        "has no gradient, or one that overflows. Leave the sigmoid out and write "
        "F.binary_cross_entropy_with_logits, or nn.BCEWithLogitsLoss()",
    )


def _logits_of(p, is_refused):
    """What a recorded sigmoid made these probabilities of, in their shape, where it rounded them to
    less than float32, or where they would be refused; None of others."""
    node, moves = p.node, []
    while node is not None and (node.op == "cast" or KIND_OF.get(node.op) == "exact"):
        if len(node.parents) != 1 or node.call is None:
            return None
        moves.append(node)
        node = node.parents[0][0]
        node = node if type(node) is Node else None
    if node is None or node.op != "sigmoid" or not node.saved or _is_changed(node):
        return None
    (x,), ((parent, i),) = node.saved, node.parents
    if not (is_refused or is_narrow(x.dtype)):
        return None
    logits = Tensor(x, node=parent, index=i) if type(parent) is Node else parent
    for move in reversed(moves):
        (logits,) = again(move, [logits])
    return logits


def _is_changed(node):
    return any(storage.version != version for storage, version in node.watched)
