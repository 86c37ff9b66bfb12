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


def bad(g):
    return not np.isfinite(g).all()


def in_single(g, S):
    return g.astype(np.float32) / np.float32(S)


def stepper(skips=bad, unscaled=in_single):
    """A step that skips where `skips(g)`."""

    def step(w, v, g, S, lr):
        if skips(g):
            return w, v
        v = np.float32(0.9) * v + unscaled(g, S)
        return w - np.float32(lr) * v, v

    return step


def spoils_momentum(w, v, g, S, lr):
    """Weights are kept, momentum is not."""
    new_w, new_v = stepper(lambda g: False)(w, v, g, S, lr)
    return w if bad(new_v) else new_w, new_v


def deviations(z):
    """S that leaves z standard deviations, as OpenSeq2Seq has it: no power of two."""
    return lambda x: 2.0 ** (math.log2(65504) - np.mean(x) - z * np.std(x))


def powers(z):
    """The power of two below it."""
    return lambda x: 2.0 ** math.floor(math.log2(deviations(z)(x)))


STEPS = dict.fromkeys(("PyTorch", "minifp"), 8000)
STEPS |= {"nnabla": 34000, "TensorFlow": 10000, "fastai's lesson": 4, "this lesson": 400}

ANSWERS = {
    "next_scale": Answers(
        (next_scale,),
        (lambda *a: None, "TypeError"),
        known={0: "overflow: S=", 1: "became", 2: "and should be", 3: "and should be"},
    ),
    "careful_step": Answers(
        (stepper(),),
        (stepper(lambda g: False), "should be skipped"),
        (stepper(lambda g: np.isinf(g).any()), "one nan among 40"),
        (stepper(lambda g: np.isnan(g).any()), "one inf among 40"),
        (stepper(lambda g: not np.isfinite(g.sum())), "whose sum is not finite"),
        (spoils_momentum, "and v has changed"),
        known={0: "numbers of v", 1: "numbers of v are wrong"},
    ),
    "log_normal_scale": Answers(
        (powers(-NormalDist().inv_cdf(0.001)),),
        (powers(2), "overflows with a probability of"),
        (powers(4), "but 2 S with only"),
        (deviations(3.09), "no power of two"),
        known={0: "overflows with a probability of", 1: "a probability of"},
    ),
    "steps_to_find": Answers(
        (STEPS,),
        ({**STEPS, "nnabla": 17}, "1 of 6 are wrong. nnabla begins"),
        ({**STEPS, "fastai's lesson": 2000}, "which overflows at first"),
        ({**STEPS, "PyTorch": 2000, "minifp": 2000}, "2 of 6 are wrong"),
        (dict.fromkeys(("PyTorch", "minifp"), 8000), "a dict with the names"),
    ),
}
