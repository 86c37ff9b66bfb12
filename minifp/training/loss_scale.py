"""The loss scale S: gradients are made S times larger, so that small ones survive float16.

S enters as the seed of backward and leaves in float32 when gradients are unscaled. Three objects
with the same two verbs; "no scaling" is one of them, not a flag.

    scale.value            S
    scale.update(finite)   told after each step whether all gradients were finite

(Micikevicius et al. 2018, arXiv:1710.03740, section 3.2; the dynamic rule is NVIDIA's.)
"""

from numbers import Real
from typing import Any

from minifp.checks import check_count
from minifp.errors import ArgumentError, PrecisionError
from minifp.numerics.loss_scale_text import checked_loss_scale, dynamic_settings

PATIENCE = 50  # skipped steps in a row before training stops
SMALLEST, LARGEST = 2.0**-126, 2.0**126  # S and 1/S are ordinary float32 numbers


class StaticLossScale:
    """A constant S. Overflowing steps are skipped, but S stays.

    patience: after so many skipped steps in a row training stops with an error.
    """

    arguments: dict[str, str] = {
        "scale": "value",
        "patience": "patience",
    }  # of the constructor -> attribute
    counters: tuple[str, ...] = ("skipped_in_a_row",)

    def __init__(self, scale: float, patience: int = PATIENCE) -> None:
        self.value, self.patience = (
            _positive("loss scale", scale),
            check_count("patience", patience),
        )
        self.skipped_in_a_row = 0

    def update(self, finite: bool) -> None:
        """Take note of a step."""
        self.skipped_in_a_row = 0 if finite else self.skipped_in_a_row + 1

    def state_dict(self) -> dict[str, Any]:
        """The kind, the settings and the counters."""
        names = (*self.arguments.values(), *self.counters)
        return {"kind": type(self).__name__, **{name: getattr(self, name) for name in names}}

    def restored(self, state: dict[str, Any]) -> "StaticLossScale":
        """A new scale as it was when `state` was taken, bounds and all.

        Raises ArgumentError for the state of another kind, or an impossible one.
        """
        expected = self.state_dict()
        fits = isinstance(state, dict) and set(state) == set(expected)
        if not fits or state["kind"] != expected["kind"]:
            raise ArgumentError(f"loss scale: state {state!r}, expected one like {expected!r}")
        try:
            new = type(self)(**{name: state[value] for name, value in self.arguments.items()})
            for name in self.counters:
                setattr(new, name, check_count(name, state[name], least=0))
        except (ArgumentError, PrecisionError) as error:
            raise ArgumentError(f"loss scale: state {state!r}: {error}") from error
        return new

    def check_state_dict(self, state: dict[str, Any]) -> None:
        """Raise as `restored` does, for what load_state_dict would refuse."""
        self.restored(state)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict. Raises as `restored` does, with nothing changed."""
        self.__dict__.update(vars(self.restored(state)))


class NoLossScale(StaticLossScale):
    """S = 1."""

    arguments = {"patience": "patience"}

    def __init__(self, patience: int = PATIENCE) -> None:
        super().__init__(1.0, patience)


class DynamicLossScale(StaticLossScale):
    """S as large as it can be without overflow, found while training.

        after backoff_interval overflows:     S <- max(S * backoff_factor, min_scale)
        after growth_interval good steps:     S <- min(S * growth_factor, max_scale)

    Both are counted in a row, and an overflow is skipped whether or not it lowers S. (Megatron's
    `hysteresis` is another rule: good steps do not end its count, nor does a lower S.) Powers of
    two change no gradient's mantissa. Unlike elsewhere S never falls below 1, where it would lose
    what it is there to save, nor grows without bound.
    """

    settings = (
        *("growth_factor", "backoff_factor", "growth_interval", "min_scale", "max_scale"),
        *("patience", "backoff_interval"),
    )
    arguments = {"init_scale": "value", **dict(zip(settings, settings))}
    counters = ("skipped_in_a_row", "good_steps")

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, min_scale: float = 1.0, max_scale: float = 2.0**24,
        patience: int = PATIENCE, *, backoff_interval: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(init_scale, patience)
        self.min_scale = _positive("min_scale", min_scale)
        self.max_scale = _positive("max_scale", max_scale)
        self.growth_factor = _positive("growth_factor", growth_factor)
        self.backoff_factor = _positive("backoff_factor", backoff_factor)
        self.growth_interval, self.good_steps = check_count("growth_interval", growth_interval), 0
        self.backoff_interval = check_count("backoff_interval", backoff_interval)
        if not self.growth_factor > 1 > self.backoff_factor:
            raise PrecisionError(
                f"growth_factor={growth_factor!r}, backoff_factor={backoff_factor!r}: "
                "expected one above 1, and one between 0 and 1"
            )
        if not self.min_scale <= self.value <= self.max_scale:
            raise PrecisionError(
                f"init_scale={init_scale:g}: expected it between min_scale={min_scale:g} "
                f"and max_scale={max_scale:g}"
            )

    def update(self, finite: bool) -> None:
        """Back off or grow, after as many steps of a kind in a row as the intervals say."""
        super().update(finite)
        self.good_steps = self.good_steps + 1 if finite else 0
        if not finite:
            if self.skipped_in_a_row % self.backoff_interval == 0:
                self.value = max(self.value * self.backoff_factor, self.min_scale)
        elif self.good_steps == self.growth_interval:
            self.value, self.good_steps = min(self.value * self.growth_factor, self.max_scale), 0


def as_loss_scale(scale: Any) -> StaticLossScale:
    """A loss scale object from one, a number, "dynamic" (perhaps with settings, as in
    "dynamic+growth_interval=100") or None."""
    if hasattr(scale, "value") and hasattr(scale, "update"):
        return scale
    scale = checked_loss_scale(scale)
    if isinstance(scale, str):
        return DynamicLossScale(**dynamic_settings(scale))
    return NoLossScale() if scale is None else StaticLossScale(scale)


def _positive(name, value):
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and SMALLEST <= value <= LARGEST):
        raise PrecisionError(
            f"{name}={value!r}: expected a positive finite number, {SMALLEST:g} to {LARGEST:g}"
        )
    return float(value)
