"""Of lesson 13."""

import numpy as np
from teach.answers import Answers


def never_negative(trainer, sampler):
    d = trainer - sampler
    return np.mean(np.exp(d) - 1 - d)


ANSWERS = {
    "sequence_ratio": Answers(
        (lambda t, s: np.exp((t - s).sum(1)), lambda t, s: np.prod(np.exp(t - s), axis=1)),
        (lambda t, s: np.exp((s - t).sum(1)), "for sequences of 1 letters"),
        (lambda t, s: np.exp((t - s).mean(1)), "for sequences of 16 letters"),
        (
            lambda t, s: np.exp(t.sum(1)) / np.exp(s.sum(1)),
            "for sequences of 2000 letters the ratio of row 0 is nan",
        ),
        (lambda t, s: np.exp(t - s), "shape (5, 1)"),
    ),
    "kl_estimate": Answers(
        (never_negative, lambda t, s: float((np.expm1(t - s) - (t - s)).mean())),
        (lambda t, s: (s - t).mean(), "and should be"),
        (lambda t, s: np.mean(np.exp(s - t) - 1 - (s - t)), "a deviation of 1,"),
        (lambda t, s: ((t - s) ** 2).mean() / 2, "a deviation of 1,"),
        (lambda t, s: (np.exp(t) * (t - s)).mean(), "and should be"),
    ),
    "rounding_error": Answers(
        (lambda m: 2.0 ** -(m + 1), lambda m: 0.5 / 2**m),
        (lambda m: 2.0**-m, "away from both"),
        (lambda m: 2.0 ** -(m + 2), "with 10 bits"),
        (lambda m: 2.0**-11, "with 7 bits"),
    ),
}
