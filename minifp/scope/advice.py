"""Advice on the loss scale, from histograms of gradients.

Multiplying by 2^k moves a histogram k bins through the window of float16, so from what was seen at
one scale follows what every other would have done, exactly: how many numbers it flushes to 0, and
how many overflow. Which loss matters? Not the number of values: half of them may be flushed with no
effect, as the paper saw, because all of them together are small beside the others. What counts is
the error of a layer's gradient as a vector,

    e(S)^2 = sum of the squared errors of all its numbers / sum of their squares

where a flushed number errs by itself, and one below 2^-14 / S by a share of the fixed gap there.
The histograms give both sums, to within the width of their bins. (A constant "so that its product
with the maximum absolute gradient value is below 65,504": Micikevicius et al. 2018, section 3.2.
The tolerance is minifp's own.)
"""

import math
from dataclasses import dataclass, field
from statistics import stdev

import numpy as np

from minifp.scope.histogram import HALF, PARTS, POWER, Histogram, total_of
from minifp.scope.observed import GRADIENTS, ObservedStep

SCALES = range(-10, 65)  # log2 of those that are tried
TOLERANCE = 0.05  # relative error of a layer's gradient that training is not expected to notice
RARE = 0.05  # share of steps that overflow, above which a bound on it says nothing of use
ENOUGH = round(3 / RARE)  # steps, of which none overflows, for that bound: the rule of three
OVERFLOWS = 2.0 ** (HALF.bias + 1) * (1 - 2.0 ** -(HALF.mantissa_bits + 2))  # rounds to Inf: 65520
SIZES = np.array([1.0, 7 / 3, 4.0])  # mean square of what lies in a bin's parts, over 4^exponent


@dataclass
class Advice:
    """What constant loss scales would have done in the steps that were observed.

    low, high: log2 of the smallest scale whose error is within the tolerance in every layer and
        step, and of the largest at which nothing overflows; low > high where there is none.
    lossless: log2 of the smallest scale that flushes nothing, None where it is above `high`.
    flushed: by log2 of the scale, the share of all gradients that are not 0 it would flush.
    errors: by log2 of the scale, the largest e(S) of a layer. worst: the layer that decides `low`.
    largest: the largest gradient, unscaled. deviation: the standard deviation of log2 of the
        largest gradient from step to step, in bits. steps: how many were observed.
    hidden: log2 of the scale above which the tail could not be seen, as smaller numbers had been
        flushed when they were stored; None where they were not stored in float16. zeros: the share
        of all gradients that were stored as 0. unseen: a layer of which so many were that what was
        flushed of it may be more than the tolerance; "" for none. seen: how many there were.
    """

    low: int
    high: int
    lossless: int | None
    largest: float
    deviation: float
    steps: int
    worst: str
    hidden: int | None
    zeros: float = 0.0
    unseen: str = ""
    seen: int = 0
    flushed: dict[int, float] = field(repr=False, default_factory=dict)
    overflowing: dict[int, float] = field(repr=False, default_factory=dict)
    errors: dict[int, float] = field(repr=False, default_factory=dict)

    @property
    def needed(self) -> bool:
        """Whether training without scaling would lose more than the tolerance."""
        return self.low > 0

    @property
    def ceiling(self) -> float:
        """The largest constant whose product with the largest gradient is below 65504."""
        return HALF.max / self.largest if self.largest else math.inf

    @property
    def choice(self) -> int:
        """log2 of a constant in the middle of the range: as far from the one end as the other."""
        return (max(self.low, 0) + self.high) // 2 if self.low <= self.high else self.high

    @property
    def overflow_bound(self) -> float:
        """With 95% confidence, at most this share of steps overflows at `high`: the rule of three,
        3/n for n steps of which none did."""
        return min(1.0, 3 / self.steps)

    def __str__(self) -> str:
        if self.zeros == 1:
            return (
                f"All gradients seen, in {counted(self.steps)}, were stored as 0, so there is no "
                "advice on the loss scale: observe a run in float32, or with a larger scale."
            )
        if self.seen and not self.largest:
            return (
                f"All gradients seen, in {counted(self.steps)}, were Inf, NaN or 0, so there is no "
                "advice on the loss scale: observe steps that are not skipped."
            )
        if not self.steps or not self.largest:
            return "No gradients were seen, so there is no advice on the loss scale."
        if self.low > self.high:
            said = (
                f"No constant loss scale fits: {power(self.low)} is needed for {self.worst}, but "
                f"above {power(self.high)} gradients overflow. Clip the gradients, or look at the "
                "layer"
            )
        elif not self.needed:
            said = "So far as could be seen, no" if self.unseen else "No"
            said += (
                " scaling is needed: without it no layer's gradient is off by more than "
                f"{TOLERANCE:.0%}. Up to {power(self.high)} nothing overflowed either"
            )
        else:
            said = (
                f"Scaling is needed: a constant from {power(self.low)} to {power(self.high)}, such "
                f"as {power(self.choice)}. Without it {self.worst} is off by {self.errors[0]:.0%}"
            )
            if self.flushed[0] >= 0.01:
                said += f", and {self.flushed[0]:.0%} of all gradients that are not 0 are flushed"

        return f"{said}. {self.confidence}"

    @property
    def confidence(self) -> str:
        """How sure this is."""
        said = (
            f"Seen in {counted(self.steps)}: the largest gradient was {self.largest:.3g}, which "
            f"overflows at a scale above {self.ceiling:.3g}"
        )
        if self.steps > 1:
            said += (
                f"; from step to step the largest varied by {self.deviation:.1f} bits (standard "
                "deviation)"
            )
        said += ". "
        said += (
            f"With 95% confidence at most {self.overflow_bound:.0%} of all steps overflow at "
            f"{power(self.high)}"
            if self.overflow_bound <= RARE
            else f"Too few steps were seen to say how many others overflow at {power(self.high)}: "
            f"{ENOUGH} of which none does would show that at most {RARE:.0%} do"
        )
        if self.hidden is not None and (self.unseen or self.low >= self.hidden):
            said += (
                f". {self.zeros:.0%} of all gradients were stored as 0, and which of them became 0 "
                f"only by being stored, at a scale of {power(self.hidden)}, could not be seen: "
                "observe a run in float32, or with a larger scale"
            )
        return said + "."


def counted(steps: int) -> str:
    """How many steps, in words: 1 step, 3 steps."""
    return f"{steps} step" + "s" * (steps != 1)


def power(k: int) -> str:
    """A scale: 2^7 (128)."""
    return f"2^{k} ({2**k})" if 0 <= k <= 16 else f"2^{k}"


def advise(
    steps: list[ObservedStep], tolerance: float = TOLERANCE, too_large: float = math.inf
) -> Advice:
    """Advice from observed steps; see Advice. tolerance: the largest error of a layer's gradient.
    too_large: the smallest loss scale at which a step overflowed, observed or not.

    Gradients may have been stored in any format and at any scale.
    """
    ks = np.array(SCALES)
    errors, names = np.zeros(len(ks)), [""] * len(ks)
    flushed, overflowing, peaks = np.zeros(len(ks)), np.zeros(len(ks)), []
    nonzero = zeros = total = 0
    unseen = ""
    high = int(ks[-1])
    if too_large < math.inf:
        high = math.ceil(math.log2(too_large)) - 1
    for step in steps:
        layers = {name: h for kind in GRADIENTS for name, h in step.histograms[kind].items()}
        for name, h in layers.items():
            e = errors_of(h, ks - step.shift)
            for i in np.flatnonzero(e > errors):
                errors[i], names[i] = e[i], name
            if step.in_half and may_hide(h, tolerance):
                unseen = unseen or name
        whole = total_of(layers.values())
        shifts = [int(k) - step.shift for k in ks]
        flushed += [whole.flushed(s) for s in shifts]
        over = np.array([whole.overflowing(s) for s in shifts])
        overflowing, nonzero = overflowing + over, nonzero + whole.nonzero
        zeros, total = zeros + whole.zeros, total + whole.total
        if whole.infs or whole.nans:
            high = min(high, math.ceil(math.log2(step.scale)) - 1)
        if whole.largest:  # of scales that are no power of two the histograms know the nearest one
            largest = whole.largest / step.scale
            peaks.append(math.log2(largest))
            high = min(high, max(math.ceil(math.log2(OVERFLOWS / largest)) - 1, int(ks[0])))
    fits = np.flatnonzero(errors <= tolerance)
    low = int(fits[0]) if fits.size else len(ks) - 1
    lossless = ks[(flushed == 0) & (ks <= high)]
    shares = [
        dict(zip(ks.tolist(), (x / max(1, nonzero)).tolist())) for x in (flushed, overflowing)
    ]
    return Advice(
        low=int(ks[low]),
        high=int(high),
        lossless=int(lossless[0]) if lossless.size else None,
        largest=2.0 ** max(peaks) if peaks else 0.0,
        deviation=stdev(peaks) if len(peaks) > 1 else 0.0,
        steps=len(steps),
        worst=names[max(low - 1, 0)],
        hidden=hidden_above(steps),
        zeros=zeros / max(1, total),
        unseen=unseen,
        seen=total,
        flushed=shares[0],
        overflowing=shares[1],
        errors=dict(zip(ks.tolist(), errors.tolist())),
    )


def hidden_above(steps: list[ObservedStep]) -> int | None:
    """log2 of the largest scale at which gradients were stored in float16."""
    return max((step.shift for step in steps if step.in_half), default=None)


def may_hide(histogram: Histogram, tolerance: float) -> bool:
    """Whether numbers that were stored as 0 in float16 may have been more of a layer's gradient
    than the tolerance: each may have been as large as what is just flushed."""
    exponents = np.arange(histogram.lowest, histogram.highest)[:, None]
    sizes = SIZES * 4.0 ** np.minimum(exponents - math.log2(HALF.smallest_subnormal / 2), 500)
    return histogram.zeros > tolerance**2 * float((histogram.counts * sizes).sum())


def errors_of(histogram: Histogram, shifts: np.ndarray) -> np.ndarray:
    """e(S) of the numbers of a histogram multiplied by 2^shift, for each of the shifts."""
    if not histogram.nonzero:
        return np.zeros(len(shifts))
    exponents = np.arange(histogram.lowest, histogram.highest)
    middle = histogram.lowest + len(exponents) // 2  # so that nothing leaves the range of float64
    sizes = SIZES * 4.0 ** (exponents - middle)[:, None]
    smallest = int(math.log2(HALF.smallest_subnormal))
    stored = (exponents + np.asarray(shifts)[:, None])[:, :, None] + np.zeros(PARTS, int)
    gap = np.maximum(stored - HALF.mantissa_bits, smallest)
    rounding = 4.0 ** (gap - np.asarray(shifts)[:, None, None] - middle) / 12
    rounding[:, :, POWER] = 0  # powers of two are exact
    is_flushed = stored < smallest - 1
    is_flushed[:, :, POWER] |= stored[:, :, POWER] == smallest - 1
    squared = np.where(is_flushed, sizes, rounding)
    found = (histogram.counts * squared).sum(axis=(1, 2)) / (histogram.counts * sizes).sum()
    return np.sqrt(np.minimum(found, 1.0))
