"""Adam whose rate is rectified while few squares are known (Liu et al. 2020, arXiv:1908.03265).

    m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2;   after t steps, with
    p = 2 / (1 - b2) - 1   and   q = p - 2 t b2^t / (1 - b2^t),   M = m / (1 - b1^t),

    w <- w - r M sqrt((q - 4) (q - 2) p / ((p - 4) (p - 2) q)) sqrt(1 - b2^t) / (sqrt(v) + eps)

if q > 5, else w <- w - r M. g is divided by the loss scale S, and gets d w added unless the weight
decay d is decoupled, when w is first multiplied by 1 - r d. r learning rate. All in float32; w, m
and v are rounded once to the format they are kept in.
"""

import numpy as np

from minifp.checks import arguments_in
from minifp.numerics.rules import GIVEN
from minifp.optim.optimizer import FROM_LOSS, GivenParameters, Optimizer
from minifp.optim.update_rule import update_rule, with_moments


@update_rule(GIVEN, GIVEN, GIVEN)
def radam(w, g, m, v, inverse_scale, *, lr, betas, eps, weight_decay, decoupled_weight_decay, step):
    """The updated w, m and v, all (n)."""
    b1, b2 = betas
    settings = lr, betas, weight_decay, decoupled_weight_decay
    w, g, m, v = with_moments(w, g * inverse_scale, m, v, *settings)
    rate, factor = lr / (1 - b1**step), rectification(b2, step)
    if factor is None:
        return w - rate * m, m, v
    return w - (rate * factor) * (m / (np.sqrt(v) + eps)), m, v


def rectification(b2, step):
    """What the rate of an update by m / sqrt(v) is multiplied by; None where m alone is used."""
    known, longest = 1 - b2**step, 2 / (1 - b2) - 1
    length = longest - 2 * step * b2**step / known
    if length <= 5:
        return None
    rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return (rectified * known) ** 0.5


class RAdam(Optimizer):
    """RAdam: Adam with a rectified rate."""

    rule = radam
    state_names = ("exp_avg", "exp_avg_sq")
    second_moments = ("exp_avg_sq",)
    not_negative = ("eps", "weight_decay")
    flags = ("maximize", "decoupled_weight_decay")

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))
