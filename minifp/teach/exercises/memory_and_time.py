"""Lesson 10: what mixed precision saves, in bytes and in time."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from minifp.teach.exercise import exercise, random_of

LESSON = "10-memory-and-time"
# Bytes of a number of each kind, and how many there are of it for each weight or activation.
HELD = {
    "float32": {"weights": 4, "masters": 0, "optimizer_state": 8, "gradients": 4, "activations": 4},
    "mixed": {"weights": 2, "masters": 4, "optimizer_state": 8, "gradients": 2, "activations": 2},
}
SHARES = (1 / 16, 1 / 4, 3 / 8, 7 / 16, 1 / 2, 3 / 4)  # which float64 computes with exactly
CLOSE = 1e-9  # relative: some roundings of float64


def whole_numbers(seed: int, columns: int, largest: int, rows: int = 12) -> Iterator[list[int]]:
    """Rows of whole numbers from 1 on, of all sizes up to the largest."""
    drawn = random_of(seed).uniform(0, math.log(largest), (rows, columns))
    yield from np.exp(drawn).astype(int).tolist()


def is_close(result: float, right: float) -> bool:
    """Whether two numbers are the same but for rounding in float64."""
    return abs(result - right) <= CLOSE * abs(right)


@exercise(LESSON)
def ledger(answer):
    """Of "float32" or "mixed", a number of weights and one of activations, the bytes of each kind
    in training with Adam: a dict by weights, masters, optimizer_state, gradients (of the weights),
    activations."""
    for weights, activations in [[1, 0], *whole_numbers(0, 2, 10**9)]:
        for precision, bytes_of in HELD.items():
            result = dict(answer(precision, weights, activations))
            if {*result} != {*bytes_of}:
                return f"it has {sorted(result)}, expected the kinds {sorted(bytes_of)}"
            for kind, size in bytes_of.items():
                right = size * (activations if kind == "activations" else weights)
                if result[kind] != right:
                    return (
                        f"in {precision}, {kind.replace('_', ' ')} of a network with {weights:,} "
                        f"weights and {activations:,} activations hold {right:,} bytes, not "
                        f"{result[kind]:,}"
                    )
    return None


@exercise(LESSON)
def break_even_batch(answer):
    """Of weights, activations of an example and a share of memory to save, the smallest batch that
    saves at least that share with Adam; None if there is none."""
    cases = product(SHARES, [[1, 10**6], *whole_numbers(1, 2, 10**6)])
    for saved, (weights, activations) in cases:
        result, right = answer(weights, activations, saved), smallest(weights, activations, saved)
        if result != right:
            return (
                f"{weights:,} weights, {activations:,} activations an example and {saved:.4g} to "
                f"be saved: it is {right if right is None else format(right, ',')}, not {result}"
            )
    return None


def smallest(weights: int, activations: int, saved: float) -> int | None:
    """The batch from which on that share is saved."""
    if saved >= 0.5:
        return None
    return math.ceil(16 * saved * weights / (activations * (2 - 4 * saved)))


@exercise(LESSON)
def wasted_work(answer):
    """Of M, N, K, the share of the multiplications of the padded product that are of padding."""
    for m, n, k in [[8, 16, 64], [9, 8, 8], [8, 8, 65], *whole_numbers(2, 3, 2000)]:
        right = 1 - m * n * k / math.prod(-(-size // 8) * 8 for size in (m, n, k))
        result = float(answer(m, n, k))
        if not abs(result - right) <= CLOSE:
            return f"for M, N, K = {m}, {n}, {k} it is {right:.6g}, not {result:.6g}"
    return None


@exercise(LESSON)
def amdahl(answer):
    """How many times faster the whole is, if a share of its time gets so many times faster."""
    rng = random_of(3)
    drawn = zip(rng.uniform(0, 1, 10), 2 ** rng.uniform(-1, 5, 10))
    for share, times in [(0.5, 5.0), (0.0, 8.0), (1.0, 8.0), *drawn]:
        right = 1 / (1 - share + share / times)
        result = float(answer(float(share), float(times)))
        if not is_close(result, right):
            return (
                f"{share:.3g} of the time made {times:.3g} times faster: the whole is {right:.4g} "
                f"times as fast, not {result:.4g}"
            )
    return None
