"""Tests that assume no distribution: what labels or signs might as well have been.

Sources: Fisher 1935 (sign flips); Phipson and Smyth 2010 (p of a sample: (b + 1) / (m + 1)).
"""

import math
from collections.abc import Sequence

import numpy as np

MOST_FLIPS = 16  # differences up to which every combination of signs is tried
SAMPLES = 20_000  # beyond it, and their seed
SEED = 0
ROUNDING = 1e-12  # relative: equal sums must not be told apart by it


def sign_flip_p(differences: Sequence[float]) -> float:
    """How likely a mean at least as far from 0 is, if the sign of each difference is chance.

    Up to MOST_FLIPS differences every combination is tried; beyond, SAMPLES of them.
    """
    d = np.asarray(differences, np.float64)
    if len(d) <= MOST_FLIPS:
        signs = 1.0 - 2.0 * np.indices([2] * len(d)).reshape(len(d), -1).T
        return share(np.abs(signs @ d), abs(d.sum()))
    signs = np.random.default_rng(SEED).choice((1.0, -1.0), (SAMPLES, len(d)))
    return share(np.abs(signs @ d), abs(d.sum()), is_sample=True)


def one_of_them_p(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """How likely the first column would be as far off, if it were one of the columns by chance.

    rows: one for each seed: what the arm in question did, and what each control did to the same
    run. In each row any of the columns might have been the first. Two chances: that the mean of the
    chosen column is as far from the mean of all (it ends elsewhere), and that its mean size is at
    least as large (it is moved further). Never below 1 / columns^rows.
    """
    x = np.asarray(rows, np.float64)
    n, k = x.shape
    if k**n <= SAMPLES:
        chosen = np.indices([k] * n).reshape(n, -1).T
    else:
        chosen = np.random.default_rng(SEED).integers(k, size=(SAMPLES, n))
    off, size = x - x.mean(1, keepdims=True), np.abs(x)
    at = np.arange(n)
    is_sample = k**n > SAMPLES
    return (
        share(np.abs(off[at, chosen].sum(1)), abs(off[:, 0].sum()), is_sample),
        share(size[at, chosen].sum(1), size[:, 0].sum(), is_sample),
    )


def share(sizes, seen: float, is_sample: bool = False) -> float:
    """The share of numbers that are at least as large as the one seen."""
    least = seen * (1 - ROUNDING) if seen else -math.inf
    count = int((sizes >= least).sum())
    return (count + 1) / (len(sizes) + 1) if is_sample else count / len(sizes)
