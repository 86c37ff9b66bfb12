"""Lesson 13: a policy that is sampled by one machine and trained by another."""

import numpy as np

from minifp.teach.exercise import exercise, random_of

LESSON = "13-float16-strikes-back"
CLOSE = 1e-6  # relative: float64 loses 1e-16 / d of a difference d of logarithms, here 1e-9


def pairs(seed: int, rows: int, length: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """log p of sampled letters under the trainer and under the sampler, (rows, length) each."""
    rng = random_of(seed)
    sampler = -rng.exponential(1.0, (rows, length))
    return sampler + apart * rng.normal(size=(rows, length)), sampler


def first_wrong(result: np.ndarray, right: np.ndarray) -> int | None:
    """The place of the first number that is off by more than CLOSE of itself."""
    wrong = ~(np.abs(result - right) <= CLOSE * np.abs(right))
    return int(np.flatnonzero(wrong)[0]) if wrong.any() else None


@exercise(LESSON)
def sequence_ratio(answer):
    """Of log p of letters under trainer and sampler, (B, T) each, to p_trainer / p_sampler of each
    sequence, (B)."""
    for length, apart in ((1, 1.0), (16, 1e-3), (16, 0.3), (2000, 1e-2)):
        trainer, sampler = pairs(length, 5, length, apart)
        right = np.exp((trainer - sampler).sum(1))
        result = np.asarray(answer(trainer.copy(), sampler.copy()), np.float64)
        if result.shape != right.shape:
            return f"it returns the shape {result.shape} for 5 sequences, and should return (5,)"
        row = first_wrong(result, right)
        if row is not None:
            return (
                f"for sequences of {length} letters the ratio of row {row} is {result[row]:.6g}, "
                f"and should be {right[row]:.6g}"
            )
    return None


@exercise(LESSON)
def kl_estimate(answer):
    """Of log p of letters under trainer and sampler, (B, T), an estimate of KL(sampler || trainer)
    of a letter that is never negative, and right on average."""
    for apart in (1.0, 0.1, 1e-3):
        trainer, sampler = pairs(7, 8, 16, apart)
        d = trainer - sampler
        right = float((np.expm1(d) - d).mean())
        result = float(answer(trainer.copy(), sampler.copy()))
        if result < 0:
            return f"where d has a deviation of {apart:g} it is negative: {result:.6g}"
        if not abs(result - right) <= CLOSE * right:
            return (
                f"where d = log p_trainer - log p_sampler has a deviation of {apart:g}, it is "
                f"{result:.6g}, and should be {right:.6g}"
            )
    return None


@exercise(LESSON)
def rounding_error(answer):
    """Of bits of mantissa, the largest error of rounding a number next to 1, relative to it."""
    for bits in (10, 7, 23, 3, 2, *random_of(0).integers(4, 40, 5)):
        step = 2.0 ** -int(bits)
        right = step - step / 2  # from the middle of two neighbours to the nearer of them
        result = float(answer(int(bits)))
        if result != right:
            return (
                f"with {bits} bits of mantissa the neighbours of 1 + {step / 2:.4g} are 1 and "
                f"1 + {step:.4g}: it is {right:.6g} away from both, and you say {result:.6g}"
            )
    return None
