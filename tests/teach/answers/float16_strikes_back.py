"""Of lesson 13."""

import numpy as np
from teach.answers import Answers


def never_negative(trainer, sampler):
    d = trainer - sampler
    return np.mean(np.exp(d) - 1 - d)


ANSWERS = {
    "sequence_ratio": Answers(
        (lambda t, s: np.exp((t - s).sum(1)), lambda t, s: np.prod(np.exp(t - s), axis=1)),
        (
            lambda t, s: np.exp(t.sum(1)) / np.exp(s.sum(1)),
            "for sequences of 2000 letters the ratio of row 0 is nan",
        ),
        known={
            0: "for sequences of 1 letters",
            1: "for sequences of 16 letters",
            2: "shape (5, 1)",
        },
    ),
    "kl_estimate": Answers(
        (never_negative, lambda t, s: float((np.expm1(t - s) - (t - s)).mean())),
        (lambda t, s: (np.exp(t) * (t - s)).mean(), "and should be"),
        known={0: "and should be", 1: "a deviation of 1,", 2: "a deviation of 1,"},
    ),
    "rounding_error": Answers(
        (lambda m: 2.0 ** -(m + 1), lambda m: 0.5 / 2**m),
        (lambda m: 2.0 ** -(m + 2), "with 10 bits"),
        known={0: "away from both", 1: "with 7 bits"},
    ),
}
