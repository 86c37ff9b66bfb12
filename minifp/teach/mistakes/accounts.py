"""Of lessons 10 to 13."""

import math
from fractions import Fraction

import numpy as np

from minifp.lab.statistics.distributions import t_cdf
from minifp.teach.mistake import Mistake, like, said

TECHNIQUES = ("master weights", "loss scaling", "float32 sums")


def batch_of(state=16, whole=math.ceil, limit=True):
    """The smallest batch: by the bytes of a weight, rounded in this way."""

    def smallest(weights, activations, share):
        share = Fraction(share)
        if limit and share >= Fraction(1, 2):
            return None
        return whole(share * state * weights / (activations * (2 - 4 * share or 1)))

    return smallest


def padded(*sizes):
    """The work of a product whose sizes are brought to multiples of 8."""
    return math.prod(8 * math.ceil(size / 8) for size in sizes)


def tests(d, margin, ddof=1):
    """The p values of "it is below" and "it is above"."""
    error = d.std(ddof=ddof) / math.sqrt(len(d))
    return [1 - t_cdf(float(x / error), len(d) - 1) for x in (d.mean() + margin, margin - d.mean())]


def no_difference(d, margin):
    """The p value of "there is no difference"."""
    t = abs(d.mean()) / (d.std(ddof=1) / math.sqrt(len(d)))
    return 2 * (1 - t_cdf(float(t), len(d) - 1))


def gain(values, baseline):
    """Of pairing, as it should be."""
    return (values.var(ddof=1) + baseline.var(ddof=1)) / (values - baseline).var(ddof=1)


def effects(cells):
    """What each technique brings, summed over its four pairs."""
    return [sum(m if key[i] else -m for key, m in cells.items()) for i in range(3)]


def alone(cells, i):
    """All but technique i."""
    return cells[tuple(j != i for j in range(3))]


def where(is_needed):
    """The techniques for which is_needed(result without it, whole, margin)."""
    return lambda cells, margin: {
        t for i, t in enumerate(TECHNIQUES)
        if is_needed(alone(cells, i), cells[True, True, True], margin)
    }  # fmt: skip


def on_average(cells, margin):
    """What brings more than the margin on average."""
    return {t for t, effect in zip(TECHNIQUES, effects(cells)) if effect / 4 > margin}


MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "ledger": (
        said("in mixed, masters", "Mixed precision keeps a float32 copy of every weight, which "
             "takes all updates: the masters, 4 bytes each."),
        said("in float32, masters", "In float32 the weights themselves take the updates: there are "
             "no masters."),
        said("optimizer state", "Adam keeps two numbers for each weight, and they are float32 in "
             "both precisions."),
    ),
    "break_even_batch": (
        like(batch_of(whole=math.floor), "It is rounded down, so it saves a little less than was "
             "asked for. Round up."),
        like(batch_of(limit=False), "From a half on no batch is enough: the equation has no "
             "positive solution. Return None."),
        like(batch_of(state=4), "A weight costs more than its own 4 bytes: add its gradient and "
             "Adam's two numbers."),
    ),
    "wasted_work": (
        like(lambda *sizes: padded(*sizes) / math.prod(sizes) - 1, "That is the padding over the "
             "useful work. Return its share of all the work that is done."),
        said("8, 16, 64 it is 0,", "A size that is already a multiple of 8 is not padded."),
        like(lambda m, n, k: 1 - m / padded(m), "All three sizes are padded, not only the first."),
    ),
    "amdahl": (
        like(lambda share, times: 1 / (1 - share + share * times), "The part gets *shorter* by the "
             "factor `times`: divide by it."),
        like(lambda share, times: 1 - share + share / times, "That is the new time, if the old one "
             "is 1. How many times faster? Old over new."),
        like(lambda share, times: share * times, "The part that does not change takes as long as "
             "before. Add it to the other part, and compare old with new."),
    ),
    "tost_p": (
        like(no_difference, "That tests whether there is a difference. Not finding one does not "
             "show equivalence: test against -margin and +margin."),
        like(lambda d, m: min(tests(d, m)), "Both tests must reject, so the larger of the two "
             "[p values](glossary.md#p-value) counts."),
        like(lambda d, m: sum(tests(d, m)), "p values do not add up: both tests must reject, so "
             "the larger one counts."),
        like(lambda d, m: max(tests(d, m, ddof=0)), "np.std divides by n. For a sample divide by "
             "n - 1: ddof=1."),
        like(lambda d, m: tests(d, m)[0], "That is one of the two tests. The other asks whether "
             "the mean is below +margin."),
    ),
    "seeds_for": (
        like(lambda sd, m: max(3, math.ceil((1.645 + 0.842) ** 2 * (sd / m) ** 2)), "0.842 is for "
             "one test. Here both must reject in 80% of all cases, so each in 90%: 1.282."),
        like(lambda sd, m: math.ceil((2.927 * sd / m) ** 2), "Below three pairs there is no "
             "verdict: the answer is at least 3."),
        like(lambda sd, m: math.ceil((1.96 * sd / m) ** 2), "1.96 gives the width of an interval. "
             "It must also fit into the margin in 80% of all cases: two quantiles add up."),
        like(lambda sd, m: max(3, math.ceil(2.927 * sd / m)), "The error falls with the square "
             "root of n, so square the ratio."),
    ),
    "pairing_gain": (
        like(lambda v, b: math.sqrt(gain(v, b)), "The number of runs is proportional to the "
             "variance, not to the standard deviation."),
        like(lambda v, b: 1 / gain(v, b), "Upside down: divide what the unpaired comparison needs "
             "by what the paired one needs."),
        like(lambda v, b: b.var(ddof=1) / (v - b).var(ddof=1), "Unpaired, the variances of *both* "
             "precisions add up."),
    ),
    "within_spread": (
        like(lambda v, b: sum(min(b) <= x <= max(b) for x in v), "min and max of a list with NaN "
             "depend on where it stands. Take out the failed runs first."),
        like(lambda v, b: sum(min(b) < x < max(b) for x in v), "A result on an end of the range is "
             "within it, too."),
        like(lambda v, b: sum(b[0] <= x <= b[-1] for x in v), "The first and the last run are not "
             "the smallest and the largest."),
    ),
    "main_effects": (
        like(lambda cells: [cells[True, True, True] - alone(cells, i) for i in range(3)], "That "
             "takes each away from all three: one pair of four. The effect is the mean of all."),
        like(lambda cells: [x / 2 for x in effects(cells)], "There are four pairs: divide their "
             "sum by 4."),
        like(effects, "That is the sum over the four pairs. Return their mean."),
        like(lambda cells: [-x / 4 for x in effects(cells)], "The sign is wrong: take the result "
             "with the technique minus that without it."),
    ),
    "needed": (
        like(where(lambda left, whole, margin: left < whole - margin), "A failed run is NaN, and "
             "every comparison with NaN is False: ask whether it is good enough, and negate that."),
        like(where(lambda left, whole, margin: not abs(left - whole) <= margin), "An accuracy that "
             "rises without a technique does not make it needed."),
        like(on_average, "That is what it brings on average. What happens if it alone is taken "
             "away from all three?"),
    ),
    "sequence_ratio": (
        like(lambda t, s: np.exp((s - t).sum(1)), "Upside down: p_trainer / p_sampler."),
        like(lambda t, s: np.exp((t - s).mean(1)), "The probability of a sequence is a product, "
             "its logarithm a sum, not a mean."),
        like(lambda t, s: np.exp(t - s), "That is a ratio for each letter. Return one for each "
             "sequence: sum along it."),
        said("is nan", "The probability of 2,000 letters is 0 even in float64: subtract "
             "logarithms first, take exp once."),
    ),
    "kl_estimate": (
        like(lambda t, s: (s - t).mean(), "Right on average, but negative for many a batch. Add "
             "something whose mean is 0: r - 1."),
        like(lambda t, s: np.mean(np.expm1(s - t) - (s - t)), "r is upside down: d is "
             "log p_trainer - log p_sampler, because the sampler drew the letters."),
        like(lambda t, s: ((t - s) ** 2).mean() / 2, "Good where d is small, but not right on "
             "average: r - 1 - log r is both."),
    ),
    "rounding_error": (
        like(lambda bits: 2.0**-bits, "That is the [gap](glossary.md#gap). Rounding is off by at "
             "most half of it."),
        like(lambda bits: 2.0**-11, "That is float16's. The question is about any number of bits."),
    ),
}  # fmt: skip
