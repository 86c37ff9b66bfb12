"""Advice on the loss scale, from histograms of gradients.

Multiplying by 2^k moves a histogram k bins through the window of a format, so from what was seen at
one scale follows what every other would have done, exactly: how many numbers it flushes to 0, and
how many overflow. What it costs, gradient_errors.py says. (A constant "so that its product with the
maximum absolute gradient value is below 65,504": Micikevicius et al. 2018, section 3.2. The
tolerance is minifp's own.)
"""

import math
from dataclasses import dataclass, field
from statistics import stdev

import numpy as np

from minifp.numerics.formats import format_of
from minifp.numerics.number_format import Format
from minifp.report.words import plural
from minifp.scope.borders import is_short, kept_from, too_large_from
from minifp.scope.gradient_errors import errors_of, may_hide, rounding_of
from minifp.scope.histogram import HALF, Histogram, total_of
from minifp.scope.observed import GRADIENTS, ObservedStep

SCALES = range(-10, 65)  # log2 of those that are tried
TOLERANCE = 0.05  # relative error of a layer's gradient that training is not expected to notice
RARE = 0.05  # share of steps that overflow, above which a bound on it says nothing of use
ENOUGH = round(3 / RARE)  # steps, of which none overflows, for that bound: the rule of three
NOTICED = 0.01  # what is less is not told


@dataclass
class Advice:
    """What constant loss scales would have done in the steps that were observed, with gradients
    stored in one format.

    low, high: log2 of the smallest scale whose error is within the tolerance in every layer and
        step, and of the largest at which nothing overflows; low > high where there is none.
    lossless: log2 of the smallest scale that flushes nothing, None where it is above `high`.
    flushed: by log2 of the scale, the share of all gradients that are not 0 it would flush.
    errors: by log2 of the scale, the largest e(S) of a layer. worst: the layer that decides `low`.
    largest: the largest gradient, unscaled. deviation: the standard deviation of log2 of the
        largest gradient from step to step, in bits. steps: how many were observed.
    hidden: log2 of the scale above which the tail could not be seen, as smaller numbers had been
        flushed when they were stored; None where they were stored with the range of float32. zeros:
        the share of all gradients that were stored as 0. unseen: a layer of which so many were that
        what was flushed of it may be more than the tolerance; "" for none. seen: how many there
        were. format: the name of the format. rounding: the largest error of a layer that is there
        with any scale.
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
    format: str = HALF.name
    rounding: float = 0.0
    flushed: dict[int, float] = field(repr=False, default_factory=dict)
    overflowing: dict[int, float] = field(repr=False, default_factory=dict)
    errors: dict[int, float] = field(repr=False, default_factory=dict)

    @property
    def needed(self) -> bool:
        """Whether training without scaling would lose more than the tolerance."""
        return self.low > 0

    @property
    def ceiling(self) -> float:
        """The largest constant whose product with the largest gradient the format holds."""
        return format_of(self.format).max / self.largest if self.largest else math.inf

    @property
    def choice(self) -> int:
        """log2 of a constant in the middle of the range: as far from the one end as the other."""
        return (max(self.low, 0) + self.high) // 2 if self.low <= self.high else self.high

    def lost(self, k: int) -> float:
        """The share of all gradients that are not 0 that is lost with a scale of 2^k."""
        return self.flushed[k] + self.overflowing[k]

    @property
    def overflow_bound(self) -> float:
        """With 95% confidence, at most this share of steps overflows at `high`: the rule of three,
        3/n for n steps of which none did."""
        return min(1.0, 3 / self.steps)

    def __str__(self) -> str:
        start = f"All gradients seen, in {plural(self.steps, 'step')}, were"
        if self.zeros == 1:
            return (
                f"{start} stored as 0, so there is no advice on the loss scale: observe a run in "
                "float32, or with a larger scale."
            )
        if self.seen and not self.largest:
            return (
                f"{start} Inf, NaN or 0, so there is no advice on the loss scale: observe steps "
                "that are not skipped."
            )
        if not self.steps or not self.largest:
            return "No gradients were seen, so there is no advice on the loss scale."
        if self.low > self.high:
            text = (
                f"No constant loss scale fits {self.format}: {power(self.low)} is needed for "
                f"{self.worst}, but above {power(self.high)} gradients overflow. Clip the "
                "gradients, or look at the layer"
            )
        elif not self.needed:
            text = "As far as could be seen, no" if self.unseen else "No"
            text += (
                f" scaling is needed in {self.format}: without it no layer's gradient is off by "
                f"more than {TOLERANCE:.0%}"
            )
            if self.rounding >= NOTICED:
                text += f" beyond what rounding costs with any scale, {self.rounding:.1%}"
            text += f". Up to {power(self.high)}{self.or_more} nothing overflowed either"
        else:
            text = (
                f"Scaling is needed in {self.format}: a constant from {power(self.low)} to "
                f"{power(self.high)}, such as {power(self.choice)}. Without it the gradient of "
                f"{self.worst} is off by {self.errors[0]:.0%}"
            )
            if self.flushed[0] >= NOTICED:
                text += f", and {self.flushed[0]:.0%} of all gradients that are not 0 are flushed"

        return f"{text}. {self.confidence}"

    @property
    def in_short(self) -> str:
        """The same in a few words."""
        if not self.largest:
            return "No advice on the loss scale"
        if self.low > self.high:
            return f"No constant loss scale fits {self.format}"
        if not self.needed:
            return f"No loss scale is needed in {self.format}"
        return f"A loss scale from {power(self.low)} to {power(self.high)} is needed"

    @property
    def or_more(self) -> str:
        """Said of the largest scale, where larger ones were not tried."""
        return "" if self.high < SCALES[-1] else ", the largest one tried,"

    @property
    def confidence(self) -> str:
        """How sure this is."""
        text = (
            f"Seen in {plural(self.steps, 'step')}: the largest gradient was {self.largest:.3g}, "
            f"which overflows at a scale above {self.ceiling:.3g}"
        )
        if self.steps > 1:
            text += (
                f"; from step to step the largest varied by {self.deviation:.1f} bits (standard "
                "deviation)"
            )
        text += ". "
        text += (
            "At no scale that was tried did steps overflow"
            if self.or_more
            else f"With 95% confidence at most {self.overflow_bound:.0%} of all steps overflow at "
            f"{power(self.high)}"
            if self.overflow_bound <= RARE
            else f"Too few steps were seen to say how many others overflow at {power(self.high)}: "
            f"{ENOUGH} steps without an overflow would show that at most {RARE:.0%} do"
        )
        if self.hidden is not None and (self.unseen or self.low >= self.hidden):
            text += (
                f". {self.zeros:.0%} of all gradients were stored as 0. How many of them became 0 "
                f"only when they were stored, at a scale of {power(self.hidden)}, could not be "
                "seen: observe a run in float32, or with a larger scale"
            )
        return text + "."


def power(k: int) -> str:
    """A scale: 2^7 (128)."""
    return f"2^{k} ({2**k})" if 0 <= k <= 16 else f"2^{k}"


def advise(
    steps: list[ObservedStep], tolerance: float = TOLERANCE, too_large: float = math.inf,
    format: Format = HALF,
) -> Advice:  # fmt: skip
    """Advice from observed steps; see Advice. tolerance: the largest error of a layer's gradient.
    too_large: the smallest loss scale at which a step overflowed, observed or not. format: in which
    gradients are to be stored.

    Gradients may have been stored in any format and at any scale.
    """
    ks = np.array(SCALES)
    errors, excess, names = np.zeros(len(ks)), np.zeros(len(ks)), [""] * len(ks)
    flushed, overflowing, peaks = np.zeros(len(ks)), np.zeros(len(ks)), []
    nonzero = zeros = total = 0
    rounding, unseen, border = 0.0, "", too_large_from(format)
    high = int(ks[-1])
    if too_large < math.inf and tells_overflow(steps, format):
        high = math.ceil(math.log2(too_large)) - 1
    for step in steps:
        layers = layers_of(step)
        for name, (h, stored) in layers.items():
            e, always = errors_of(h, ks - step.shift, format), rounding_of(h, format)
            more = np.sqrt(np.maximum(e**2 - always**2, 0))
            for i in np.flatnonzero(more > excess):
                excess[i], names[i] = more[i], name
            errors, rounding = np.maximum(errors, e), max(rounding, always)
            if may_hide(h, tolerance, stored):
                unseen = unseen or name
        whole = total_of(h for h, _ in layers.values())
        shifts = [int(k) - step.shift for k in ks]
        flushed += [whole.flushed(s, format) for s in shifts]
        over = np.array([whole.overflowing(s, format) for s in shifts])
        overflowing, nonzero = overflowing + over, nonzero + whole.nonzero
        zeros, total = zeros + whole.zeros, total + whole.total
        if (whole.infs or whole.nans) and tells_overflow([step], format):
            high = min(high, math.ceil(math.log2(step.scale)) - 1)
        if whole.largest:  # of scales that are no power of two the histograms know the nearest one
            largest = whole.largest / step.scale
            peaks.append(math.log2(largest))
            fitting = [k for k in SCALES if not border.is_reached(largest, k)]
            high = min(high, max(fitting, default=SCALES[0]))
    fits = np.flatnonzero(excess <= tolerance)
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
        hidden=hidden_above(steps, format),
        zeros=zeros / max(1, total),
        unseen=unseen,
        seen=total,
        format=format.name,
        rounding=rounding,
        flushed=shares[0],
        overflowing=shares[1],
        errors=dict(zip(ks.tolist(), errors.tolist())),
    )


def layers_of(step: ObservedStep) -> dict[str, tuple[Histogram, Format]]:
    """Of all gradients of a step, by layer, and the format in which they are stored."""
    return {
        name: (h, step.format_of(kind, name))
        for kind in GRADIENTS
        for name, h in step.histograms[kind].items()
    }


def tells_overflow(steps: list[ObservedStep], format: Format) -> bool:
    """Whether what overflowed in these steps, as they were stored, would have in a format too."""
    stored = [f for step in steps for _, f in layers_of(step).values()]
    return format.max <= min((f.max for f in stored), default=math.inf)


def hidden_above(steps: list[ObservedStep], format: Format = HALF) -> int | None:
    """log2 of the largest scale at which a format still holds no number that had been flushed in
    the one in which it was stored."""
    scales = (
        step.shift + kept_from(format).exponent - kept_from(stored).exponent
        for step in steps
        for _, stored in layers_of(step).values()
        if is_short(stored)
    )
    return max(scales, default=None)
