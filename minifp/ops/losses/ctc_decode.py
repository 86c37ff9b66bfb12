"""What labels a network that was trained with ctc_loss says: the likeliest path, or prefix.

A path names a class each step; repetitions on it count once, then blanks are left out. Greedy
decoding takes the likeliest class of each step. Beam search (Graves 2012, "Supervised sequence
labelling with recurrent neural networks", section 7.5.3; Hannun et al. 2014, arXiv:1408.2873,
algorithm 1, without a language model) adds up the paths that give the same labels so far. Of a
prefix l, with c its last label, the paths that end in a blank and those that do not:

    b_t(l) = (b + n)_t-1(l) p_t(blank)
    n_t(l) = n_t-1(l) p_t(c) + (b_t-1(l') if c ends l' too, else (b + n)_t-1(l')) p_t(c)

where l' is l without c, if it is among the prefixes that were kept. After each step those with the
largest b + n are. All is in logarithms and float64; nothing has a gradient.
"""

from collections.abc import Sequence
from math import exp, inf, log1p
from typing import NamedTuple

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.compiled import compilable
from minifp.ops.arguments import check_tensors
from minifp.ops.losses.ctc_targets import as_array, as_lengths
from minifp.ops.public import public


class Decoded(NamedTuple):
    """labels: of each sequence, (L) int64; scores: the logarithms of their probabilities (N), in
    nats: of the likeliest path, or of all paths to the labels that the search kept."""

    labels: list[np.ndarray]
    scores: np.ndarray


def log_sum(x: float, y: float) -> float:
    """log(e^x + e^y)."""
    top, low = (x, y) if x > y else (y, x)
    return top if low == -inf else top + log1p(exp(low - top))


@compilable
def searched(x, steps, blank, width):
    """(labels (N, T), how many each (N), scores (N)) of x (T, N, C), float64."""
    labels = np.full(x.shape[1::-1], blank, np.int64)
    counts, scores = np.zeros(len(labels), np.int64), np.zeros(len(labels))
    for n, count in enumerate(steps.tolist()):
        prefix, scores[n] = search(x[:count, n].tolist(), blank, width)
        labels[n, : len(prefix)], counts[n] = prefix, len(prefix)
    return labels, counts, scores


def search(rows, blank, width):
    """(labels, score) of the likeliest prefix of one sequence. rows: of each step, the logarithms
    of classes."""
    kept = {(): (0.0, -inf)}  # of each prefix: paths that end in a blank, and those that do not
    for row in rows:
        found: dict[tuple, list] = {}
        for prefix, (b, n) in kept.items():
            both = log_sum(b, n)
            add(found, prefix, 0, both + row[blank])
            if prefix:
                add(found, prefix, 1, n + row[prefix[-1]])
            for c, p in enumerate(row):
                if c != blank:
                    add(found, (*prefix, c), 1, (b if prefix[-1:] == (c,) else both) + p)
        best = sorted(found.items(), key=lambda item: -log_sum(*item[1]))
        kept = {prefix: (b, n) for prefix, (b, n) in best[:width]}
    prefix, (b, n) = next(iter(kept.items()))
    return prefix, log_sum(b, n)


def add(found, prefix, kind, p):
    """Add paths of one kind to a prefix."""
    sums = found.setdefault(prefix, [-inf, -inf])
    sums[kind] = log_sum(sums[kind], p)


# ---- what users call ----------------------------------------------------------------------------

Lengths = Tensor | np.ndarray | Sequence[int] | int


def as_rows(function, log_probs, input_lengths, blank):
    """(x (T, N, C) float64, steps (N)), checked."""
    check_tensors(function, log_probs=log_probs)
    if log_probs.ndim not in (2, 3) or 0 in (log_probs.shape[0], log_probs.shape[-1]):
        raise ShapeError(
            f"{function}: log_probs of shape {log_probs.shape}: expected (T, N, C) or (T, C)"
        )
    x = np.asarray(as_array(log_probs), np.float64)
    x = x if x.ndim == 3 else x[:, None]
    if check_count(f"{function}: blank", blank, least=0) >= x.shape[2]:
        raise ArgumentError(f"{function}: blank={blank}: expected a class, 0 to {x.shape[2] - 1}")
    steps = as_lengths(f"{function}: input_lengths", input_lengths, x.shape[1], len(x))
    inside = np.arange(len(x))[:, None] < steps
    if np.isnan(x[inside]).any() or np.isposinf(x[inside]).any():
        raise ArgumentError(f"{function}: NaN or Inf in log_probs: expected logarithms")
    return x, steps


@public("F")
def ctc_greedy_decode(
    log_probs: Tensor | np.ndarray, input_lengths: Lengths, blank: int = 0
) -> Decoded:
    """The labels of the likeliest class of each step, repetitions once, without blanks.

    log_probs: (T, N, C), or (T, C) without a batch, as `ctc_loss` takes it; input_lengths: (N)
    integers, or of one sequence a number. Of classes that are alike the first counts. Raises
    DTypeError, ShapeError or ArgumentError for anything else, and for NaN.
    """
    x, steps = as_rows("ctc_greedy_decode", log_probs, input_lengths, blank)
    best, inside = x.argmax(-1), np.arange(len(x))[:, None] < steps
    begins = np.ones(best.shape, bool)
    begins[1:] = best[1:] != best[:-1]
    said = begins & inside & (best != blank)
    labels = [np.asarray(best[said[:, n], n], np.int64) for n in range(len(steps))]
    return Decoded(labels, np.where(inside, x.max(-1), 0).sum(0))


@public("F")
def ctc_beam_search_decode(
    log_probs: Tensor | np.ndarray, input_lengths: Lengths, blank: int = 0, beam_width: int = 100
) -> Decoded:
    """The labels that all paths to them make likeliest, as far as a search of prefixes finds them.

    beam_width: how many prefixes are kept after each step. As ctc_greedy_decode otherwise.
    """
    x, steps = as_rows("ctc_beam_search_decode", log_probs, input_lengths, blank)
    width = check_count("ctc_beam_search_decode: beam_width", beam_width)
    labels, counts, scores = searched(x, steps, blank, width)
    return Decoded([row[:n] for row, n in zip(labels, counts.tolist())], scores)
