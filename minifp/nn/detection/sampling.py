"""Boxes that count in a loss: some of those that find an object, and some that find none.

Nearly all boxes find nothing: in a loss of all of them, objects would hardly count.
"""

import numpy as np

from minifp.checks import check_count, check_range
from minifp.runtime import random


class BalancedSampler:
    """Draws of the boxes of a picture at most `count`, of which a share at most finds objects.

    count: how many. positive_fraction: the share; where there are fewer, more of the others are
        drawn in their place. purpose: of the random numbers (see minifp/runtime/random.py).

    The boxes are put in an order that depends on the seed, the purpose and the number of the call
    alone, and of each kind the first are taken: so the same in every precision, and where a label
    differs, all others are drawn as before. Raises ArgumentError for a count below 1 and a share
    that is not from 0 to 1.
    """

    def __init__(self, count: int, positive_fraction: float, purpose: str) -> None:
        check_range("BalancedSampler: positive_fraction", positive_fraction, high=1.0)
        self.count = check_count("BalancedSampler: count", count)
        self.positive_fraction, self.purpose = positive_fraction, purpose

    def __call__(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places of boxes with objects and of boxes without that were drawn, both in order.

        labels: of each box, above 0 with an object, 0 without, below 0 for one that never counts.
        """
        order = random.permutation(len(labels), purpose=self.purpose)
        of_order = labels[order]
        positives = order[of_order > 0][: int(self.count * self.positive_fraction)]
        negatives = order[of_order == 0][: self.count - len(positives)]
        return np.sort(positives), np.sort(negatives)


def hard_negatives(losses: np.ndarray, positives: np.ndarray, ratio: float) -> np.ndarray:
    """The boxes without object whose losses are largest, `ratio` times as many as have one.

    losses: of each box (pictures, boxes), as if it counted. positives: which of them find objects.
    Where (pictures, boxes) it is True. NaN is larger than any loss, so that it is not overlooked;
    of equal losses the first count (Liu et al. 2016, arXiv:1512.02325, section 2.2).
    """
    easiness = np.where(np.isnan(losses), -np.inf, -losses)
    easiness[positives] = np.inf
    counts = np.minimum(ratio * positives.sum(1), (~positives).sum(1))
    chosen = [smallest(*of_picture) for of_picture in zip(easiness, np.ceil(counts).astype(int))]
    return np.stack(chosen)


def smallest(values: np.ndarray, count: int) -> np.ndarray:
    """Where the `count` smallest values are, of equal ones the first."""
    if count == 0:
        return np.zeros(values.shape, bool)
    last = np.partition(values, count - 1)[count - 1]
    chosen = values < last
    chosen[np.flatnonzero(values == last)[: count - np.count_nonzero(chosen)]] = True
    return chosen
