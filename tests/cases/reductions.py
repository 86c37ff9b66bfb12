"""Sums, means, extremes, over any axes."""

from math import prod

import numpy as np
from bounds import magnitude

from cases.case import alike


def reduction(name):
    settings = [{}, {"dim": 0}, {"dim": -1}, {"dim": (0, 2)}, {"dim": 1, "keepdim": True}]
    cases = [alike(name, lambda m, x, s=s: getattr(m, name)(x, **s), (4, 3, 5)) for s in settings]
    return [*cases, alike(name, lambda m, x: getattr(m, name)(x), ())][: 5 if name == "var" else 6]


CASES = [c for n in ("sum", "mean", "var", "amax", "amin") for c in reduction(n)] + [
    alike("var biased", lambda m, x: m.var(x, dim=(0, 1), correction=0), (4, 3, 5)),
    alike("sum nothing", lambda m, x: m.sum(x, 0), (0, 3)),
]


# ---- how far rounding may carry the results -----------------------------------------------------


@magnitude
def var_forward(x, *, exact, axes, keepdims, correction):
    n = prod(x.shape[i] for i in axes)
    c = np.abs(x - x.mean(axes, keepdims=True))
    mean = np.abs(x).mean(axes, keepdims=True)
    return np.sum(c * c + 2 * c * mean, axes, keepdims=keepdims) / max(n - correction, 0)


@magnitude
def var_dx(dy, x, *, exact, axes, correction):
    n = prod(x.shape[i] for i in axes)
    dy = np.expand_dims(dy, axes) if dy.ndim < x.ndim else dy
    c, mean = np.abs(x - x.mean(axes, keepdims=True)), np.abs(x).mean(axes, keepdims=True)
    return np.abs(dy) * (c + mean) * 2 / max(n - correction, 0)
