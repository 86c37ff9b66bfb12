"""PyTorch's GradScaler: its whole interface, its defaults, and its rules.

They differ from those of fp.MixedOptimizer: S has no smallest value, and patience ends where 1/S
is no float32 number, a skipped step leaves gradients where they are, each optimizer is looked at by
itself, and S is changed by `update()` alone. (torch/amp/grad_scaler.py of PyTorch 2.13.)
"""

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from minifp.autograd import loss_seed
from minifp.autograd.gradient_clip import multiply_gradient, squared_norm
from minifp.autograd.gradients import is_unseeded, name_of
from minifp.autograd.tape import Tensor
from minifp.checks import check_count, check_flag, check_range
from minifp.compat.amp.autocasting import check_device, older_by_position
from minifp.errors import ArgumentError, DTypeError, PrecisionError, TapeError, TrainingError
from minifp.numerics.formats import float32, wider
from minifp.ops.losses.scaled_loss import scaled_loss
from minifp.optim.optimizer import Optimizer
from minifp.runtime.callers import warn_once
from minifp.training.loss_scale import SMALLEST

ENDLESS = (
    "to 0: gradients were Inf or NaN in every step, where no loss scale can help; look at the "
    "loss, or use the microscope"
)
READY, UNSCALED, STEPPED = "ready", "unscaled", "stepped"
STATE = "scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"


class _Seen:
    """What a scaler knows of one optimizer since the last update."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer  # so that its id is nobody else's
        self.stage, self.found_inf = READY, None


class GradScaler:
    """A dynamic loss scale for plain optimizers.

        scaler.scale(loss).backward()
        scaler.step(optimizer)          # unscales, and steps unless a gradient is Inf or NaN
        scaler.update()

    device: "cuda" or "cpu": S is kept the same way for both. It may be left out, as before PyTorch
    2.3: a number that comes first is init_scale. init_scale: the first S.
    growth_factor, backoff_factor: what S is multiplied by after `growth_interval` updates in a row
    without Inf or NaN, and at each with one. enabled: False makes all of it do nothing but call
    `optimizer.step()`. Raises ArgumentError for another device or factor.
    """

    @older_by_position(Real, lambda *older: (("cuda", *older), {}))
    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        check_device("GradScaler", device)
        check_flag("GradScaler: enabled", enabled)
        self._device, self._enabled, self._tracker = device, bool(enabled), 0
        self._scale = _positive("init_scale", init_scale)
        self.set_growth_factor(growth_factor)
        self.set_backoff_factor(backoff_factor)
        self.set_growth_interval(growth_interval)
        self._seen: dict[int, _Seen] = {}
        for automatic in loss_seed.automatic if enabled else ():
            automatic.give_way("a GradScaler")

    # ---- the step ----

    def scale(self, outputs: Any) -> Any:
        """Outputs times S: a tensor, or tensors in tuples, lists or other iterables.

        Gradients of a backward from them know S as their seed. Raises TrainingError for an S that
        has fallen to 0, DTypeError for anything but a tensor.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if not self._scale:
                raise TrainingError(f"GradScaler: the loss scale has fallen {ENDLESS}")
            return scaled_loss(outputs, self._scale)
        if isinstance(outputs, Iterable) and not isinstance(outputs, (str, dict)):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        kind = type(outputs).__name__
        raise DTypeError(f"GradScaler.scale: a {kind}: expected a tensor, or several")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the optimizer's gradients by S, in float32, where `.grad` stays: to clip them.

        Raises TapeError where that was done since the last update, or after step(); PrecisionError
        for float16 gradients, with nothing changed.
        """
        if not self._enabled:
            return
        seen = self._of(optimizer)
        if seen.stage == UNSCALED:
            raise TapeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if seen.stage == STEPPED:
            raise TapeError("unscale_() is being called after step().")
        pairs = [(p, p.grad) for p in optimizer.parameters]
        for i, (p, gradient) in enumerate(pairs):
            if gradient is not None:
                self._check(name_of(p, i), gradient)
        if any(gradient is not None for _, gradient in pairs):
            seen.found_inf = not unscale(optimizer.parameters)
        seen.stage = UNSCALED

    def _check(self, name, gradient):
        if gradient.dtype != wider(gradient.dtype, float32):
            raise PrecisionError(
                f"Attempting to unscale {gradient.dtype} gradients: that of {name}. A GradScaler "
                "is for float32 models under fp.autocast; for narrower weights use "
                "fp.MixedOptimizer"
            )
        if gradient.seed == 1 and self._scale != 1 and is_unseeded(gradient):
            warn_once(
                "bypass",
                f"GradScaler: the gradient of {name} came from loss.backward(), which bypasses "
                f"the loss scale S = {self._scale:g}: it is used as it is (PyTorch would divide "
                "it by S). Write scaler.scale(loss).backward()",
                owner=self,
            )

    def step(self, optimizer: Optimizer, *args: Any, **settings: Any) -> Any:
        """`optimizer.step(...)`, and what it returns; None, with nothing changed, where one of its
        gradients is Inf or NaN.

        Raises TapeError for a second step without an update() between, and for an optimizer without
        gradients; ArgumentError for a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **settings)
        if args or "closure" in settings:
            raise ArgumentError(
                "Closure use is not currently supported if GradScaler is enabled: call "
                "scaler.scale(loss).backward() before scaler.step(optimizer)"
            )
        seen = self._of(optimizer)
        if seen.stage == STEPPED:
            raise TapeError("step() has already been called since the last update().")
        if seen.stage == READY:
            self.unscale_(optimizer)
        if seen.found_inf is None:
            raise TapeError(
                "No inf checks were recorded for this optimizer: it has no gradients. Call "
                "scaler.scale(loss).backward() first"
            )
        seen.stage = STEPPED
        if seen.found_inf:
            optimizer.count_attempt()  # which a schedule looks at
            return None
        return optimizer.step(**settings)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt S by what the optimizers' gradients were since the last update.

        new_scale: the next S instead. Raises TapeError where no gradient was looked at.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            number = new_scale.item() if isinstance(new_scale, Tensor) else new_scale
            self._scale = _positive("new_scale", number)
        else:
            checks = [seen.found_inf for seen in self._seen.values() if seen.found_inf is not None]
            if not checks:
                raise TapeError(
                    "No inf checks were recorded prior to update: call step() or unscale_() first"
                )
            self._adapt(any(checks))
        self._seen = {}

    def _adapt(self, found_inf):
        """S is a float32 number, as in PyTorch's `_amp_update_scale_`."""
        self._tracker = 0 if found_inf else self._tracker + 1
        if found_inf:
            lower = float(np.float32(self._scale * self._backoff_factor))
            self._scale = lower if lower >= SMALLEST else 0.0  # of which 1/S would be Inf
        elif self._tracker == self._growth_interval:
            with np.errstate(over="ignore"):
                grown = float(np.float32(self._scale * self._growth_factor))
            self._scale = grown if math.isfinite(grown) else self._scale
            self._tracker = 0

    def _of(self, optimizer):
        if not isinstance(optimizer, Optimizer):
            raise DTypeError(
                f"GradScaler: a {type(optimizer).__name__}: expected an fp.optim.Optimizer (an "
                "fp.MixedOptimizer has a loss scale of its own)"
            )
        return self._seen.setdefault(id(optimizer), _Seen(optimizer))

    # ---- what it is set to ----

    def get_scale(self) -> float:
        """S; 1.0 if disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What S grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Raises ArgumentError for one that is not above 1."""
        check_range("growth_factor", new_factor, low=1.0)
        if new_factor == 1:
            raise ArgumentError("growth_factor=1: expected a number above 1")
        self._growth_factor = float(new_factor)

    def get_backoff_factor(self) -> float:
        """What S shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Raises ArgumentError for one that is not between 0 and 1."""
        check_range("backoff_factor", new_factor, high=1.0, open_above=True)
        self._backoff_factor = float(new_factor)

    def get_growth_interval(self) -> int:
        """After how many updates in a row without Inf or NaN S grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Raises ArgumentError for what is no positive integer."""
        self._growth_interval = check_count("growth_interval", new_interval)

    def is_enabled(self) -> bool:
        """Whether it scales at all."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """S, its settings and its counter, by PyTorch's names; empty if disabled."""
        numbers = self._scale, self._growth_factor, self._backoff_factor, self._growth_interval
        return dict(zip(STATE, (*numbers, self._tracker))) if self._enabled else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state_dict, PyTorch's too. Raises ArgumentError, with nothing changed,
        for one that does not fit."""
        if not self._enabled:
            return
        if not isinstance(state_dict, dict) or not state_dict:
            raise ArgumentError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        if set(state_dict) != set(STATE):
            raise ArgumentError(f"GradScaler: state of {sorted(state_dict)}, expected {STATE}")
        scale, growth, backoff, interval, tracker = (state_dict[name] for name in STATE)
        new = GradScaler("cpu", scale, growth, backoff, interval)
        new._tracker = check_count("_growth_tracker", tracker, least=0)
        new._device = self._device
        vars(self).update(vars(new))


def unscale(parameters: Sequence[Tensor]) -> bool:
    """Divide each gradient by the scale in it, in float32; whether all of them are finite."""
    for p in parameters:
        if p.grad is not None and p.grad.seed != 1:
            multiply_gradient(p, 1 / p.grad.seed)
    gradients = [g.array for p in parameters if (g := p.grad) is not None]
    return math.isfinite(squared_norm(*gradients))


def _positive(name, value):
    check_range(name, value)
    rounded = float(np.float32(value))
    if not 0 < rounded < math.inf:
        raise ArgumentError(f"{name}={value!r}: expected a positive float32 number")
    return rounded
