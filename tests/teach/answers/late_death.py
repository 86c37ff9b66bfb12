"""Of lesson 6."""

import numpy as np
from teach.answers import Answers


def smallest_scale(survives, low, high):
    """By halves."""
    while low < high:
        middle = (low + high) // 2
        if survives(middle):
            high = middle
        else:
            low = middle + 1
    return low


def one_after_the_other(survives, low, high):
    """Right, and as many runs as there are powers."""
    return next(k for k in range(low, high + 1) if survives(k))


def largest_that_fails(survives, low, high):
    """One too low."""
    return smallest_scale(survives, low, high) - 1


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
    while low < high:
        middle = (low + high) // 2
        if survives(middle):
            high = middle
        if not survives(middle):
            low = middle + 1
    return low


def layers(looks):
    """Of the last look."""
    return looks[-1]["layers"].values()


def cut_off(layer, zeros=0.6):
    """Mostly zeros, and what is not is mostly subnormal."""
    return zeros < layer["zeros"] < 1 and layer["subnormal"] > 0.9 * (1 - layer["zeros"])


def warns(looks):
    """Any layer."""
    return any(map(cut_off, layers(looks)))


def many_zeros(looks):
    """As a ReLU has."""
    return any(layer["zeros"] > 0.5 for layer in layers(looks))


def more_zeros(looks):
    """More than those of these runs that end well, by chance."""
    return any(layer["zeros"] > 0.955 for layer in layers(looks))


def many_subnormals(looks):
    """Small, and there."""
    return any(layer["subnormal"] > 0.5 for layer in layers(looks))


def the_loss_rises(looks):
    """Too late."""
    losses = [look["loss"] for look in looks]
    return losses[-1] > min(losses) + 0.1


def fate(losses, references):
    """In the right order."""
    if not np.isfinite(losses).all() or losses[-1] > min(losses) + 0.1:
        return "dies"
    return "matches" if losses[-1] <= max(references) else "worse"


def without_nan(losses, references):
    """As if every number could be compared."""
    if losses[-1] > min(losses) + 0.1:
        return "dies"
    return "worse" if losses[-1] > max(references) else "matches"


def worse_is_dead(losses, references):
    """What is far above float32 is not dead while it falls."""
    if not np.isfinite(losses).all() or losses[-1] > max(references) + 0.1:
        return "dies"
    return "matches" if losses[-1] <= max(references) else "worse"


def by_the_mean(losses, references):
    """As if float32 had one number."""
    became = fate(losses, references)
    if became == "dies":
        return became
    return "matches" if losses[-1] <= np.mean(references) else "worse"


ANSWERS = {
    "smallest_scale": Answers(
        (smallest_scale,),
        (one_after_the_other, "are enough"),
        (largest_that_fails, "you say -1"),
        (halves_S, "expected a whole number"),
        (asks_twice, "are enough"),
    ),
    "warns": Answers(
        (warns,),
        (many_zeros, "it ends well, and you warn"),
        (more_zeros, "it ends well, and you warn"),
        (many_subnormals, "and you"),
        (the_loss_rises, "you never warn"),
        (lambda looks: False, "you never warn"),
        (lambda looks: True, "it ends well, and you warn at step 1"),
    ),
    "fate": Answers(
        (fate,),
        (without_nan, "ends at nan"),
        (worse_is_dead, "curves are wrong"),
        (by_the_mean, "curves are wrong"),
        (lambda losses, references: "alive", "expected one of"),
    ),
}
