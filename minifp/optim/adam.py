"""g <- g / S;   m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2;   after t steps

    w <- w - r (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)

(Kingma and Ba 2015, arXiv:1412.6980.) Adam adds d w to g; AdamW first multiplies w by 1 - r d
(Loshchilov and Hutter 2019, arXiv:1711.05101). r learning rate, d weight decay, S the loss scale.
All in float32; w, m and v are rounded once to the format they are kept in. In float16, v
underflows: with b2 = 0.999, (1 - b2) g^2 rounds to 0 for |g| below 2^-7.5.
"""

import math

import numpy as np

from minifp.backend import kernel
from minifp.errors import ArgumentError
from minifp.optim.optimizer import Optimizer, check_range
from minifp.policy import GIVEN


@kernel("map", GIVEN, GIVEN, GIVEN)
def adam(w, g, m, v, inverse_scale, *, lr, betas, eps, weight_decay, decoupled, step):
    """The updated w, m and v, all (n)."""
    b1, b2 = betas
    g = g * inverse_scale
    if weight_decay and decoupled:
        w = w * (1 - lr * weight_decay)
    elif weight_decay:
        g = g + weight_decay * w
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * (g * g)
    rate, root = lr / (1 - b1**step), math.sqrt(1 - b2**step)
    return w - rate * (m / (np.sqrt(v) / root + eps)), m, v


class Adam(Optimizer):
    """Adam, with bias correction; weight decay as an L2 penalty."""

    state_names = ("exp_avg", "exp_avg_sq")
    decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def check(self, group):
        """lr, eps, weight_decay >= 0; 0 <= betas < 1."""
        for name in ("lr", "eps", "weight_decay"):
            check_range(name, group[name])
        if not isinstance(group["betas"], (tuple, list)) or len(group["betas"]) != 2:
            raise ArgumentError(f"betas={group['betas']!r}: expected two numbers")
        for beta in group["betas"]:
            check_range("a beta", beta, high=1.0, open_above=True)

    def update(self, group, w, g, state, step, inverse_scale):
        """One step of one run; see the module's equation."""
        m, v = state["exp_avg"], state["exp_avg_sq"]
        settings = self.settings(group, "lr", "betas", "eps", "weight_decay")
        adam(
            w, g, m, v, inverse_scale, step=step, decoupled=self.decoupled, to=(w, m, v), **settings
        )


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(params, lr, betas, eps, weight_decay)
