"""Paddle 2's GradScaler: PyTorch's, with Paddle's names, defaults and rule.

S is lowered after so many updates in a row with Inf or NaN, and `minimize` is a step and an update.
Several optimizers share S, and each is looked at by itself. (`python/paddle/amp/grad_scaler.py` of
PaddlePaddle 3.)
"""

from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count, check_flag
from minifp.compat.amp.grad_scaler import GradScaler as PyTorchs
from minifp.errors import ArgumentError
from minifp.numerics.formats import float32, wider
from minifp.optim.optimizer import Optimizer

SETTINGS = "incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf"
STATE = ("scale", *SETTINGS, "incr_count", "decr_count", "use_dynamic_loss_scaling")


class GradScaler(PyTorchs):
    """A loss scale S for plain optimizers.

        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.minimize(optimizer, scaled)      # or step(optimizer), and update() once for all

    enable: False makes all of it do nothing but step. init_loss_scaling: the first S, and the only
    one without use_dynamic_loss_scaling. incr_ratio, decr_ratio: what S is multiplied by after
    incr_every_n_steps updates in a row without Inf or NaN, and after decr_every_n_nan_or_inf with
    one. Raises ArgumentError for a setting that is not allowed.
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 2.0**16,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        settings = init_loss_scaling, incr_ratio, decr_ratio, incr_every_n_steps, enable
        super().__init__("cuda", *settings)
        check_flag("use_dynamic_loss_scaling", use_dynamic_loss_scaling)
        self.set_decr_every_n_nan_or_inf(decr_every_n_nan_or_inf)
        self._is_dynamic, self._bad = bool(use_dynamic_loss_scaling), 0

    def minimize(self, optimizer: Optimizer, scaled: Tensor) -> None:
        """`step(optimizer)` and `update()`, after scaled.backward(). Raises what they do."""
        self.step(optimizer)
        self.update()

    def _check(self, name, gradient):
        if gradient.dtype == wider(gradient.dtype, float32):
            super()._check(name, gradient)  # narrower ones are those of level O2

    def _adapt(self, found_inf):
        if not self._is_dynamic:
            return
        self._bad = self._bad + 1 if found_inf else 0
        if found_inf and self._bad < self._interval:
            self._tracker = 0
        else:
            super()._adapt(found_inf)
            self._bad = 0

    # ---- what it is set to ----

    is_enable = PyTorchs.is_enabled
    get_loss_scaling = PyTorchs.get_scale
    get_incr_ratio, set_incr_ratio = PyTorchs.get_growth_factor, PyTorchs.set_growth_factor
    get_decr_ratio, set_decr_ratio = PyTorchs.get_backoff_factor, PyTorchs.set_backoff_factor
    get_incr_every_n_steps = PyTorchs.get_growth_interval
    set_incr_every_n_steps = PyTorchs.set_growth_interval

    def is_use_dynamic_loss_scaling(self) -> bool:
        """Whether S changes."""
        return self._is_dynamic

    def get_decr_every_n_nan_or_inf(self) -> int:
        """After how many updates in a row with Inf or NaN S shrinks."""
        return self._interval

    def set_decr_every_n_nan_or_inf(self, new_interval: int) -> None:
        """Raises ArgumentError for what is no positive integer."""
        self._interval = check_count("decr_every_n_nan_or_inf", new_interval)

    def state_dict(self) -> dict[str, Any]:
        """S, in an array, settings and counters by Paddle's names; empty if disabled."""
        if not self._enabled:
            return {}
        settings = [getattr(self, f"get_{name}")() for name in SETTINGS]
        scale = np.array([self._scale], float32)
        return dict(zip(STATE, (scale, *settings, self._tracker, self._bad, self._is_dynamic)))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state_dict, Paddle's too. Raises ArgumentError, with nothing changed, for
        one that does not fit."""
        if not self._enabled:
            return
        if not isinstance(state_dict, dict) or set(state_dict) != set(STATE):
            raise ArgumentError(f"GradScaler: state {state_dict!r}: expected {', '.join(STATE)}")
        scale, dynamic = float(np.ravel(state_dict["scale"])[0]), "use_dynamic_loss_scaling"
        settings = {name: state_dict[name] for name in (*SETTINGS, dynamic)}
        new = GradScaler(True, scale, **settings)
        new._tracker = check_count("incr_count", state_dict["incr_count"], least=0)
        new._bad = check_count("decr_count", state_dict["decr_count"], least=0)
        vars(self).update(vars(new))
