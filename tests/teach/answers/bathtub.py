"""Of lesson 5."""

import math

import numpy as np
from teach.answers import Answers


def stored(loss, parameters, S):
    """Gradients times S, as they are stored."""
    (loss * S).backward()
    return [p.grad.numpy() for p in parameters]


def gradients_of(loss, parameters, S):
    found = stored(loss, parameters, S)
    if not all(np.isfinite(g).all() for g in found):
        return None
    return [g.astype(np.float32) / S for g in found]


def by_seed(loss, parameters, S):
    """S as the first gradient, and one factor of float32."""
    loss.backward(seed=S)
    found = [p.grad.numpy().astype(np.float32) * np.float32(1 / S) for p in parameters]
    return found if all(np.isfinite(g).all() for g in found) else None


def never_skips(loss, parameters, S):
    """Inf and all."""
    return [g.astype(np.float32) / np.float32(S) for g in stored(loss, parameters, S)]


def stays_scaled(loss, parameters, S):
    """Forgets to divide."""
    found = [g.astype(np.float32) for g in stored(loss, parameters, S)]
    return found if all(np.isfinite(g).all() for g in found) else None


def in_float16(loss, parameters, S):
    """Divides in float16, and converts what is left of it."""
    found = stored(loss, parameters, S)
    if not all(np.isfinite(g).all() for g in found):
        return None
    return [(g / np.float16(min(S, 65504))).astype(np.float32) for g in found]


def multiplies_afterwards(loss, parameters, S):
    """S after backward: what was lost is lost."""
    found = [g.astype(np.float32) * S / S for g in stored(loss, parameters, 1.0)]
    return found if all(np.isfinite(g).all() for g in found) else None


def ceiling_of(gradients):
    """By magnitude."""
    first = max(gradients, key=lambda name: np.abs(gradients[name]).max())
    return first, math.frexp(65504 / float(np.abs(gradients[first]).max()))[1] - 1


def activations_alone(gradients):
    """As if sums were no larger than what they add up."""
    return ceiling_of({name: g for name, g in gradients.items() if "weight" not in name})


def without_signs(gradients):
    """The largest, not the largest magnitude."""
    first = max(gradients, key=lambda name: gradients[name].max())
    return first, math.frexp(65504 / abs(float(gradients[first].max())))[1] - 1


def nearest(gradients):
    """Rounds the logarithm to the nearest."""
    first, _ = ceiling_of(gradients)
    return first, round(math.log2(65504 / float(np.abs(gradients[first]).max())))


def by_length(gradients):
    """The longest one, which is not the one with the largest number."""
    first = max(gradients, key=lambda name: np.linalg.norm(gradients[name]))
    return first, math.frexp(65504 / float(np.abs(gradients[first]).max()))[1] - 1


def unscaled(found, S):
    """In float32."""
    return [g.astype(np.float32) / np.float32(S) for g in found]


def together(gradients):
    """The length of all."""
    return np.sqrt(sum(np.sum(g * g) for g in gradients))


def clipped(found, S, max_norm):
    """Unscaled, then clipped."""
    gradients = unscaled(found, S)
    factor = min(1.0, max_norm / together(gradients))
    return [g * np.float32(factor) for g in gradients]


def by_a_scaled_norm(found, S, max_norm):
    """The other right order: the threshold is multiplied, too."""
    gradients = [g.astype(np.float32) for g in found]
    factor = min(1.0, max_norm * S / together(gradients)) / S
    return [g * np.float32(factor) for g in gradients]


def clips_first(found, S, max_norm):
    """The mistake of which the lesson speaks."""
    gradients = [g.astype(np.float32) for g in found]
    factor = min(1.0, max_norm / together(gradients))
    return [g * np.float32(factor / S) for g in gradients]


def each_alone(found, S, max_norm):
    """As if each had a length of its own to keep."""
    return [clipped([g], S, max_norm)[0] for g in found]


def always(found, S, max_norm):
    """Makes short ones longer."""
    gradients = unscaled(found, S)
    return [g * np.float32(max_norm / together(gradients)) for g in gradients]


def cuts_numbers(found, S, max_norm):
    """Number by number, with the length that it should have."""
    gradients = unscaled(found, S)
    length = together(gradients)
    if length <= max_norm:
        return gradients
    cut = [np.clip(g, -length / 30, length / 30) for g in gradients]
    return [g * np.float32(max_norm / together(cut)) for g in cut]


ANSWERS = {
    "gradients_of": Answers(
        (gradients_of, by_seed),
        (never_skips, "expected None"),
        (stays_scaled, "which should be"),
        (in_float16, "numbers of gradient"),
        (multiplies_afterwards, "S is not in backward"),
        (lambda loss, parameters, S: stored(loss, parameters, S), "should be float32"),
    ),
    "ceiling_of": Answers(
        (ceiling_of,),
        (activations_alone, "is first"),
        (without_signs, "is first"),
        (nearest, "the last S is"),
        (by_length, "is first"),
        (lambda gradients: ceiling_of(gradients)[1], "expected a name and a power"),
    ),
    "clipped": Answers(
        (clipped, by_a_scaled_norm),
        (clips_first, "the length of all together"),
        (each_alone, "the length of all together"),
        (always, "the length of all together"),
        (cuts_numbers, "the direction has changed"),
        (lambda found, S, max_norm: [g / np.float16(S) for g in found], "should be float32"),
    ),
}
