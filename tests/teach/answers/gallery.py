"""Of lesson 12."""

import math

import numpy as np
from teach.answers import Answers

TECHNIQUES = ("master weights", "loss scaling", "float32 sums")


def within_spread(values, baseline):
    ends = [b for b in baseline if not math.isnan(b)]
    return sum(min(ends) <= v <= max(ends) for v in values)


def within_deviations(values, baseline):
    center, spread = np.nanmean(baseline), np.nanstd(baseline)
    return sum(abs(v - center) <= spread for v in values)


def main_effects(cells):
    return [sum((1 if key[i] else -1) * m for key, m in cells.items()) / 4 for i in range(3)]


def left(cells, i):
    """Without technique i, with all others there."""
    return cells[tuple(j != i for j in range(3))]


def where(is_needed):
    """The techniques for which is_needed(the result without it, the whole, margin)."""
    return lambda cells, margin: {
        t for i, t in enumerate(TECHNIQUES)
        if is_needed(left(cells, i), cells[True, True, True], margin)
    }  # fmt: skip


ANSWERS = {
    "within_spread": Answers(
        (within_spread,),
        (within_deviations, "are within, not"),
        known={
            0: "2, 9, beside float32's nan, 1, 3",
            1: "of 1, 2, beside float32's 1, 3, 2",
            2: "are within",
        },
    ),
    "main_effects": Answers(
        (main_effects,),
        (lambda cells: main_effects(cells)[:2], "expected 3"),
        known={0: "on average", 1: "on average", 3: "master weights give"},
    ),
    "needed": Answers(
        (where(lambda without, whole, margin: not without >= whole - margin),),
        known={0: "nan without", 1: "needed are", 2: "needed are"},
    ),
}
