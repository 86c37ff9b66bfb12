"""Of lesson 5."""

import math

import numpy as np
from teach.answers import Answers


def stored(loss, parameters, S):
    """Gradients times S, as they are stored."""
    (loss * S).backward()
    return [p.grad.numpy() for p in parameters]


def finite(gradients):
    return gradients if all(np.isfinite(g).all() for g in gradients) else None


def unscaled(gradients, S):
    return [g.astype(np.float32) / np.float32(S) for g in gradients]


def gradients_of(loss, parameters, S):
    return finite(unscaled(stored(loss, parameters, S), S))


def by_seed(loss, parameters, S):
    """S as the first gradient, and one factor of float32."""
    loss.backward(seed=S)
    return finite([p.grad.numpy().astype(np.float32) * np.float32(1 / S) for p in parameters])


def magnitude(g):
    return float(np.abs(g).max())


def ceiling_of(gradients, size=magnitude):
    first = max(gradients, key=lambda name: size(gradients[name]))
    return first, math.frexp(65504 / magnitude(gradients[first]))[1] - 1


def activations_alone(gradients):
    """As if sums were no larger than what they add up."""
    return ceiling_of({name: g for name, g in gradients.items() if "weight" not in name})


def together(gradients):
    return np.sqrt(sum(np.sum(g * g) for g in gradients))


def times(gradients, factor):
    return [g * np.float32(factor) for g in gradients]


def clipped(found, S, max_norm):
    gradients = unscaled(found, S)
    return times(gradients, min(1.0, max_norm / together(gradients)))


def by_a_scaled_norm(found, S, max_norm):
    """The other right order: the threshold is multiplied, too."""
    gradients = unscaled(found, 1)
    return times(gradients, min(1.0, max_norm * S / together(gradients)) / S)


def cuts_numbers(found, S, max_norm):
    """Number by number, with the length that it should have."""
    gradients = unscaled(found, S)
    length = together(gradients)
    if length <= max_norm:
        return gradients
    cut = [np.clip(g, -length / 30, length / 30) for g in gradients]
    return times(cut, max_norm / together(cut))


ANSWERS = {
    "gradients_of": Answers(
        (gradients_of, by_seed),
        (lambda loss, ps, S: finite(unscaled(stored(loss, ps, 1.0), 1)), "S is not in backward"),
        (lambda loss, ps, S: stored(loss, ps, S), "should be float32"),
        known={0: "numbers of gradient", 1: "which should be", 2: "expected None"},
    ),
    "ceiling_of": Answers(
        (ceiling_of,),
        (activations_alone, "is first"),
        (lambda gradients: ceiling_of(gradients)[1], "expected a name and a power"),
        known={0: "is first", 1: "is first", 2: "the last S is"},
    ),
    "clipped": Answers(
        (clipped, by_a_scaled_norm),
        (cuts_numbers, "the direction has changed"),
        (lambda found, S, max_norm: [g / np.float16(S) for g in found], "should be float32"),
        known=dict.fromkeys(range(3), "the length of all together"),
    ),
}
