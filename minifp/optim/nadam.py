"""Adam with Nesterov's momentum (Dozat 2016, "Incorporating Nesterov momentum into Adam").

    m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2;   after t steps, with
    c_t = b1 (1 - 0.96^(t y) / 2)   and   P_t = c_1 ... c_t

    w <- w - r ((1 - c_t) / (1 - P_t) g + c_(t+1) / (1 - P_(t+1)) m) / (sqrt(v / (1 - b2^t)) + eps)

g is divided by the loss scale S, and gets d w added unless the weight decay d is decoupled, when w
is first multiplied by 1 - r d. r learning rate, y momentum_decay. All in float32; w, m and v are
rounded once to the format they are kept in; P_t is one number for each parameter.
"""

from typing import Any

import numpy as np

from minifp.checks import arguments_in
from minifp.numerics.rules import GIVEN
from minifp.optim.optimizer import FROM_LOSS, GivenParameters, Optimizer
from minifp.optim.update_rule import update_rule, with_moments


@update_rule(GIVEN, GIVEN, GIVEN)
def nadam(
    w, g, m, v, inverse_scale, *, lr, betas, eps, weight_decay, decoupled_weight_decay, step, a, b
):
    """The updated w, m and v, all (n). a, b: what g and m are multiplied by."""
    b2 = betas[1]
    settings = lr, betas, weight_decay, decoupled_weight_decay
    w, g, m, v = with_moments(w, g * inverse_scale, m, v, *settings)
    root = np.sqrt(v / (1 - b2**step)) + eps
    return w - lr * ((a * g + b * m) / root), m, v


class NAdam(Optimizer):
    """NAdam: Adam with Nesterov's momentum."""

    rule = nadam
    state_names, numbers = ("exp_avg", "exp_avg_sq"), {"mu_product": 1.0}
    second_moments = ("exp_avg_sq",)
    not_negative = ("eps", "weight_decay", "momentum_decay")
    flags = ("maximize", "decoupled_weight_decay")

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))

    def keywords(self, group: dict[str, Any], state: dict[str, Any], step: int) -> dict[str, Any]:
        """What the rule is told; see the module's equation."""
        settings, decay = super().keywords(group, state, step), float(group["momentum_decay"])
        now, later = (
            settings["betas"][0] * (1 - 0.5 * 0.96 ** (t * decay)) for t in (step, step + 1)
        )
        state["mu_product"] = product = state["mu_product"] * now
        settings["a"], settings["b"] = (1 - now) / (1 - product), later / (1 - product * later)
        return settings
