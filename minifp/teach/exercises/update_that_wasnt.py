"""Lesson 2: updates that a float16 weight does not take."""

import numpy as np

from minifp.teach.counterexample import counterexample
from minifp.teach.exercise import exercise
from minifp.teach.exercises.sixteen_bits import halves

LESSON = "02-the-update-that-wasnt"
RATES = (2.0**-7, 2.0**-10, 2.0**-13, 0.01, 1e-3, 3e-4, 1e-4)


def normal_weights() -> np.ndarray:
    """All normal float16 numbers above zero, in float64."""
    return halves()[halves() >= 2.0**-14].astype(np.float64)


def stays(w: np.ndarray, update: np.ndarray | float) -> np.ndarray:
    """Where w + update, which float64 holds or rounds far behind the last bit, is stored as w."""
    with np.errstate(over="ignore"):
        return (w + update).astype(np.float16) == w


@exercise(LESSON)
def lost_up_to(answer):
    """A function from float16 numbers above zero, in float64 (n), to half the way down from each,
    float64 (n), and whether an update of just that is lost too, bool (n)."""
    w = halves()[1:].astype(np.float64)
    result = answer(w.copy())
    if not isinstance(result, tuple) or len(result) != 2:
        return "it does not return two arrays, half the way and whether a tie is lost"
    half = np.diff(halves().astype(np.float64)) / 2
    if said := counterexample(w, result[0], half, "half the way down from each float16 number"):
        return said
    what = "whether a tie is lost, for each float16 number"
    return counterexample(w, result[1], stays(w, -half), what)


@exercise(LESSON)
def adam_stands_still_above(answer):
    """A function from a learning rate to the weight from which on no update of that size is
    kept."""
    w = normal_weights()
    for lr in RATES:
        result = float(answer(lr))
        moving = w[~(stays(w, lr) & stays(w, -lr))]
        if not result > moving[-1]:
            return f"lr={lr:.4g}: you say {result:.5g}, but a weight of {moving[-1]:.5g} moves"
        surely = w[np.searchsorted(w, moving[-1]) + 1]
        if result > max(surely, 4096 * lr) * (1 + 1e-9):
            return f"lr={lr:.4g}: you say {result:.5g}, but from {surely:.5g} on no weight moves"
    return None


@exercise(LESSON)
def decay_dead_up_to(answer):
    """A function from a learning rate to the largest weight decay by which no weight ever moves."""
    w = normal_weights()
    for lr in RATES:
        result, right = float(answer(lr)), 2.0**-12 / lr
        moved = w[~stays(w, -lr * result * w)]
        if moved.size:
            count = f"{moved.size:,} of {w.size:,} weights move"
            return f"lr={lr:.4g}: with a decay of {result:.4g} {count}, such as {moved[0]:.4g}"
        if not result >= right * (1 - 1e-6):
            larger = (max(result, 0.0) + right) / 2
            return f"lr={lr:.4g}: a decay of {larger:.4g} > {result:.4g} moves no weight either"
    return None


@exercise(LESSON)
def after_200(answer):
    """What is left in float32, to two decimals, and in float16."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        return "expected two numbers: what is left in float32, and what in float16"
    for format, result, tolerance in zip((np.float32, np.float16), answer, (0.00501, 0.0)):
        away = abs(float(result) - float(subtracted(format)))
        if not away <= tolerance:
            name = np.dtype(format).name
            return f"{name}: {result!r} is {away / 0.009:.0f} subtractions away from what comes out"
    return None


def subtracted(format: type) -> np.floating:
    """256 less 200 times 0.009, rounded to a format after each."""
    w = format(256)
    for _ in range(200):
        w = format(w - format(0.009))
    return w
