"""Losses."""

import numpy as np
from bounds import below_largest, magnitude

import minifp.nn.functional as F
from cases.case import Case, functional

TARGETS = np.array([0, 2, 1, -100, 2, 0, 1])


def entropy(shape, **settings):
    n = int(np.prod(shape)) // shape[1]
    target = np.resize(TARGETS, n).reshape(shape[:1] + shape[2:])
    if "ignore_index" in settings:
        target = np.where(target < 0, 0, target)
    return Case(
        "cross_entropy",
        lambda z: F.cross_entropy(z, target, **settings),
        (shape,),
        *(-8.0, 8.0),
        lambda t, z: t.nn.functional.cross_entropy(z, t.tensor(target), **settings),
    )


CASES = [
    *(entropy((7, 3)), entropy((7, 3), reduction="sum"), entropy((7, 3), reduction="none")),
    *(entropy((2, 3, 4)), entropy((2, 3, 2, 3), reduction="none"), entropy((7, 3), ignore_index=1)),
    *(
        functional("mse_loss", lambda f, x, y, r=r: f.mse_loss(x, y, reduction=r), (3, 4), (3, 4))
        for r in ("mean", "sum", "none")
    ),
]


# ---- how far rounding may carry the results -----------------------------------------------------


@magnitude
def cross_entropy_forward(z, t, kept, *, exact):
    return np.abs(exact[0]) + 2 * below_largest(z, 1).max(1, initial=0) + 1


@magnitude
def cross_entropy_total(z, t, kept, *, exact, divisor):
    each = (
        3 * below_largest(z, 1).max(1, initial=0) + np.log(z.shape[1]) + 1
    )  # bounds l_n, and its error
    return np.sum(np.where(kept, each, 0)) / divisor


@magnitude
def cross_entropy_dz(dl, z, t, kept, *, exact, divisor):
    e = np.exp(z - z.max(1, keepdims=True, initial=-np.inf))
    p = e / e.sum(1, keepdims=True)
    p = p * (1 + 2 * below_largest(z, 1).max(1, keepdims=True, initial=0))
    p[np.arange(len(t)), t] += 1
    return p * np.abs(np.where(kept, dl, 0) / divisor)[:, None]
