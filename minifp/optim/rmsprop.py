"""g <- g / S + d w;   v <- a v + (1 - a) g^2;   w <- w - r g / (sqrt(v) + eps).

(Tieleman and Hinton 2012, lecture 6.5 of "Neural networks for machine learning".) Centered, with
h <- a h + (1 - a) g, the root is of v - h^2 (Graves 2013, arXiv:1308.0850). With a momentum,
b <- momentum b + g / (sqrt(v) + eps) is what r multiplies. r learning rate, d weight decay, S the
loss scale. All in float32; weights and state are rounded once to the format they are kept in.
"""

from typing import Any

import numpy as np

from minifp.checks import arguments_in
from minifp.numerics.rules import GIVEN
from minifp.optim.optimizer import FROM_LOSS, GivenParameters, Optimizer
from minifp.optim.update_rule import update_rule, with_decay


@update_rule(GIVEN, GIVEN, GIVEN, GIVEN)
def rmsprop(w, g, v, h, b, inverse_scale, *, lr, alpha, eps, weight_decay, momentum):
    """The updated w, v, h and b, all (n); h and b may be None."""
    g = with_decay(g * inverse_scale, w, weight_decay)
    v = alpha * v + (1 - alpha) * (g * g)
    variance = v
    if h is not None:
        h = alpha * h + (1 - alpha) * g
        variance = np.maximum(v - h * h, 0)  # by rounding it may be less, where PyTorch has NaN
    step = g / (np.sqrt(variance) + eps)
    if b is not None:
        b = step = momentum * b + step
    return w - lr * step, v, v if h is None else h, step if b is None else b


class RMSprop(Optimizer):
    """RMSprop, centered and with momentum as asked."""

    rule = rmsprop
    state_names = ("square_avg", "grad_avg", "momentum_buffer")
    second_moments = ("square_avg",)
    not_negative, flags = ("alpha", "eps", "weight_decay", "momentum"), ("centered", "maximize")

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))

    def needed(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The mean square; centered the mean, and with a momentum the velocity."""
        wanted = (True, group["centered"], group["momentum"] > 0)
        return tuple(name for name, want in zip(self.state_names, wanted) if want)
