"""g <- g / S + d w;   v <- m v + (1 - a) g  (v = g in the first step);   w <- w - r v.

r learning rate, m momentum, a dampening, d weight decay, S the loss scale. With Nesterov's
momentum the step is g + m v (Sutskever et al. 2013, as in PyTorch). All in float32; weights and v
are rounded once to the format they are kept in.
"""

from typing import Any

from minifp.checks import arguments_in, check_range
from minifp.errors import ArgumentError
from minifp.numerics.rules import GIVEN
from minifp.optim.optimizer import FROM_LOSS, GivenParameters, Optimizer
from minifp.optim.update_rule import either, update_rule, with_decay


@update_rule(GIVEN, GIVEN)
def sgd(w, g, v, inverse_scale, *, lr, momentum, dampening, weight_decay, nesterov, step):
    """The updated w and v, both (n); v may be None."""
    g = with_decay(g * inverse_scale, w, weight_decay)
    if v is None:
        return w - lr * g, g
    v = either(step == 1, g, momentum * v + (1 - dampening) * g)
    return w - lr * (g + momentum * v if nesterov else v), v


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum, weight decay and Nesterov's momentum as asked."""

    rule = sgd
    state_names = ("momentum_buffer",)
    not_negative, flags = ("momentum", "weight_decay"), ("nesterov", "maximize")

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(**arguments_in(locals()))

    def check(self, group: dict[str, Any]) -> None:
        """lr, momentum, weight_decay >= 0; Nesterov's needs a momentum and no dampening."""
        super().check(group)
        check_range("dampening", group["dampening"], high=1.0)
        if group["nesterov"] and (group["momentum"] == 0 or group["dampening"] != 0):
            raise ArgumentError("nesterov=True: expected a momentum above 0 and dampening=0")

    def needed(self, group: dict[str, Any]) -> tuple[str, ...]:
        """A velocity where there is a momentum."""
        return self.state_names if group["momentum"] else ()
