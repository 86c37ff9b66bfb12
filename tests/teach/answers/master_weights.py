"""Of lesson 3."""

import numpy as np
from teach.answers import Answers


def descend_with_master(w, scaled_gradient, steps, lr, S):
    master = w.astype(np.float32)
    for _ in range(steps):
        gradient = scaled_gradient(w).astype(np.float32) / S
        master -= lr * gradient
        w = master.astype(np.float16)
    return w


def other_order(w, scaled_gradient, steps, lr, S):
    """The same in float32, in another order."""
    master = np.array(w, np.float32)
    for _ in range(steps):
        master = master - scaled_gradient(master.astype(np.float16)).astype(np.float32) * lr / S
    return master.astype(np.float16)


def without(w, scaled_gradient, steps, lr, S):
    """No master: the sum is made in float32, and rounded in each step."""
    for _ in range(steps):
        gradient = scaled_gradient(w).astype(np.float32) / S
        w = (w.astype(np.float32) - lr * gradient).astype(np.float16)
    return w


def made_anew(w, scaled_gradient, steps, lr, S):
    """A master that is read back from the weights in each step."""
    for _ in range(steps):
        master = w.astype(np.float32)
        master -= lr * scaled_gradient(w).astype(np.float32) / S
        w = master.astype(np.float16)
    return w


def divided_in_float16(w, scaled_gradient, steps, lr, S):
    """Gradients lose in the division what S has saved."""
    master = w.astype(np.float32)
    for _ in range(steps):
        gradient = (scaled_gradient(w) / np.float16(S)).astype(np.float32)
        master -= lr * gradient
        w = master.astype(np.float16)
    return w


def not_divided(w, scaled_gradient, steps, lr, S):
    """S stays in the update."""
    return descend_with_master(w, scaled_gradient, steps, lr, 1)


def at_the_master(w, scaled_gradient, steps, lr, S):
    """The gradient is that of the float32 weights."""
    master = w.astype(np.float32)
    for _ in range(steps):
        master -= lr * scaled_gradient(master).astype(np.float32) / S
    return master.astype(np.float16)


def ends(x):
    near = x.astype(np.float16)
    low = np.where(near > x, np.nextafter(near, np.float16(-np.inf)), near)
    return low, np.where(near < x, np.nextafter(near, np.float16(np.inf)), near)


def stochastic(x, random):
    low, high = ends(x)
    gap = high.astype(np.float32) - low
    share = np.divide(x - low, gap, out=np.zeros_like(x), where=gap > 0)
    return np.where(random.random(x.shape) < share, high, low)


def evenly(x, random):
    """Either neighbour with the same chance."""
    low, high = ends(x)
    return np.where(random.random(x.shape) < 0.5, high, low)


def one_draw(x, random):
    """All numbers share one draw."""
    low, high = ends(x)
    gap = high.astype(np.float32) - low
    return np.where(random.random() * gap < x - low, high, low)


def noise(x, random):
    """Noise of half a gap up or down, then to the nearest: beyond a neighbour above a power of
    two."""
    low, high = ends(x)
    gap = np.maximum(high.astype(np.float32) - low, 0)
    return (x + gap * (random.random(x.shape) - 0.5)).astype(np.float16)


def own_generator(x, random):
    """Always the same draws."""
    return stochastic(x, np.random.default_rng(0))


BY_NEED = ("float8_e5m2", "float8_e4m3fn", "bfloat16", "float16", "float32")

ANSWERS = {
    "descend_with_master": Answers(
        (descend_with_master, other_order),
        (without, "with S = 1"),
        (made_anew, "40 of 40 weights are wrong"),
        (divided_in_float16, "with S = 4096"),
        (not_divided, "with S = 4096"),
        (at_the_master, "weights in float32, not float16"),
        (lambda w, g, steps, lr, S: w, "asked for 0 times"),
    ),
    "stochastic": Answers(
        (stochastic,),
        (lambda x, random: x.astype(np.float16), "went up in 0.0%"),
        (evenly, "3% of the way to the next float16 number, and went up in"),
        (one_draw, "of 20,000 draws"),
        (noise, "did not go to a neighbour"),
        (own_generator, "the same numbers at each call"),
        (lambda x, random: x, "in float32, not float16"),
    ),
    "masters_by_need": Answers(
        (BY_NEED, [*BY_NEED]),
        (BY_NEED[::-1], "loses it in"),
        (("float8_e4m3fn", "float8_e5m2", *BY_NEED[2:]), "float8_e4m3fn stands before"),
        (
            ("float8_e5m2", "float8_e4m3fn", "float16", "bfloat16", "float32"),
            "update of 0.0009",
        ),
        (("bfloat16",), "once"),
    ),
}
