"""Two classifiers on the same examples: whether one is right more often.

Only the examples count on which exactly one of the two is right. If both are equally good, each of
these is a fair coin: the p value is that of the exact binomial test with two sides. Source:
McNemar 1947; the exact form: Fagerland, Lydersen and Laake 2013.
"""

from math import comb


def mcnemar_p(gained: int, lost: int) -> float:
    """The p value of "equally good". gained, lost: examples that only the second gets right, and
    only the first."""
    n, fewer = gained + lost, min(gained, lost)
    tail = sum(comb(n, k) for k in range(fewer + 1))
    return min(1.0, 2 * tail / 2**n)
