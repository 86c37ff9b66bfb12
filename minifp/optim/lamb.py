"""LAMB: Adam's direction, scaled so that a step is r times as long as the parameter's weights.

    g <- g / S;   m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2;   after t steps

    u = (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps) + d w
    w <- w - r |w| / |u| u

(You et al. 2020, arXiv:1904.00962, algorithm 2, with phi(z) = z.) |w| and |u| are 2-norms over one
whole parameter, summed in float64; where one of them is 0, their ratio counts as 1. r learning
rate, d weight decay, S the loss scale. All else in float32; w, m and v are rounded once to the
format they are kept in.
"""

import math
from typing import Any

import numpy as np

from minifp.autograd.gradient_clip import squared_norm
from minifp.checks import arguments_in
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.optim.optimizer import FROM_LOSS, GivenParameters, Optimizer
from minifp.optim.update_rule import update_rule, with_decay


@update_rule(COMPUTE, GIVEN, GIVEN)
def lamb_direction(w, g, m, v, inverse_scale, *, betas, eps, weight_decay, step):
    """u, and the updated m and v, all (n)."""
    b1, b2 = betas
    g = g * inverse_scale
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * (g * g)
    u = (m / (1 - b1**step)) / (np.sqrt(v / (1 - b2**step)) + eps)
    return with_decay(u, w, weight_decay), m, v


@update_rule(GIVEN)
def lamb_step(w, u, *, rate):
    """The updated w, (n)."""
    return w - rate * u


class LAMB(Optimizer):
    """LAMB, for large batches. One trust ratio |w| / |u| for each parameter."""

    state_names, alone = ("exp_avg", "exp_avg_sq"), True
    second_moments = ("exp_avg_sq",)
    not_negative = ("eps", "weight_decay")

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))

    def update(
        self,
        group: dict[str, Any],
        w: np.ndarray,
        g: np.ndarray,
        state: dict[str, Any],
        step: int,
        inverse_scale: float,
    ) -> None:
        """One step of one parameter; see the module's equation."""
        m, v = state["exp_avg"], state["exp_avg_sq"]
        settings = self.settings(group, "betas", "eps", "weight_decay")
        u, _, _ = lamb_direction(w, g, m, v, inverse_scale, step=step, to=(None, m, v), **settings)
        of_weights, of_step = (math.sqrt(squared_norm(x)) for x in (w, u))
        ratio = of_weights / of_step if of_weights > 0 and of_step > 0 else 1.0
        lamb_step(w, u, rate=float(group["lr"]) * ratio, to=w)
