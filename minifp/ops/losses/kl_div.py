"""Kullback-Leibler divergence of log-probabilities x from probabilities t, or from e^t.

l = t (log t - x), 0 where t is 0 and x finite:   dx = -t,    dt = log t + 1 - x
l = e^t (t - x) for targets in log space:         dx = -e^t,  dt = e^t (t - x + 1)

x, t: (...) broadcast together. What is stored and where sums are: see loss.py.
"""

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.errors import ShapeError
from minifp.ops.arguments import check_tensors
from minifp.ops.losses.loss import REDUCTIONS, check_reduction, divisor_of, elementwise_loss
from minifp.ops.public import public


def _losses(x, t, w, p, *, log_target):
    if log_target:
        return np.exp(t) * (t - x)
    return np.where(t == 0, 0, t * np.log(t)) - t * x


def _dx(x, t, w, p, *, log_target):
    return np.zeros_like(x) - (np.exp(t) if log_target else t)


def _dt(x, t, w, p, *, log_target):
    return np.exp(t) * (t - x + 1) if log_target else np.log(t) + 1 - x


kl_div_op = elementwise_loss("kl_div", _losses, _dx, _dt)


@public("fp F", autocast="loss")
def kl_div(
    input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """The divergence of log-probabilities `input` from probabilities `target`, in nats.

    Shapes broadcast. log_target: whether targets are logarithms too. reduction: "batchmean" divides
    the sum by input's first size, which is the divergence; "mean" divides by the number of
    elements, which is not; "sum"; "none". A float32 scalar unless "none". Raises DTypeError for
    anything but floating tensors, ShapeError where shapes do not fit.
    """
    check_reduction("kl_div", reduction, ("batchmean", *REDUCTIONS))
    check_flag("kl_div: log_target", log_target)
    check_tensors("kl_div", input=input, target=target)
    try:
        shape = np.broadcast_shapes(input.shape, target.shape)
    except ValueError:
        raise ShapeError(
            f"kl_div: input of shape {input.shape}, target of shape {target.shape}: "
            "they do not broadcast"
        ) from None
    divisor = divisor_of(reduction, shape, batch=input.shape[0] if input.ndim else 1)
    return kl_div_op(input, target, None, None, divisor=divisor, log_target=bool(log_target))
