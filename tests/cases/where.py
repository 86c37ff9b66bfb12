"""Choosing: where, masks, and lerp, which is between."""

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st

import minifp as fp
from cases.case import Case, alike, broadcast_shapes, drawn

MASK = np.array([True, False, True])


def choosing(name, fn, mask, *shapes):
    return Case(
        *(name, lambda *a: fn(fp, fp.tensor(mask), *a), shapes),
        torch=lambda t, *a: fn(t, t.tensor(mask), *a),
    )


CASES = [
    choosing("masked_select", lambda m, c, x: m.masked_select(x, c), MASK, (2, 3)),
    choosing("where", lambda m, c, x, y: m.where(c, x, y), MASK, (2, 3), (3,)),
    choosing("where number", lambda m, c, x: m.where(c, x, 0.1), MASK, (2, 3)),
    choosing("masked_fill", lambda m, c, x: x.masked_fill(c, -0.3), MASK, (2, 3)),
    choosing("masked_fill wider", lambda m, c, x, v: m.masked_fill(x, c, v.sum()), MASK, (1,), ()),
    alike("lerp", lambda m, x, y, w: m.lerp(x, y, w), (2, 3), (3,), (2, 1)),
    alike("lerp number", lambda m, x, y: m.lerp(x, y, 0.3), (2, 3), (2, 3)),
]


def masks(draw, shape):
    return np.random.default_rng(draw(st.integers(0, 99))).random(shape) < 0.5


@drawn("where")
def draw_where(draw, name):
    one, two, three = draw(broadcast_shapes(3))
    mask, number = masks(draw, one), draw(st.sampled_from([None, 2, -0.1]))
    if number is None:
        return choosing(name, lambda m, c, x, y: m.where(c, x, y), mask, two, three)
    if draw(st.booleans()):
        return choosing(name, lambda m, c, x: m.where(c, number, x), mask, two)
    return choosing(name, lambda m, c, x: m.where(c, x, number), mask, two)


@drawn("masked_fill")
def draw_masked_fill(draw, name):
    one, two = draw(broadcast_shapes(2))
    mask, value = masks(draw, one), draw(st.sampled_from([None, 2, -0.1, float("-inf")]))
    if value is None:
        return choosing(name, lambda m, c, x, v: m.masked_fill(x, c, v.sum()), mask, two, ())
    return choosing(name, lambda m, c, x: m.masked_fill(x, c, value), mask, two)


@drawn("masked_select")
def draw_masked_select(draw, name):
    one, two = draw(broadcast_shapes(2))
    return choosing(name, lambda m, c, x: m.masked_select(x, c), masks(draw, one), two)


@drawn("lerp")
def draw_lerp(draw, name):
    one, two, three = draw(broadcast_shapes(3))
    weight = draw(st.sampled_from([None, 0, 0.25, 0.5, 0.9, 1.5]))
    if weight is None:
        return alike(name, lambda m, x, y, w: m.lerp(x, y, w), one, two, three)
    return alike(name, lambda m, x, y: m.lerp(x, y, weight), one, two)


@magnitude
def lerp_forward(x, y, w, *, exact):
    """w (y - x) is rounded before it is added."""
    return np.abs(exact[0]) + np.minimum(np.abs(w), np.abs(1 - w)) * np.abs(y - x)
