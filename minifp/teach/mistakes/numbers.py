"""Of lessons 1 to 3."""

import numpy as np

from minifp.teach.mistake import Mistakes, Said


def eleven_bits(x):
    """As if every exponent had room, small and large."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(fraction, 11)), exponent - 11).astype(np.float32)


def ten_bits(x):
    """By frexp's exponent as if it were that of a fraction from 1 to 2."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(fraction, 10)), exponent - 10).astype(np.float32)


def cut_off(x):
    """Toward zero."""
    near = x.astype(np.float16)
    return np.where(np.abs(near) > np.abs(x), np.nextafter(near, np.float16(0)), near)


def no_overflow(x):
    """Beyond 65504 it goes on."""
    return np.where(np.abs(x) >= 65520, eleven_bits(x), x.astype(np.float16)).astype(np.float32)


def no_subnormals(x):
    """Below 2^-14 it goes on with eleven bits."""
    return np.where(np.abs(x) >= 65520, x.astype(np.float16), eleven_bits(x)).astype(np.float32)


def gap_of(shift, least=-9999):
    """By the exponent that frexp gives, less `shift`, and at least `least`."""
    return lambda x: np.ldexp(1.0, np.maximum(np.frexp(x)[1] - shift, least))


def upward_gap(w):
    """The gap above a power of two, also below it."""
    return np.spacing(w.astype(np.float16)).astype(np.float64) / 2


def downward(w):
    """Half the gap below."""
    return (w - np.nextafter(w.astype(np.float16), np.float16(0)).astype(np.float64)) / 2


def is_even(w):
    """Whether the last bit is 0."""
    return w.astype(np.float16).view(np.uint16) % 2 == 0


def descent(update, master=np.float32):
    """Weights after all steps: with the update of a scaled gradient, and the format of masters."""

    def descend(w, scaled_gradient, steps, lr, S):
        weights = w.astype(master)
        for _ in range(steps):
            change = update(scaled_gradient(weights.astype(np.float16)), S, lr)
            weights = (weights.astype(np.float32) - change).astype(master)
        return weights.astype(np.float16)

    return descend


def never_written_back(w, scaled_gradient, steps, lr, S):
    """Asks for the gradient at the first weights in each step."""
    master = w.astype(np.float32)
    for _ in range(steps):
        master = master - lr * (scaled_gradient(w).astype(np.float32) / S)
    return master.astype(np.float16)


def divided_in_half(g, S, lr):
    """Divided in float16."""
    return lr * (g / np.float16(S)).astype(np.float32)


MISTAKES: dict[str, Mistakes] = {
    "round_f16": {
        "cuts off": cut_off,
        "ten bits": ten_bits,
        "no subnormals": no_subnormals,
        "no overflow": no_overflow,
        "eleven bits": eleven_bits,
        "beyond 65504": Said(r"smallest: -?(655\d\d|inf|nan)"),
    },
    "zero_up_to": {"2^-24": 2.0**-24},
    "gap_above": {
        "twice": gap_of(10, -24),
        "no least gap": gap_of(11),
        "grows": lambda x: x * 2.0**-10,
    },
    "below_normal": {"1024": 1024},
    "lost_up_to": {
        "gap above": lambda w: (upward_gap(w), is_even(w)),
        "every tie": lambda w: (downward(w), np.full(w.shape, True)),
    },
    "adam_stands_still_above": {"2048": lambda lr: 2048 * lr, "1024": lambda lr: 1024 * lr},
    "decay_dead_up_to": {
        "2^-11": lambda lr: 2.0**-11 / lr,
        "no lr": lambda lr: 2.0**-12,
        "times lr": lambda lr: 2.0**-12 * lr,
    },
    "after_200": {"float16": Said("float16: 254.2 is")},
    "descend_with_master": {
        "divided in float16": descent(divided_in_half),
        "still with S": descent(lambda g, S, lr: lr * g.astype(np.float32)),
        "no master": descent(lambda g, S, lr: lr * g.astype(np.float32) / S, np.float16),
        "small lr": Said("with S = 4 and"),
        "first weights": never_written_back,
        "float16 quotient": descent(lambda g, S, lr: lr * (g / np.float16(S))),
        "at the master": Said("at weights in float32"),
    },
    "stochastic": {
        "to nearest": Said("went up in 0.0%"),
        "even chances": Said(r" 3% of the way .* went up in (49|50|51)"),
        "own generator": Said("same numbers at each call"),
    },
    "masters_by_need": {
        "reversed": ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
        "float16 early": Said("float16 stands too early"),
    },
}
