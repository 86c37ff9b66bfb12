"""Of lesson 11."""

import math

import numpy as np
from teach.answers import Answers

from minifp.lab.statistics.distributions import t_cdf


def t_tests(differences, margin, spread=1):
    """p of "below -margin" and of "above +margin"."""
    n = len(differences)
    error = differences.std(ddof=spread) / math.sqrt(n)
    center = differences.mean()
    return [1 - t_cdf(float(d / error), n - 1) for d in (center + margin, margin - center)]


def tost_p(differences, margin):
    return max(t_tests(differences, margin))


def no_difference(differences, margin):
    """The p value of the usual test, of "there is no difference"."""
    n = len(differences)
    t = abs(differences.mean()) / (differences.std(ddof=1) / math.sqrt(n))
    return 2 * (1 - t_cdf(float(t), n - 1))


def seeds_for(sd, margin):
    return max(3, math.ceil(((1.645 + 1.282) * sd / margin) ** 2))


def pairing_gain(values, baseline):
    return (np.var(values, ddof=1) + np.var(baseline, ddof=1)) / np.var(values - baseline, ddof=1)


ANSWERS = {
    "tost_p": Answers(
        (tost_p,),
        (no_difference, "for 10 differences"),
        (lambda d, m: min(t_tests(d, m)), "for 10 differences"),
        (lambda d, m: sum(t_tests(d, m)), "for 10 differences"),
        (lambda d, m: max(t_tests(d, m, spread=0)), "for 10 differences"),
        (lambda d, m: t_tests(d, m)[0], "at a margin of 0.5"),
    ),
    "seeds_for": Answers(
        (seeds_for,),
        (lambda sd, m: math.ceil((1.96 * sd / m) ** 2), "6 pairs are needed"),
        (lambda sd, m: math.ceil((2.927 * sd / m) ** 2), "3 pairs are needed, not 1"),
        (lambda sd, m: max(3, math.ceil((1.645 + 0.842) ** 2 * (sd / m) ** 2)), "not 19"),
        (lambda sd, m: max(3, math.ceil(2.927 * sd / m)), "not 6"),
    ),
    "pairing_gain": Answers(
        (pairing_gain,),
        (lambda v, b: math.sqrt(pairing_gain(v, b)), "the gain is"),
        (lambda v, b: 1 / pairing_gain(v, b), "the gain is"),
        (lambda v, b: np.var(b, ddof=1) / np.var(v - b, ddof=1), "the gain is"),
    ),
}
