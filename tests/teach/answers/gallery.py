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


def taken_away(cells):
    return [cells[True, True, True] - left(cells, i) for i in range(3)]


def where(is_needed):
    """The techniques for which is_needed(the result without it, the whole, margin)."""
    return lambda cells, margin: {
        t for i, t in enumerate(TECHNIQUES)
        if is_needed(left(cells, i), cells[True, True, True], margin)
    }  # fmt: skip


def on_average(cells, margin):
    return {t for t, effect in zip(TECHNIQUES, main_effects(cells)) if effect > margin}


ANSWERS = {
    "within_spread": Answers(
        (within_spread,),
        (lambda v, b: sum(min(b) <= x <= max(b) for x in v), "2, 9, beside float32's nan, 1, 3"),
        (lambda v, b: sum(min(b) < x < max(b) for x in v), "of 1, 2, beside float32's 1, 3, 2"),
        (lambda v, b: sum(b[0] <= x <= b[-1] for x in v), "are within"),
        (within_deviations, "are within, not"),
    ),
    "main_effects": Answers(
        (main_effects,),
        (taken_away, "on average"),
        (lambda cells: [2 * effect for effect in main_effects(cells)], "on average"),
        (lambda cells: [-effect for effect in main_effects(cells)], "master weights give"),
        (lambda cells: main_effects(cells)[:2], "expected 3"),
    ),
    "needed": Answers(
        (where(lambda without, whole, margin: not without >= whole - margin),),
        (where(lambda without, whole, margin: without < whole - margin), "nan without"),
        (where(lambda without, whole, margin: not abs(without - whole) <= margin), "needed are"),
        (on_average, "needed are"),
    ),
}
