"""g <- g / S + d w;   s <- s + g^2;   after t steps

    w <- w - r / (1 + (t - 1) l) g / (sqrt(s) + eps)

(Duchi, Hazan and Singer 2011, Journal of Machine Learning Research 12.) r learning rate, l its
decay, d weight decay, S the loss scale. All in float32; w and s are rounded once to the format they
are kept in. In float16, s stops growing where g^2 is less than half an ulp of it.
"""

from typing import Any

import numpy as np

from minifp.checks import arguments_in
from minifp.numerics.rules import GIVEN
from minifp.optim.optimizer import FROM_LOSS, GivenParameters, Optimizer
from minifp.optim.update_rule import update_rule, with_decay


@update_rule(GIVEN, GIVEN)
def adagrad(w, g, s, inverse_scale, *, lr, lr_decay, weight_decay, eps, step):
    """The updated w and s, both (n)."""
    g = with_decay(g * inverse_scale, w, weight_decay)
    s = s + g * g
    return w - (lr / (1 + (step - 1) * lr_decay)) * (g / (np.sqrt(s) + eps)), s


class Adagrad(Optimizer):
    """Adagrad. A group's own initial_accumulator_value counts (PyTorch takes the default's)."""

    rule = adagrad
    state_names = ("sum",)
    second_moments = ("sum",)
    not_negative = ("lr_decay", "weight_decay", "initial_accumulator_value", "eps")

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))

    def initial(self, name: str, group: dict[str, Any]) -> float:
        """With what the sum of squares begins."""
        return group["initial_accumulator_value"]
