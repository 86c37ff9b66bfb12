"""Of lessons 4 to 7."""

import math

import numpy as np

from minifp.teach.mistake import Mistake, like, said

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


IN_HALF = (
    "The division by S is done in float16, where it loses what the multiplication has saved. "
    "Convert to float32 first: g.astype(np.float32) / S."
)
WITH_S = "The result still has the factor S: divide by it, in float32."
ENDS_WELL = (
    "Healthy runs look like that, too: ReLU and dropout make zeros, and small numbers alone do no "
    "harm. It takes two signs at once, in one layer."
)

MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "scale_for": (
        like(lambda x: 2.0 ** round(math.log2(MAX / x)), "The exponent is rounded to the "
             "nearest, which may be above the limit: round down."),
        like(lambda x: power_at(65536 / x), "65536 is the first number that does not fit. The "
             "largest that does is 65504."),
    ),
    "smallest_harmless": (
        like(lambda g, t: first_power(is_near)(g, t, np.float16), IN_HALF),
        like(first_power(each_is_near), "This asks every single gradient to be right. Compare "
             "two lengths: that of the error of the whole array, and that of the array."),
        like(first_power(few_are_lost), "This counts numbers that become zero. Many small ones "
             "may be lost without harm: compare the length of the error with that of the array."),
        like(lambda g, t: power_at(MAX / np.abs(g).max()), "That is the largest S, and the "
             "smallest is asked for: try 1, 2, 4, ... and stop at the first."),
    ),
    "multiplied": (
        said("computed before the loss", "S is a factor of the loss, and what is computed before "
             "the loss does not have it. Which kinds does backward compute?"),
        said("S moves .* too", "Backward computes gradients of two kinds, one from the other: "
             "a factor of the first is one of the second."),
    ),
    "shares": (
        like(counted(lambda g, h: h == 0, subnormal), "Numbers that are already zero in float32 "
             "are counted again among those that become zero."),
        like(counted(lambda g, h: (g != 0) & (np.abs(g) < 2.0**-24), subnormal), "The limit is "
             "not 2^-24: a number above the middle between 0 and 2^-24 goes up."),
        like(counted(lambda g, h: (g != 0) & (h == 0), lambda g, h: (h != 0) & (h < 2.0**-14)),
             "Gradients have signs: all negative ones are below 2^-14. Take magnitudes."),
    ),
    "gradients_of": (
        like(backward(lambda g, S: (g / np.float16(min(S, MAX))).astype(np.float32)), IN_HALF),
        like(backward(lambda g, S: g.astype(np.float32)), WITH_S),
        like(backward(lambda g, S: g.astype(np.float32) / np.float32(S), False), "Gradients with "
             "Inf or NaN are returned. Check all stored ones first, and return None."),
        said("S is not in backward", "The gradients come from the loss alone. Multiply the loss by "
             "S before .backward()."),
    ),
    "ceiling_of": (
        like(largest_by(np.max), "Signs are forgotten: -65504 is at the edge, too. Take "
             "np.abs(g).max()."),
        like(largest_by(np.linalg.norm), "The length of an array says nothing about overflow: "
             "each number is stored by itself. Take the largest magnitude."),
        like(largest_by(lambda g: np.abs(g).max(), round), "The logarithm is rounded to the "
             "nearest, which may overflow: round down."),
    ),
    "clipped": (
        like(lambda found, S, most: single(shortened(single(found, 1), most), S), "This clips "
             "first and unscales afterwards. max_norm is meant for gradients without S: unscale, "
             "then clip."),
        like(lambda found, S, most: [shortened([g], most)[0] for g in single(found, S)], "This "
             "clips each gradient by itself. The length is one number for all of them together."),
        like(lambda found, S, most: [
            g * np.float32(most / length_of(single(found, S))) for g in single(found, S)
        ], "This makes short gradients longer. The factor is at most 1."),
        said("gradients are float16", IN_HALF),
    ),
    "smallest_scale": (
        said("you trained", "That is more runs than needed: each answer should rule out half of "
             "what is left. Ask in the middle, never twice, and not at `high`."),
        said("expected a whole number", "Powers k are whole numbers: the middle is "
             "(low + high) // 2."),
    ),
    "warns": (
        said("it ends well, and you warn", ENDS_WELL),
    ),
    "fate": (
        like(fated(np.isfinite, lambda losses, refs: max(refs), max), "A run above float32 that "
             "still falls is worse, not dead. A dead run has risen above its *own* lowest loss."),
        like(fated(np.ones_like, lowest, max), "NaN is neither above nor below anything, so "
             "every comparison with it is False. Ask np.isfinite first."),
        like(fated(np.isfinite, lowest, np.mean), "Some of float32's own runs are above their "
             "mean: the limit is the highest of them."),
        like(fated(np.isfinite, lowest, min), "Some of float32's own runs are above the lowest: "
             "the limit is the highest of them."),
    ),
    "next_scale": (
        like(scaled_by(lambda S, good, least: (max(S / 2, least), good), doubled), "An overflow "
             "must set the count back to 0: good steps are counted in a row."),
        like(scaled_by(halved, lambda S, good, most: (min(S * 2, most), good)), "Growth must set "
             "the count back to 0, or S doubles at every step from then on."),
        like(scaled_by(lambda S, good, least: (S / 2, 0), doubled), "S may not fall below "
             "`least`."),
        like(scaled_by(halved, lambda S, good, most: (S * 2, 0)), "S may not grow above `most`."),
    ),
    "careful_step": (
        like(stepped(lambda g, S: (g / np.float16(S)).astype(np.float32)), IN_HALF),
        like(stepped(lambda g, S: g.astype(np.float32)), WITH_S),
        said("whose sum is not finite", "All these gradients are finite; only their sum is not. "
             "Check every number: np.isfinite(g).all()."),
        said("one nan among", "NaN is not Inf. np.isfinite is False for both."),
        said("one -?inf among .* should be skipped, and v", "The momentum took the Inf before the "
             "step was skipped. Check g before you compute anything."),
        said("one -?inf among .* should be skipped", "Inf went into the weights. Check g first, "
             "and return w and v as they are."),
    ),
    "log_normal_scale": (
        like(below(0), "Half of all steps are above the mean. How many standard deviations above "
             "it must x be to get there with a probability of only 0.001?"),
        like(lambda x: 2.0 ** math.floor(math.log2(MAX) - np.max(x)), "A later x will exceed the "
             "largest one so far. Use the normal distribution: mean and standard deviation."),
        said("is no power of two", "Round the logarithm down to a whole number before it becomes "
             "S."),
    ),
    "steps_to_find": (
        said("which doubles after", "It doubles several times on the way to 2^20, and each "
             "doubling takes a whole interval of good steps."),
        said("which overflows at first", "It begins above 2^20 and halves with every step that "
             "overflows: 2^24 to 2^21 are four of them."),
    ),
}  # fmt: skip
