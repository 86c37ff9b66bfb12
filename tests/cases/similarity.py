"""How alike vectors are."""

from math import inf

import numpy as np
from bounds import magnitude
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.case import axis_of, drawn, functional
from cases.losses import REDUCTION, with_constants
from minifp.ops.elementwise import sum_to
from minifp.ops.normalization.normalize import p_norm, p_norm_slope

T = np.array([1.0, -1, -1, 1, -1], "float32")


def embedding_loss(shape, **settings):
    t = np.resize(T, shape[:-1])
    return with_constants(
        "cosine_embedding_loss",
        lambda f, c, x, y: f.cosine_embedding_loss(x, y, c(t), **settings),
        *(shape, shape),
    )


CASES = [
    functional("cosine_similarity", lambda f, x, y: f.cosine_similarity(x, y), (3, 4), (3, 4)),
    functional(
        "cosine_similarity", lambda f, x, y: f.cosine_similarity(x, y, -1), (3, 1, 4), (2, 1)
    ),
    functional("pairwise_distance", lambda f, x, y: f.pairwise_distance(x, y), (3, 4), (3, 4)),
    functional(
        "pairwise_distance",
        lambda f, x, y: f.pairwise_distance(x, y, 1.0, 0.1, True),
        *((2, 3, 4), (3, 1)),
    ),
    *(embedding_loss((5, 3), margin=0.25, reduction=r) for r in ("mean", "sum", "none")),
    embedding_loss((3,)),
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
    return functional(name, lambda f, x, y: f.cosine_similarity(x, y, dim, eps), *pair)


@drawn("pairwise_distance")
def draw_distance(draw, name):
    pair, _ = draw(broadcast_vectors())
    p, eps = draw(st.sampled_from([1.0, 2.0, 3.0, inf])), draw(st.sampled_from([1e-6, 0.5]))
    keepdim = draw(st.booleans())
    return functional(name, lambda f, x, y: f.pairwise_distance(x, y, p, eps, keepdim), *pair)


@drawn("cosine_embedding_loss")
def draw_embedding_loss(draw, name):
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=2)))
    margin = draw(st.sampled_from([-0.5, 0.0, 0.25]))
    return embedding_loss(shape, margin=margin, reduction=draw(REDUCTION))


# ---- how far rounding may carry the results -----------------------------------------------------
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


def embedding_units(x):
    d = np.sqrt((x * x).sum(-1, keepdims=True) + 1e-12)
    return np.abs(x) / d, d


def embedding_losses(x1, x2, t, margin):
    y = 3 * (embedding_units(x1)[0] * embedding_units(x2)[0]).sum(-1)
    return y + np.where(t == 1, 1, abs(margin))


@magnitude
def cosine_embedding_loss_each(x1, x2, t, *, exact, margin):
    return embedding_losses(x1, x2, t, margin)


@magnitude
def cosine_embedding_loss_total(x1, x2, t, *, exact, margin, divisor):
    return 2 * embedding_losses(x1, x2, t, margin).sum() / divisor


@magnitude
def cosine_embedding_loss_dx(dl, x1, x2, t, *, exact, margin, divisor):
    (u1, d1), (u2, _) = embedding_units(x1), embedding_units(x2)
    y = (u1 * u2).sum(-1, keepdims=True)
    dl = np.broadcast_to(np.abs(dl) / divisor, y.shape[:-1])
    return 3 * dl[..., None] * (u2 + y * u1) / d1
