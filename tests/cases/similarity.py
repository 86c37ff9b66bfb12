"""How alike vectors are."""

from math import inf

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.case import axis_of, drawn, functional
from minifp.ops.elementwise import sum_to
from minifp.ops.normalization.normalize import p_norm, p_norm_slope


def of_pairs(name, *settings, pair=((3, 4), (3, 4))):
    return functional(name, lambda f, x, y: getattr(f, name)(x, y, *settings), *pair)


CASES = [
    *(of_pairs("cosine_similarity"), of_pairs("pairwise_distance")),
    of_pairs("cosine_similarity", -1, pair=((3, 1, 4), (2, 1))),
    of_pairs("pairwise_distance", 1.0, 0.1, True, pair=((2, 3, 4), (3, 1))),
]


@st.composite
def broadcast_vectors(draw, least=1):
    """Two shapes of at least this many dimensions that broadcast, without 0."""
    found = hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=least, max_dims=3, max_side=4)
    drawn = draw(found)
    return drawn.input_shapes, drawn.result_shape


@drawn("cosine_similarity")
def draw_cosine(draw, name):
    pair, shape = draw(broadcast_vectors())
    dim, eps = draw(axis_of(shape)), draw(st.sampled_from([1e-8, 0.5, 4.0]))
    return of_pairs(name, dim, eps, pair=pair)


@drawn("pairwise_distance")
def draw_distance(draw, name):
    pair, _ = draw(broadcast_vectors())
    p, eps = draw(st.sampled_from([1.0, 2.0, 3.0, inf])), draw(st.sampled_from([1e-6, 0.5]))
    keepdim = draw(st.booleans())
    return of_pairs(name, p, eps, keepdim, pair=pair)


#
# A norm errs, relatively, by half of what its sum of squares does; x / d by that and one rounding.


def units(x1, x2, axis, eps):
    """|x1| / d1, |x2| / d2, d1, and the slope of |x1|, broadcast."""
    x1, x2 = np.broadcast_arrays(x1, x2)
    n1, n2 = (p_norm(x, 2, axis, np.sum) for x in (x1, x2))
    d1, d2 = np.maximum(n1, eps), np.maximum(n2, eps)
    return np.abs(x1) / d1, np.abs(x2) / d2, d1, np.abs(p_norm_slope(x1, n1, 2, axis, np.sum))


@magnitude
def cosine_similarity_forward(x1, x2, *, exact, axis, eps):
    u1, u2, *_ = units(x1, x2, axis, eps)
    return 3 * (u1 * u2).sum(axis)


@magnitude
def cosine_similarity_dx(dy, x1, x2, *, exact, axis, eps):
    u1, u2, d1, slope = units(x1, x2, axis, eps)
    y = (u1 * u2).sum(axis, keepdims=True)
    dx = 3 * np.abs(np.expand_dims(dy, axis)) * (u2 + y * slope) / d1
    return 2 * sum_to(dx, x1.shape, np.sum)


@magnitude
def pairwise_distance_forward(x1, x2, *, exact, p, eps, keepdim):
    return 3 * np.abs(exact[0]) + p_norm(np.abs(x1) + np.abs(x2), p, -1, np.sum).reshape(
        exact[0].shape
    )


@magnitude
def pairwise_distance_dx(dy, x1, x2, *, exact, p, eps, shape):
    v = x1 - x2 + eps
    n = p_norm(v, p, -1, np.sum)
    slope = np.abs(p_norm_slope(v, n, p, -1, np.sum))
    spread = np.zeros(()) if p in (1, inf) else p * (1 + (np.abs(x1 - x2) + np.abs(v)) / n)
    dv = np.abs(dy).reshape(*v.shape[:-1], 1) * (3 * slope + spread)
    return 2 * sum_to(dv, shape, np.sum)
