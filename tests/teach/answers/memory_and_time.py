"""Of lesson 10."""

import math
from fractions import Fraction

from teach.answers import Answers

KINDS = ("weights", "masters", "optimizer_state", "gradients", "activations")


def filled(float32, mixed):
    """A ledger of bytes for each weight, and at last for each activation."""

    def ledger(precision, parameters, activations):
        sizes = dict(zip(KINDS, float32 if precision == "float32" else mixed))
        numbers = dict.fromkeys(KINDS, parameters) | {"activations": activations}
        return {kind: sizes[kind] * numbers[kind] for kind in KINDS}

    return ledger


def break_even_batch(parameters, activations, saved, whole=math.ceil, state=16):
    """Exactly, as fractions; the state is of so many bytes a weight."""
    saved = Fraction(saved)
    if saved >= Fraction(1, 2):
        return None
    return whole(saved * state * parameters / (activations * (2 - 4 * saved)))


def no_limit(parameters, activations, saved):
    """Negative batches."""
    return math.ceil(saved * 16 * parameters / (activations * (2 - 4 * saved or 1e-9)))


def padded(m, n, k):
    return math.prod(8 * math.ceil(size / 8) for size in (m, n, k))


ANSWERS = {
    "ledger": Answers(
        (filled((4, 0, 8, 4, 4), (2, 4, 8, 2, 2)),),
        (filled((4, 0, 8, 4, 4), (2, 0, 4, 2, 2)), "in mixed, masters"),
        (filled((4, 4, 8, 4, 4), (2, 4, 8, 2, 2)), "in float32, masters"),
        (filled((4, 0, 8, 4, 4), (2, 4, 4, 2, 2)), "in mixed, optimizer state"),
        (lambda *_: {"weights": 4}, "expected the kinds"),
    ),
    "break_even_batch": Answers(
        (break_even_batch,),
        (no_limit, "it is None, not"),
        known={0: "to be saved", 2: "to be saved"},
    ),
    "wasted_work": Answers(
        (lambda m, n, k: 1 - m * n * k / padded(m, n, k),),
        (lambda m, n, k: 1 - m * n * k / ((m + 8) * (n + 8) * (k + 8)), "= 8, 16, 64 it is 0"),
        known={0: "M, N, K = 9, 8, 8", 2: "M, N, K = 8, 8, 65"},
    ),
    "amdahl": Answers(
        (lambda share, times: 1 / (1 - share + share / times),),
        (lambda share, times: 1 - share + share * times, "is 1.667 times as fast, not 3"),
        known={1: "not 0.6", 2: "not 2.5"},
    ),
}
