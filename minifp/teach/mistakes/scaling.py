"""Of lessons 4 to 7."""

import math

import numpy as np

from minifp.teach.mistake import Mistakes, Said

MAX = 65504.0


def power_at(x):
    """The largest power of two that is not above x."""
    return 2.0 ** (math.frexp(x)[1] - 1)


def first_power(is_enough):
    """The first S for which is_enough(g, what is left of it, tolerance)."""

    def search(g, tolerance, format=np.float64):
        g = g.astype(np.float64)
        for S in (2.0**k for k in range(41)):
            left = (g * S).astype(np.float16).astype(format) / format(S)
            if is_enough(g, left.astype(np.float64), tolerance):
                return S
        return None

    return search


def is_near(g, left, tolerance):
    """By the length of the error."""
    return np.linalg.norm(left - g) <= tolerance * np.linalg.norm(g)


def each_is_near(g, left, tolerance):
    """Number by number."""
    return np.all(np.abs(left - g) <= tolerance * np.abs(g))


def few_are_lost(g, left, tolerance):
    """By the share of numbers that become zero."""
    return np.mean((g != 0) & (left == 0)) <= tolerance


def counted(lost, is_subnormal):
    """Shares by functions of gradients and of what is stored."""

    def shares(g):
        h = g.astype(np.float16)
        return np.mean(g == 0), np.mean(lost(g, h)), np.mean(is_subnormal(g, h))

    return shares


def subnormal(g, h):
    """Which stored numbers are."""
    return (h != 0) & (np.abs(h) < 2.0**-14)


def backward(unscale, is_seen=True):
    """Gradients of S times the loss; whether Inf is seen."""

    def gradients(loss, parameters, S):
        (loss * S).backward()
        stored = [p.grad.numpy() for p in parameters]
        if is_seen and not all(np.isfinite(g).all() for g in stored):
            return None
        return [unscale(g, S) for g in stored]

    return gradients


def largest_by(size, whole=math.floor):
    """The first to overflow, and the last power."""

    def ceiling(gradients):
        name = max(gradients, key=lambda name: size(gradients[name]))
        return name, whole(math.log2(MAX / float(np.abs(gradients[name]).max())))

    return ceiling


def length_of(gradients):
    """Of all gradients together."""
    return math.sqrt(sum(float(np.sum(np.square(g, dtype=np.float64))) for g in gradients))


def shortened(gradients, most):
    """To a length of at most this."""
    return [g * np.float32(min(1.0, most / length_of(gradients))) for g in gradients]


def single(gradients, S):
    """Unscaled in float32."""
    return [g.astype(np.float32) / np.float32(S) for g in gradients]


def fated(finite, start, limit):
    """By what is finite, the loss from which it has risen, and float32's limit."""

    def fate(losses, references):
        if not np.all(finite(losses)) or losses[-1] > start(losses, references) + 0.1:
            return "dies"
        return "worse" if losses[-1] > limit(references) else "matches"

    return fate


def lowest(losses, references):
    """The lowest loss of the run."""
    return min(losses)


def scaled_by(overflow, growth):
    """(S, good) after an overflow; after a good step that is the interval-th."""

    def rule(S, good, finite, interval, least, most):
        if not finite:
            return overflow(S, good, least)
        return growth(S, good + 1, most) if good + 1 >= interval else (S, good + 1)

    return rule


def halved(S, good, least):
    """What should happen after an overflow."""
    return max(S / 2, least), 0


def doubled(S, good, most):
    """What should happen at the end of an interval."""
    return min(S * 2, most), 0


def stepped(unscale):
    """A step that is skipped where it must be."""

    def step(w, v, g, S, lr):
        if not np.isfinite(g).all():
            return w, v
        v = np.float32(0.9) * v + unscale(g, S)
        return w - np.float32(lr) * v, v

    return step


def below(deviations):
    """The power of two that is so many standard deviations below overflow."""
    return lambda x: 2.0 ** math.floor(math.log2(MAX) - np.mean(x) - deviations * np.std(x))


MISTAKES: dict[str, Mistakes] = {
    "scale_for": {
        "rounded to nearest": lambda x: 2.0 ** round(math.log2(MAX / x)),
        "65536": lambda x: power_at(65536 / x),
    },
    "smallest_harmless": {
        "divided in float16": lambda g, t: first_power(is_near)(g, t, np.float16),
        "each number": first_power(each_is_near),
        "zeros counted": first_power(few_are_lost),
        "the largest": lambda g, t: power_at(MAX / np.abs(g).max()),
    },
    "multiplied": {
        "forward pass": Said("computed before the loss"),
        "one of two": Said("S moves .* too"),
    },
    "shares": {
        "zeros twice": counted(lambda g, h: h == 0, subnormal),
        "2^-24": counted(lambda g, h: (g != 0) & (np.abs(g) < 2.0**-24), subnormal),
        "signs": counted(lambda g, h: (g != 0) & (h == 0), lambda g, h: (h != 0) & (h < 2.0**-14)),
    },
    "gradients_of": {
        "divided in float16": backward(
            lambda g, S: (g / np.float16(min(S, MAX))).astype(np.float32)
        ),
        "still with S": backward(lambda g, S: g.astype(np.float32)),
        "Inf returned": backward(lambda g, S: g.astype(np.float32) / np.float32(S), False),
        "no S": Said("S is not in backward"),
    },
    "ceiling_of": {
        "signs": largest_by(np.max),
        "length": largest_by(np.linalg.norm),
        "rounded to nearest": largest_by(lambda g: np.abs(g).max(), round),
    },
    "clipped": {
        "clips first": lambda stored, S, most: single(shortened(single(stored, 1), most), S),
        "each by itself": lambda stored, S, most: [
            shortened([g], most)[0] for g in single(stored, S)
        ],
        "longer": lambda stored, S, most: [
            g * np.float32(most / length_of(single(stored, S))) for g in single(stored, S)
        ],
        "float16": Said("gradients are float16"),
    },
    "smallest_scale": {
        "too many runs": Said("you trained"),
        "no whole number": Said("expected a whole number"),
    },
    "warns": {"healthy runs": Said("it ends well, and you warn")},
    "fate": {
        "above float32": fated(np.isfinite, lambda losses, refs: max(refs), max),
        "NaN": fated(np.ones_like, lowest, max),
        "mean": fated(np.isfinite, lowest, np.mean),
        "lowest": fated(np.isfinite, lowest, min),
    },
    "next_scale": {
        "count after an overflow": scaled_by(
            lambda S, good, least: (max(S / 2, least), good), doubled
        ),
        "count after growth": scaled_by(halved, lambda S, good, most: (min(S * 2, most), good)),
        "below least": scaled_by(lambda S, good, least: (S / 2, 0), doubled),
        "above most": scaled_by(halved, lambda S, good, most: (S * 2, 0)),
    },
    "careful_step": {
        "divided in float16": stepped(lambda g, S: (g / np.float16(S)).astype(np.float32)),
        "still with S": stepped(lambda g, S: g.astype(np.float32)),
        "sum not finite": Said("whose sum is not finite"),
        "NaN": Said("one nan among"),
        "Inf in v": Said("one -?inf among .* should be skipped, and v"),
        "Inf in w": Said("one -?inf among .* should be skipped"),
    },
    "log_normal_scale": {
        "mean": below(0),
        "largest": lambda x: 2.0 ** math.floor(math.log2(MAX) - np.max(x)),
        "no power of two": Said("is no power of two"),
    },
    "steps_to_find": {
        "doubles": Said("which doubles after"),
        "halves": Said("which overflows at first"),
    },
}
