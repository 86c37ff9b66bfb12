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


def seeds_for(sd, margin):
    return max(3, math.ceil(((1.645 + 1.282) * sd / margin) ** 2))


def pairing_gain(values, baseline):
    return (np.var(values, ddof=1) + np.var(baseline, ddof=1)) / np.var(values - baseline, ddof=1)


ANSWERS = {
    "tost_p": Answers(
        (tost_p,),
        known=dict.fromkeys(range(4), "for 10 differences") | {4: "at a margin of 0.5"},
    ),
    "seeds_for": Answers(
        (seeds_for,),
        known={0: "not 19", 1: "3 pairs are needed, not 1", 2: "6 pairs are needed", 3: "not 6"},
    ),
    "pairing_gain": Answers(
        (pairing_gain,),
        known={0: "the gain is", 1: "the gain is", 2: "the gain is"},
    ),
}
