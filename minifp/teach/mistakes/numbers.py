"""Of lessons 1 to 3."""

import numpy as np

from minifp.teach.mistake import Mistake, like, said


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
        kept = w.astype(master)
        for _ in range(steps):
            change = update(scaled_gradient(kept.astype(np.float16)), S, lr)
            kept = (kept.astype(np.float32) - change).astype(master)
        return kept.astype(np.float16)

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


MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "round_f16": (
        like(cut_off, "It cuts off instead of rounding: the bits that do not fit decide where a "
             "number goes. np.trunc and int() cut off, np.rint rounds."),
        like(ten_bits, "It rounds to ten bits where float16 has eleven: np.frexp's exponent is one "
             "above the e of 2^e <= x < 2^(e+1)."),
        like(no_subnormals, "Right from 2^-14 on. Below that the exponent gets no smaller: the "
             "[gap](glossary.md#gap) stays 2^-24."),
        like(no_overflow, "Right up to 65504. What would be rounded to 65536 does not fit, and "
             "becomes Inf with the sign of the number."),
        like(eleven_bits, "It rounds to eleven bits, whatever the exponent. But float16 has few "
             "exponents: below 2^-14 numbers stay 2^-24 apart, and beyond 65504 there is Inf."),
        said(r"smallest: -?(655\d\d|inf|nan)", "All smaller numbers are right. What should come "
             "out between 65504 and 65520, from there on, and for Inf and NaN themselves?"),
    ),
    "zero_up_to": (
        like(2.0**-24, "That is the smallest number above zero, so it is stored as itself. Which "
             "numbers are nearer to zero than to it?"),
    ),
    "gap_above": (
        like(gap_of(10, -24), "Twice too large: np.frexp has fractions from 1/2 to 1, so its "
             "exponent is one above the e of 2^e <= x < 2^(e+1)."),
        like(gap_of(11), "Right for normal numbers. Below 2^-14, and at zero, the gap stays "
             "2^-24."),
        like(lambda x: x * 2.0**-10, "This grows with each number. But from 2^e to 2^(e+1) all "
             "[gaps](glossary.md#gap) are alike."),
    ),
    "below_normal": (
        like(1024, "Ten bits have 1,024 patterns, but one of them is the number zero, which is not "
             "positive."),
    ),
    "lost_up_to": (
        like(lambda w: (upward_gap(w), is_even(w)), "At a power of two this is half the gap above. "
             "But a weight that gets smaller meets the gap below, which is half as wide there."),
        like(lambda w: (downward(w), np.full(w.shape, True)), "Not every "
             "[tie](glossary.md#rounding) is lost: it goes to the neighbour whose last bit is 0, "
             "which may be the one below."),
    ),
    "adam_stands_still_above": (
        like(lambda lr: 2048 * lr, "Half the gap *above* w is at most 2^-11 of it. But below a "
             "power of two the gap is half as wide."),
        like(lambda lr: 1024 * lr, "That compares the update with the whole gap. It is lost below "
             "half a gap."),
    ),
    "decay_dead_up_to": (
        like(lambda lr: 2.0**-11 / lr, "Twice too large: below a power of two the gap is only "
             "2^-11 of it, and half of that is the limit."),
        like(lambda lr: 2.0**-12, "The update is lr times decay times w. Where is lr in your "
             "answer?"),
        like(lambda lr: 2.0**-12 * lr, "With a smaller lr the decay may be larger, not smaller: "
             "what counts is lr times decay."),
    ),
    "after_200": (
        said("float16: 254.2 is", "In float16 each subtraction is rounded before the next. How far "
             "is 256 - 0.009 from 256, in gaps of float16?"),
    ),
    "descend_with_master": (
        like(descent(divided_in_half), "The gradient is divided by S in float16, where it becomes "
             "0. Convert it to float32 first, then divide."),
        like(descent(lambda g, S, lr: lr * g.astype(np.float32)), "The gradient still has the "
             "factor S when it changes the master."),
        like(descent(lambda g, S, lr: lr * g.astype(np.float32) / S, np.float16), "No master is "
             "kept: each step begins with the rounded weights. Make the float32 copy once, before "
             "the loop."),
        said("with S = 4 and", "Here lr times the gradient is too small for float16. Convert the "
             "gradient to float32 before you multiply it by lr, and not only before it is "
             "subtracted."),
        like(never_written_back, "Each step asks for the gradient at the first weights. Round the "
             "master to float16 in every step, and ask there."),
        like(descent(lambda g, S, lr: lr * (g / np.float16(S))), "A float16 array divided by S "
             "stays float16, where what S had saved is lost again. Convert it to float32 first."),
        said("at weights in float32", "You ask for the gradient at the master. In mixed precision "
             "the network sees the rounded weights: pass those."),
    ),
    "stochastic": (
        said("went up in 0.0%", "It rounds to nearest, so nothing is left to chance. Draw for each "
             "number whether it goes up."),
        said(r" 3% of the way .* went up in (49|50|51)", "Both neighbours are equally likely here. "
             "The nearer one must come more often: as often as x is near to it."),
        said("same numbers at each call", "A generator made inside the function starts over at "
             "each call. Use the one that is passed."),
    ),
    "masters_by_need": (
        like(("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"), "The order is "
             "reversed: the format that loses the *largest* updates comes first."),
        said("float16 stands too early", "Range does not "
             "matter here, only how many bits the mantissa has."),
    ),
}  # fmt: skip
