"""g <- g / S + d w;   m <- b1 m + (1 - b1) g;   u <- max(b2 u, |g| + eps);   after t steps

    w <- w - r / (1 - b1^t) m / u

Adam with the largest gradient in place of their squares (Kingma and Ba 2015, arXiv:1412.6980,
algorithm 2). r learning rate, d weight decay, S the loss scale. All in float32; w, m and u are
rounded once to the format they are kept in. In float16 eps must be 6e-8 or more to be anything.
"""

import numpy as np

from minifp.checks import arguments_in
from minifp.numerics.rules import GIVEN
from minifp.optim.optimizer import FROM_LOSS, GivenParameters, Optimizer
from minifp.optim.update_rule import update_rule, with_decay


@update_rule(GIVEN, GIVEN, GIVEN)
def adamax(w, g, m, u, inverse_scale, *, lr, betas, eps, weight_decay, step):
    """The updated w, m and u, all (n)."""
    b1, b2 = betas
    g = with_decay(g * inverse_scale, w, weight_decay)
    m = b1 * m + (1 - b1) * g
    u = np.maximum(b2 * u, np.abs(g) + eps)
    return w - (lr / (1 - b1**step)) * (m / u), m, u


class Adamax(Optimizer):
    """Adamax: Adam by the infinity norm."""

    rule = adamax
    state_names = ("exp_avg", "exp_inf")
    not_negative = ("eps", "weight_decay")

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))
