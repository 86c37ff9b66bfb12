"""Of lesson 3."""

import numpy as np
from teach.answers import Answers


def in_single(gradient, S, lr):
    return lr * (gradient.astype(np.float32) / S)


def descend_with_master(w, scaled_gradient, steps, lr, S, update=in_single, at=np.float16):
    """The gradient is that at the weights in the format `at`."""
    master = w.astype(np.float32)
    for _ in range(steps):
        master -= update(scaled_gradient(master.astype(at)), S, lr)
    return master.astype(np.float16)


def other_order(w, scaled_gradient, steps, lr, S):
    """The same in float32, in another order."""
    master = np.array(w, np.float32)
    for _ in range(steps):
        master = master - scaled_gradient(master.astype(np.float16)).astype(np.float32) * lr / S
    return master.astype(np.float16)


def ends(x):
    near = x.astype(np.float16)
    low = np.where(near > x, np.nextafter(near, np.float16(-np.inf)), near)
    return low, np.where(near < x, np.nextafter(near, np.float16(np.inf)), near)


def stochastic(x, random, chances=lambda random, x: random.random(x.shape)):
    low, high = ends(x)
    gap = high.astype(np.float32) - low
    share = np.divide(x - low, gap, out=np.zeros_like(x), where=gap > 0)
    return np.where(chances(random, x) < share, high, low)


def evenly(x, random):
    """Either neighbour with the same chance."""
    low, high = ends(x)
    return np.where(random.random(x.shape) < 0.5, high, low)


def noise(x, random):
    """Noise of half a gap up or down, then to the nearest: beyond a neighbour above a power of
    two."""
    low, high = ends(x)
    gap = np.maximum(high.astype(np.float32) - low, 0)
    return (x + gap * (random.random(x.shape) - 0.5)).astype(np.float16)


BY_NEED = ("float8_e5m2", "float8_e4m3fn", "bfloat16", "float16", "float32")

ANSWERS = {
    "descend_with_master": Answers(
        (descend_with_master, other_order),
        (lambda *a: descend_with_master(*a, at=np.float32), "weights in float32, not float16"),
        (lambda w, g, steps, lr, S: w, "asked for 0 times"),
        (lambda *a: descend_with_master(*a, lambda g, S, lr: lr * g / S), "with S = 4 and"),
        known={
            0: "with S = 4096",
            1: "with S = 4096",
            2: "with S = 1",
            4: "with S = 8 and",
            5: "S = 4096",
        },
    ),
    "stochastic": Answers(
        (stochastic,),
        (lambda x, random: x.astype(np.float16), "went up in 0.0%"),
        (evenly, "3% of the way to the next float16 number, and went up in"),
        (lambda x, r: stochastic(x, r, lambda r, x: r.random()), "of 20,000 draws"),
        (noise, "did not go to a neighbour"),
        (lambda x, r: stochastic(x, np.random.default_rng(0)), "the same numbers at each call"),
        (lambda x, random: x, "in float32, not float16"),
    ),
    "masters_by_need": Answers(
        (BY_NEED, [*BY_NEED]),
        (("float8_e4m3fn", "float8_e5m2", *BY_NEED[2:]), "float8_e4m3fn stands too early"),
        ((*BY_NEED[:2], "float16", "bfloat16", "float32"), "update of 0.0009"),
        (("bfloat16",), "once"),
        known={0: "float32 stands too early"},
    ),
}
