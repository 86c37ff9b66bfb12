"""Of lesson 2."""

import numpy as np
from teach.answers import Answers


def lost_up_to(w):
    """As a student might find it: from the neighbour below, and the last bit."""
    code = w.astype(np.float16).view(np.uint16)
    below = (code - np.uint16(1)).view(np.float16).astype(np.float64)
    return (w - below) / 2, code % 2 == 0


def precisely(lr):
    """The true limit for this lr, and not just the ratio that holds for all."""
    w = np.arange(0x400, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    moves = ((w + lr).astype(np.float16) != w) | ((w - lr).astype(np.float16) != w)
    return w[np.flatnonzero(moves)[-1] + 1]


ANSWERS = {
    "lost_up_to": Answers(
        (lost_up_to,),
        (lambda w: (w / 2048, np.full(w.shape, True)), "half the way down"),
        (lambda w: w / 4096, "does not return two"),
        known={0: "and should be", 1: "whether a tie is lost"},
    ),
    "adam_stands_still_above": Answers(
        (lambda lr: 4096 * lr, precisely),
        (lambda lr: lr * 2**24, "no weight moves"),
        (lambda lr: float("nan"), "moves"),
        known={0: "moves", 1: "moves"},
    ),
    "decay_dead_up_to": Answers(
        (lambda lr: 2.0**-12 / lr,),
        (lambda lr: 2.0**-24 / lr, "moves no weight either"),
        known={0: "such as", 1: "moves no weight either", 2: "moves no weight either"},
    ),
    "after_200": Answers(
        ((254.2, 256.0), (254.20, 256), (254.19937, np.float16(256))),
        ((254.65, 256), "float32: 254.65 is 50 subtractions away"),
        ((254.2, 254.2), "float16: 254.2 is 200 subtractions away"),
        ((254.2, 254.25), "float16"),
        (254.2, "two numbers"),
    ),
}
