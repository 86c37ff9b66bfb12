"""Of lesson 13."""

import numpy as np
from teach.answers import Answers


def in_one_exp(trainer, sampler):
    return np.exp(np.sum(trainer - sampler, axis=1))


def of_letters(trainer, sampler):
    return np.prod(np.exp(trainer - sampler), axis=1)


def upside_down(trainer, sampler):
    return np.exp((sampler - trainer).sum(1))


def mean_of_letters(trainer, sampler):
    return np.exp((trainer - sampler).mean(1))


def of_probabilities(trainer, sampler):
    """0 / 0 of long sequences."""
    return np.exp(trainer.sum(1)) / np.exp(sampler.sum(1))


def of_each_letter(trainer, sampler):
    return np.exp(trainer - sampler)


def never_negative(trainer, sampler):
    d = trainer - sampler
    return np.mean(np.exp(d) - 1 - d)


ANSWERS = {
    "sequence_ratio": Answers(
        (in_one_exp, of_letters),
        (upside_down, "for sequences of 1 letters"),
        (mean_of_letters, "for sequences of 16 letters"),
        (of_probabilities, "for sequences of 2000 letters the ratio of row 0 is nan"),
        (of_each_letter, "shape (5, 1)"),
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
