"""Of lesson 6."""

import numpy as np
from teach.answers import Answers


def smallest_scale(survives, low, high):
    while low < high:
        middle = (low + high) // 2
        if survives(middle):
            high = middle
        else:
            low = middle + 1
    return low


def halves_S(survives, low, high):
    """The middle of S, not of its power."""
    low, high = 2.0**low, 2.0**high
    while high > low * 1.5:
        middle = (low + high) / 2
        if survives(np.log2(middle)):
            high = middle
        else:
            low = middle
    return round(np.log2(high))


def asks_twice(survives, low, high):
    """Asks again what it knows."""
    return smallest_scale(lambda k: survives(k) and survives(k), low, high)


def warns_where(is_bad):
    """Warns of any layer of the last look."""
    return lambda looks: any(map(is_bad, looks[-1]["layers"].values()))


def is_cut_off(layer):
    """Mostly zeros, and what is not is mostly subnormal."""
    return 0.6 < layer["zeros"] < 1 and layer["subnormal"] > 0.9 * (1 - layer["zeros"])


def the_loss_rises(looks):
    losses = [look["loss"] for look in looks]
    return losses[-1] > min(losses) + 0.1


def fate(losses, references, limit=max, finite=np.isfinite, start=None):
    """The start is that from which a loss has risen: else from its least."""
    start = min(losses) if start is None else start
    if not np.all(finite(losses)) or losses[-1] > start + 0.1:
        return "dies"
    return "worse" if losses[-1] > limit(references) else "matches"


ANSWERS = {
    "smallest_scale": Answers(
        (smallest_scale,),
        (lambda survives, a, b: next(k for k in range(a, b + 1) if survives(k)), "are enough"),
        (lambda survives, low, high: smallest_scale(survives, low, high) - 1, "you say -1"),
        (halves_S, "expected a whole number"),
        (asks_twice, "are enough"),
    ),
    "warns": Answers(
        (warns_where(is_cut_off),),
        (warns_where(lambda layer: layer["zeros"] > 0.5), "it ends well, and you warn"),  # a ReLU's
        (warns_where(lambda layer: layer["zeros"] > 0.955), "it ends well, and you warn"),
        (warns_where(lambda layer: layer["subnormal"] > 0.5), "and you"),
        (the_loss_rises, "you never warn"),  # it is too late
        (lambda looks: False, "you never warn"),
        (lambda looks: True, "it ends well, and you warn at step 1"),
    ),
    "fate": Answers(
        (fate,),
        (lambda losses, references: "alive", "expected one of"),
        known={0: "curves are wrong", 1: "ends at nan", 2: "curves are wrong"},
    ),
}
