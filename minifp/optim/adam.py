"""g <- g / S;   m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2;   after t steps

    w <- w - r (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)

(Kingma and Ba 2015, arXiv:1412.6980.) Adam adds d w to g; AdamW first multiplies w by 1 - r d
(Loshchilov and Hutter 2019, arXiv:1711.05101). AMSGrad divides by the largest v so far (Reddi et
al. 2018, arXiv:1904.09237). r learning rate, d weight decay, S the loss scale. All in float32; w,
m and v are rounded once to the format they are kept in. In float16, v underflows: with b2 = 0.999,
(1 - b2) g^2 rounds to 0 for |g| below 2^-7.5.
"""

from typing import Any

import numpy as np

from minifp.checks import arguments_in
from minifp.numerics.rules import GIVEN
from minifp.optim.optimizer import FROM_LOSS, GivenParameters, Optimizer
from minifp.optim.update_rule import update_rule, with_moments


@update_rule(GIVEN, GIVEN, GIVEN, GIVEN)
def adam(
    w, g, m, v, v_max, inverse_scale, *, lr, betas, eps, weight_decay, decoupled_weight_decay, step
):
    """The updated w, m, v and largest v, all (n); the last may be None."""
    b1, b2 = betas
    settings = lr, betas, weight_decay, decoupled_weight_decay
    w, g, m, v = with_moments(w, g * inverse_scale, m, v, *settings)
    v_max = v if v_max is None else np.maximum(v_max, v)
    rate, factor = lr / (1 - b1**step), 1 / (1 - b2**step) ** 0.5
    return w - rate * (m / (np.sqrt(v_max) * factor + eps)), m, v, v_max


class Adam(Optimizer):
    """Adam, with bias correction; weight decay as an L2 penalty unless decoupled."""

    rule = adam
    state_names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    second_moments = ("exp_avg_sq", "max_exp_avg_sq")
    not_negative = ("eps", "weight_decay")
    flags = ("amsgrad", "maximize", "decoupled_weight_decay")

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))

    def needed(self, group: dict[str, Any]) -> tuple[str, ...]:
        """Two moments, and with AMSGrad the largest second one."""
        return self.state_names if group["amsgrad"] else self.state_names[:2]


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()), decoupled_weight_decay=True)
