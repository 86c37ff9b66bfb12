"""Of lessons 10 to 13."""

import math
from fractions import Fraction

import numpy as np

from minifp.lab.statistics.distributions import t_cdf
from minifp.teach.mistake import Mistakes, Said

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
        t
        for i, t in enumerate(TECHNIQUES)
        if is_needed(alone(cells, i), cells[True, True, True], margin)
    }


def on_average(cells, margin):
    """What brings more than the margin on average."""
    return {t for t, effect in zip(TECHNIQUES, effects(cells)) if effect / 4 > margin}


MISTAKES: dict[str, Mistakes] = {
    "ledger": {
        "masters in mixed": Said("in mixed, masters"),
        "masters in float32": Said("in float32, masters"),
        "optimizer state": Said("optimizer state"),
    },
    "break_even_batch": {
        "rounded down": batch_of(whole=math.floor),
        "no limit": batch_of(limit=False),
        "4 bytes": batch_of(state=4),
    },
    "wasted_work": {
        "over useful work": lambda *sizes: padded(*sizes) / math.prod(sizes) - 1,
        "multiples of 8": Said("8, 16, 64 it is 0,"),
        "one size": lambda m, n, k: 1 - m / padded(m),
    },
    "amdahl": {
        "times longer": lambda share, times: 1 / (1 - share + share * times),
        "new time": lambda share, times: 1 - share + share / times,
        "one part": lambda share, times: share * times,
    },
    "tost_p": {
        "difference": no_difference,
        "smaller": lambda d, m: min(tests(d, m)),
        "sum": lambda d, m: sum(tests(d, m)),
        "ddof": lambda d, m: max(tests(d, m, ddof=0)),
        "one test": lambda d, m: tests(d, m)[0],
    },
    "seeds_for": {
        "one test": lambda sd, m: max(3, math.ceil((1.645 + 0.842) ** 2 * (sd / m) ** 2)),
        "below three": lambda sd, m: math.ceil((2.927 * sd / m) ** 2),
        "1.96": lambda sd, m: math.ceil((1.96 * sd / m) ** 2),
        "not squared": lambda sd, m: max(3, math.ceil(2.927 * sd / m)),
    },
    "pairing_gain": {
        "deviation": lambda v, b: math.sqrt(gain(v, b)),
        "upside down": lambda v, b: 1 / gain(v, b),
        "one variance": lambda v, b: b.var(ddof=1) / (v - b).var(ddof=1),
    },
    "within_spread": {
        "NaN": lambda v, b: sum(min(b) <= x <= max(b) for x in v),
        "ends": lambda v, b: sum(min(b) < x < max(b) for x in v),
        "first and last": lambda v, b: sum(b[0] <= x <= b[-1] for x in v),
    },
    "main_effects": {
        "one pair": lambda cells: [cells[True, True, True] - alone(cells, i) for i in range(3)],
        "half": lambda cells: [x / 2 for x in effects(cells)],
        "sum": effects,
        "sign": lambda cells: [-x / 4 for x in effects(cells)],
    },
    "needed": {
        "NaN": where(lambda left, whole, margin: left < whole - margin),
        "rises": where(lambda left, whole, margin: not abs(left - whole) <= margin),
        "average": on_average,
    },
    "sequence_ratio": {
        "upside down": lambda t, s: np.exp((s - t).sum(1)),
        "mean": lambda t, s: np.exp((t - s).mean(1)),
        "each letter": lambda t, s: np.exp(t - s),
        "underflow": Said("is nan"),
    },
    "kl_estimate": {
        "negative": lambda t, s: (s - t).mean(),
        "upside down": lambda t, s: np.mean(np.expm1(s - t) - (s - t)),
        "square": lambda t, s: ((t - s) ** 2).mean() / 2,
    },
    "rounding_error": {"whole gap": lambda bits: 2.0**-bits, "float16": lambda bits: 2.0**-11},
}
