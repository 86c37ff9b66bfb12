"""g <- g / S + d w;   v <- p v + (1 - p) g^2;   x = g sqrt(u + eps) / sqrt(v + eps);

    u <- p u + (1 - p) x^2;   w <- w - r x

(Zeiler 2012, arXiv:1212.5701.) r learning rate, p rho, d weight decay, S the loss scale. All in
float32; w, v and u are rounded once to the format they are kept in.
"""

from typing import Any

import numpy as np

from minifp.checks import arguments_in, check_range
from minifp.numerics.rules import GIVEN
from minifp.optim.optimizer import FROM_LOSS, GivenParameters, Optimizer
from minifp.optim.update_rule import update_rule, with_decay


@update_rule(GIVEN, GIVEN, GIVEN)
def adadelta(w, g, v, u, inverse_scale, *, lr, rho, eps, weight_decay):
    """The updated w, v and u, all (n)."""
    g = with_decay(g * inverse_scale, w, weight_decay)
    v = rho * v + (1 - rho) * (g * g)
    x = np.sqrt(u + eps) / np.sqrt(v + eps) * g
    return w - lr * x, v, rho * u + (1 - rho) * (x * x)


class Adadelta(Optimizer):
    """Adadelta."""

    rule = adadelta
    state_names = ("square_avg", "acc_delta")
    second_moments = ("square_avg", "acc_delta")
    not_negative = ("eps", "weight_decay")

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))

    def check(self, group: dict[str, Any]) -> None:
        """lr, eps, weight_decay >= 0; 0 <= rho <= 1."""
        super().check(group)
        check_range("rho", group["rho"], high=1.0)
