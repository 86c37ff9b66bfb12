"""The loss scale S: gradients are made S times larger, so that small ones survive float16.

S enters as the seed of backward and leaves in float32 when gradients are unscaled. Three objects
with the same two verbs; "no scaling" is one of them, not a flag.

    scale.value            S
    scale.update(finite)   told after each step whether all gradients were finite

(Micikevicius et al. 2018, arXiv:1710.03740, section 3.2; the dynamic rule is NVIDIA's.)
"""

from minifp.errors import ArgumentError, PrecisionError
from minifp.policy import checked_loss_scale

PATIENCE = 50  # skipped steps in a row before training stops


class StaticLossScale:
    """A constant S. Overflowing steps are skipped, but S stays.

    patience: after so many skipped steps in a row training stops with an error.
    """

    state_names = ("value", "skipped_in_a_row")

    def __init__(self, scale, patience=PATIENCE):
        if isinstance(scale, str) or checked_loss_scale(scale) is None:
            raise PrecisionError(f"loss scale {scale!r}: expected a positive finite number")
        if not isinstance(patience, int) or patience < 1:
            raise ArgumentError(f"patience={patience!r}: expected a positive number of steps")
        self.value, self.patience, self.skipped_in_a_row = float(scale), patience, 0

    def update(self, finite):
        """Take note of a step."""
        self.skipped_in_a_row = 0 if finite else self.skipped_in_a_row + 1

    def state_dict(self):
        """What changes from step to step."""
        return {name: getattr(self, name) for name in self.state_names}

    def load_state_dict(self, state):
        """Continue from a state_dict. Raises ArgumentError if it is of another kind of scale."""
        if set(state) != set(self.state_names):
            raise ArgumentError(
                f"loss scale: state {sorted(state)}, expected {sorted(self.state_names)}"
            )
        for name in self.state_names:
            setattr(self, name, state[name])


class NoLossScale(StaticLossScale):
    """S = 1."""

    def __init__(self, patience=PATIENCE):
        super().__init__(1.0, patience)


class DynamicLossScale(StaticLossScale):
    """S as large as it can be without overflow, found while training.

        at an overflow:                       S <- max(S * backoff_factor, min_scale)
        after growth_interval good steps:     S <- min(S * growth_factor, max_scale)

    Powers of two change no gradient's mantissa. Unlike elsewhere S never falls below 1, where it
    would lose what it is there to save, nor grows without bound.
    """

    state_names = ("value", "skipped_in_a_row", "good_steps")

    def __init__(
        self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
        min_scale=1.0, max_scale=2.0**24, patience=PATIENCE,
    ):  # fmt: skip
        super().__init__(init_scale, patience)
        for name, value in (("min_scale", min_scale), ("max_scale", max_scale)):
            if checked_loss_scale(value) is None or isinstance(value, str):
                raise PrecisionError(f"{name}={value!r}: expected a positive finite number")
        if not (growth_factor > 1 > backoff_factor > 0) or growth_factor == float("inf"):
            raise PrecisionError(
                f"growth_factor={growth_factor!r}, backoff_factor={backoff_factor!r}: "
                "expected one above 1, and one between 0 and 1"
            )
        if not isinstance(growth_interval, int) or growth_interval < 1:
            raise PrecisionError(
                f"growth_interval={growth_interval!r}: expected a positive integer"
            )
        if not min_scale <= init_scale <= max_scale:
            raise PrecisionError(
                f"init_scale={init_scale:g}: expected it between min_scale={min_scale:g} "
                f"and max_scale={max_scale:g}"
            )
        self.growth_factor, self.backoff_factor = growth_factor, backoff_factor
        self.growth_interval, self.good_steps = growth_interval, 0
        self.min_scale, self.max_scale = min_scale, max_scale

    def update(self, finite):
        """Back off at an overflow; grow after growth_interval good steps in a row."""
        super().update(finite)
        self.good_steps = self.good_steps + 1 if finite else 0
        if not finite:
            self.value = max(self.value * self.backoff_factor, self.min_scale)
        elif self.good_steps == self.growth_interval:
            self.value, self.good_steps = min(self.value * self.growth_factor, self.max_scale), 0


def as_loss_scale(scale):
    """A loss scale object from one, a number, "dynamic" or None."""
    if hasattr(scale, "update"):
        return scale
    scale = checked_loss_scale(scale)
    if scale == "dynamic":
        return DynamicLossScale()
    return NoLossScale() if scale is None else StaticLossScale(scale)
