"""The loss of pairs that should be alike, or not."""

import numpy as np
from bounds import magnitude, magnitude_of_losses
from hypothesis import strategies as st

from cases.case import drawn
from cases.losses import REDUCTION, with_constants

T = np.array([1.0, -1, -1, 1, -1], "float32")


def embedding_loss(shape, **settings):
    t = np.resize(T, shape[:-1])
    return with_constants(
        "cosine_embedding_loss",
        lambda f, c, x, y: f.cosine_embedding_loss(x, y, c(t), **settings),
        *(shape, shape),
    )


CASES = [
    *(embedding_loss((5, 3), margin=0.25, reduction=r) for r in ("mean", "sum", "none")),
    embedding_loss((3,)),
]


@drawn("cosine_embedding_loss")
def draw_embedding_loss(draw, name):
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=2)))
    margin = draw(st.sampled_from([-0.5, 0.0, 0.25]))
    return embedding_loss(shape, margin=margin, reduction=draw(REDUCTION))


def embedding_units(x):
    d = np.sqrt((x * x).sum(-1, keepdims=True) + 1e-12)
    return np.abs(x) / d, d


def embedding_losses(x1, x2, t, *, margin):
    y = 3 * (embedding_units(x1)[0] * embedding_units(x2)[0]).sum(-1)
    return y + np.where(t == 1, 1, abs(margin))


magnitude_of_losses("cosine_embedding_loss", embedding_losses)


@magnitude
def cosine_embedding_loss_dx(dl, x1, x2, t, *, exact, margin, divisor):
    (u1, d1), (u2, _) = embedding_units(x1), embedding_units(x2)
    y = (u1 * u2).sum(-1, keepdims=True)
    dl = np.broadcast_to(np.abs(dl) / divisor, y.shape[:-1])
    return 3 * dl[..., None] * (u2 + y * u1) / d1
