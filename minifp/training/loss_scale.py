"""The loss scale S: gradients are made S times larger, so that small ones survive float16.

S enters as the seed of backward and leaves in float32 when gradients are unscaled. Four objects
with the same two verbs; "no scaling" is one of them, not a flag.

    scale.value            S
    scale.update(finite)   told after each step whether all gradients were finite

One whose `reads_largest` is True is told the largest |gradient| too. (Micikevicius et al. 2018,
arXiv:1710.03740, section 3.2; the dynamic rule is NVIDIA's, the log-normal one OpenSeq2Seq's.)
"""

import math
from contextlib import suppress
from numbers import Real
from statistics import NormalDist
from typing import Any

from minifp.checks import check_count, check_range, shown
from minifp.errors import ArgumentError, PrecisionError
from minifp.numerics.autocast import LOW
from minifp.numerics.formats import format_of
from minifp.numerics.loss_scale_text import checked_loss_scale, kind_and_settings

PATIENCE = 50  # skipped steps in a row before training stops
SMALLEST, LARGEST = 2.0**-126, 2.0**126  # S and 1/S are ordinary float32 numbers


class StaticLossScale:
    """A constant S. Overflowing steps are skipped, but S stays.

    patience: after so many skipped steps in a row training stops with an error.
    """

    # Of the constructor -> attribute.
    arguments: dict[str, str] = {"scale": "value", "patience": "patience"}
    counters: tuple[str, ...] = ("skipped_in_a_row",)
    statistics: tuple[str, ...] = ()  # what else it keeps: finite numbers
    reads_largest = False  # whether `update` is told the largest |gradient|
    cutoff = math.log2(format_of(LOW).max)  # of what stores gradients: a MixedOptimizer sets it

    def __init__(self, scale: float, patience: int = PATIENCE) -> None:
        self.value, self.skipped_in_a_row = _positive("loss scale", scale), 0
        self.patience = check_count("patience", patience)

    @property
    def is_exhausted(self) -> bool:
        """Whether many steps in a row were skipped at a scale that cannot get smaller, though
        patience is longer: nothing would ever change."""
        return False

    def update(self, finite: bool, largest: float | None = None) -> None:
        """Take note of a step. finite: whether all gradients were."""
        self.skipped_in_a_row = 0 if finite else self.skipped_in_a_row + 1

    def state_dict(self) -> dict[str, Any]:
        """The kind, the settings, the counters and the statistics."""
        names = (*self.arguments.values(), *self.counters, *self.statistics)
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
            for name in self.statistics:
                check_range(name, state[name], -math.inf)
                setattr(new, name, float(state[name]))
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

    settings = "growth_factor", "backoff_factor", "growth_interval", "min_scale", "max_scale"
    settings += "patience", "backoff_interval"
    arguments = {"init_scale": "value", **dict(zip(settings, settings))}
    counters = ("skipped_in_a_row", "good_steps")

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        min_scale: float = 1.0,
        max_scale: float = 2.0**24,
        patience: int = PATIENCE,
        *,
        backoff_interval: int = 1,
    ) -> None:
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
        _check_order(self.min_scale, self.value, self.max_scale)

    @property
    def is_exhausted(self) -> bool:
        """Whether so many steps in a row were skipped, the last of them at min_scale."""
        return self.value == self.min_scale and self.skipped_in_a_row >= PATIENCE

    def update(self, finite: bool, largest: float | None = None) -> None:
        """Back off or grow, after as many steps of a kind in a row as the intervals say."""
        super().update(finite)
        self.good_steps = self.good_steps + 1 if finite else 0
        if not finite:
            if self.skipped_in_a_row % self.backoff_interval == 0:
                self.value = max(self.value * self.backoff_factor, self.min_scale)
        elif self.good_steps == self.growth_interval:
            self.value, self.good_steps = min(self.value * self.growth_factor, self.max_scale), 0


class LogNormalLossScale(StaticLossScale):
    """The largest S with which an overflow in the next step is less likely than max_overflow.

    For each step, x = log2(largest |gradient| / S) is assumed to be normally distributed:

        mean, variance <- moving averages of x, and of the square of what x was off the mean before
        S <- 2^floor(log2 65504 - mean - z sqrt(variance)),  of which 1 - max_overflow is below z

    (65504 is float16's largest number; in a MixedOptimizer it is that of the format of gradients).

    beta1, beta2: decay of the averages of mean and variance, which are bias-corrected. The first
    step has no earlier mean: it counts as off by one power of two. min_scale, max_scale,
    init_scale: powers of two, which change no gradient's mantissa.

    An overflow shows that the statistics are wrong: a step changed the gradients, or gradients of
    activations are larger. So the statistics start again, and S is halved at once, which becomes
    its limit. The limit doubles after 1/max_overflow good steps in a row, so gradients that the
    statistics do not see cannot overflow more often either. Before there are statistics, an
    overflow only halves S. Gradients that are all zero are ignored.

    (OpenSeq2Seq's LogMaxScaler, Kuchaiev et al. 2018, arXiv:1805.10387: the model, both betas, z =
    3.09. It begins with S = 1, rounds to no power of two, has the variance about a slow mean, so
    that a lasting change of the mean counts as variance, and at an overflow averages 65536 as x.)
    """

    settings = "max_overflow", "beta1", "beta2", "min_scale", "max_scale", "patience"
    arguments = {"init_scale": "value", **dict(zip(settings, settings))}
    counters = ("skipped_in_a_row", "good_steps", "observed")
    statistics = ("mean", "variance", "limit")
    reads_largest = True

    def __init__(
        self,
        init_scale: float = 2.0**16,
        max_overflow: float = 0.001,
        beta1: float = 0.99,
        beta2: float = 0.999,
        min_scale: float = 1.0,
        max_scale: float = 2.0**24,
        patience: int = PATIENCE,
    ) -> None:
        super().__init__(_power_of_two("init_scale", init_scale), patience)
        self.min_scale = _power_of_two("min_scale", min_scale)
        self.max_scale = _power_of_two("max_scale", max_scale)
        _check_order(self.min_scale, self.value, self.max_scale)
        self.max_overflow = _between("max_overflow", max_overflow, 0.5)
        self.beta1, self.beta2 = _between("beta1", beta1, 1), _between("beta2", beta2, 1)
        self.limit, self.good_steps = self.max_scale, 0
        self._forget()

    @property
    def deviations(self) -> float:
        """z: how many standard deviations above its mean x overflows."""
        return -NormalDist().inv_cdf(self.max_overflow)

    @property
    def limit_interval(self) -> int:
        """After how many good steps in a row the limit doubles."""
        return round(1 / self.max_overflow)

    def update(self, finite: bool, largest: float | None = None) -> None:
        """Learn from a step. largest: its largest |gradient| as stored, divided by S.

        Raises ArgumentError for a finite step without it, or where it is no number.
        """
        if finite:
            if largest is None:
                raise ArgumentError("LogNormalLossScale.update(True): expected `largest` as well")
            check_range("LogNormalLossScale.update: largest", largest)
        super().update(finite)
        if not finite:
            self.value = max(self.value / 2, self.min_scale)
            if self.observed or self.limit < self.max_scale:
                self.limit = self.value
            self._forget()
            return
        self.good_steps += 1
        if self.good_steps == self.limit_interval:
            self.limit, self.good_steps = min(self.limit * 2, self.max_scale), 0
        if largest:
            self._learn(math.log2(largest))
            self.value = self._proposal()

    def restored(self, state: dict[str, Any]) -> "StaticLossScale":
        """As of every kind; a state that no steps lead to is refused, too."""
        new: Any = super().restored(state)
        is_limit = math.frexp(new.limit)[0] == 0.5 and new.value <= new.limit <= new.max_scale
        if new.variance < 0 or not is_limit:
            raise ArgumentError(
                f"loss scale: state {state!r}: expected a variance of at least 0, and a limit "
                "that is a power of two from the scale's value to max_scale"
            )
        return new

    def _forget(self):
        self.observed, self.mean, self.variance, self.good_steps = 0, 0.0, 0.0, 0

    def _learn(self, x):
        """Averages without bias are those whose newest number weighs (1 - beta)/(1 - beta^n)."""
        self.observed += 1
        off = x - self.mean if self.observed > 1 else 1.0
        newest = (1 - self.beta2) / (1 - self.beta2**self.observed)
        self.variance += newest * (off * off - self.variance)
        newest = (1 - self.beta1) / (1 - self.beta1**self.observed)
        self.mean += newest * (x - self.mean)

    def _proposal(self):
        power = math.floor(self.cutoff - self.mean - self.deviations * math.sqrt(self.variance))
        power = max(power, math.log2(self.min_scale))
        return 2.0 ** min(power, math.log2(self.limit))


def of_another_kind(state: Any, scale: Any) -> StaticLossScale | None:
    """A loss scale of the kind that a state is of, if that is one of these four and not the kind of
    `scale`; None otherwise."""
    kinds = [NoLossScale(), StaticLossScale(1.0), DynamicLossScale(), LogNormalLossScale()]
    by_name = {type(one).__name__: one for one in kinds}
    kind = state.get("kind") if isinstance(state, dict) else None
    is_other = isinstance(kind, str) and kind != type(scale).__name__
    return by_name.get(str(kind)) if is_other else None


ADAPTIVE = {"dynamic": DynamicLossScale, "lognormal": LogNormalLossScale}


def as_loss_scale(scale: Any) -> StaticLossScale:
    """A loss scale object from one, a number, "dynamic" or "lognormal" (perhaps with settings, as
    in "dynamic+growth_interval=100") or None."""
    if hasattr(scale, "value") and hasattr(scale, "update"):
        return scale
    scale = checked_loss_scale(scale)
    if isinstance(scale, str):
        kind, settings = kind_and_settings(scale)
        return ADAPTIVE[kind](**settings)
    return NoLossScale() if scale is None else StaticLossScale(scale)


def _positive(name, value):
    number = _number(value)
    if not SMALLEST <= number <= LARGEST:
        expected = f"a positive finite number, {SMALLEST:g} to {LARGEST:g}"
        raise PrecisionError(f"{name}={shown(value)}: expected {expected}")
    return number


def _number(value):
    """A number as a float, whose comparisons are not of the few bits of float16; NaN for others."""
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            return float(value)
    return math.nan


def _power_of_two(name, value):
    if math.frexp(_positive(name, value))[0] != 0.5:
        raise PrecisionError(f"{name}={value!r}: expected a power of two, such as 1 or 2.0**16")
    return float(value)


def _between(name, value, high):
    if not 0 < _number(value) < high:
        raise PrecisionError(f"{name}={shown(value)}: expected a number between 0 and {high:g}")
    return float(value)


def _check_order(min_scale, init_scale, max_scale):
    if not min_scale <= init_scale <= max_scale:
        raise PrecisionError(
            f"init_scale={init_scale:g}: expected it between min_scale={min_scale:g} "
            f"and max_scale={max_scale:g}"
        )
