"""Of lesson 7."""

import math
from statistics import NormalDist

import numpy as np
from teach.answers import Answers


def next_scale(S, good, finite, interval, least, most):
    if not finite:
        return max(S / 2, least), 0
    if good + 1 < interval:
        return S, good + 1
    return min(S * 2, most), 0


def no_floor(S, good, finite, interval, least, most):
    """The death spiral."""
    return (S / 2, 0) if not finite else next_scale(S, good, finite, interval, least, most)


def no_ceiling(S, good, finite, interval, least, most):
    """S grows to Inf."""
    return next_scale(S, good, finite, interval, least, math.inf)


def counts_all_steps(S, good, finite, interval, least, most):
    """An overflow does not end the count."""
    S, after = next_scale(S, good, finite, interval, least, most)
    return S, after if finite else good


def keeps_counting(S, good, finite, interval, least, most):
    """Growth does not end the count."""
    if not finite:
        return max(S / 2, least), 0
    return (min(S * 2, most) if good + 1 >= interval else S), good + 1


def careful_step(w, v, g, S, lr):
    if not np.isfinite(g).all():
        return w, v
    v = np.float32(0.9) * v + g.astype(np.float32) / np.float32(S)
    return w - np.float32(lr) * v, v


def stepper(skips, unscaled=lambda g, S: g.astype(np.float32) / np.float32(S)):
    """A step that skips where `skips(g)`."""

    def step(w, v, g, S, lr):
        if skips(g):
            return w, v
        v = np.float32(0.9) * v + unscaled(g, S)
        return w - np.float32(lr) * v, v

    return step


def spoils_momentum(w, v, g, S, lr):
    """Weights are kept, momentum is not."""
    new = np.float32(0.9) * v + g.astype(np.float32) / np.float32(S)
    return (w - np.float32(lr) * new, new) if np.isfinite(new).all() else (w, new)


def bad(g):
    return not np.isfinite(g).all()


def from_deviations(z):
    """S that leaves z standard deviations."""

    def scale(x):
        return 2.0 ** math.floor(math.log2(65504) - np.mean(x) - z * np.std(x))

    return scale


def no_power_of_two(x):
    """As OpenSeq2Seq has it."""
    return 2.0 ** (math.log2(65504) - np.mean(x) - 3.09 * np.std(x))


STEPS = {
    "nnabla": 34000,
    "TensorFlow": 10000,
    "PyTorch": 8000,
    "minifp": 8000,
    "fastai's lesson": 4,
    "this lesson": 400,
}

ANSWERS = {
    "next_scale": Answers(
        (next_scale,),
        (no_floor, "and should be"),
        (no_ceiling, "and should be"),
        (counts_all_steps, "overflow: S="),
        (keeps_counting, "became"),
        (lambda *a: None, "TypeError"),
    ),
    "careful_step": Answers(
        (careful_step,),
        (stepper(lambda g: False), "should be skipped"),
        (stepper(lambda g: np.isinf(g).any()), "one nan among 40"),
        (stepper(lambda g: np.isnan(g).any()), "one inf among 40"),
        (stepper(lambda g: not np.isfinite(g.sum())), "whose sum is not finite"),
        (stepper(bad, lambda g, S: (g / np.float16(S)).astype(np.float32)), "numbers of v"),
        (stepper(bad, lambda g, S: g.astype(np.float32)), "numbers of v are wrong"),
        (spoils_momentum, "and v has changed"),
    ),
    "log_normal_scale": Answers(
        (from_deviations(-NormalDist().inv_cdf(0.001)),),
        (from_deviations(0), "overflows with a chance of"),
        (from_deviations(2), "overflows with a chance of"),
        (from_deviations(4), "but 2 S with only"),
        (no_power_of_two, "no power of two"),
        (lambda x: 2.0 ** math.floor(math.log2(65504) - np.max(x)), "a chance of"),
    ),
    "steps_to_find": Answers(
        (STEPS,),
        ({**STEPS, "nnabla": 17}, "1 of 6 are wrong. nnabla begins"),
        ({**STEPS, "fastai's lesson": 2000}, "which overflows at first"),
        ({**STEPS, "PyTorch": 2000, "minifp": 2000}, "2 of 6 are wrong"),
        (dict.fromkeys(("PyTorch", "minifp"), 8000), "a dict with the names"),
    ),
}
