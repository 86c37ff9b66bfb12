"""Normalisation and softmax."""

import numpy as np
from bounds import below_largest, magnitude

import minifp as fp
import minifp.nn.functional as F
from cases.case import Case, functional


def batch_norm(shape, training):
    def call(module, x, w, b, mean, var):
        return module.batch_norm(x, mean, var, w, b, training, 0.1, 1e-3)

    def ours(x, w, b):
        mean, var = np.full(shape[1], 0.3), np.full(shape[1], 1.7)
        return call(F, x, w, b, *(fp.Tensor(v.astype("float32")) for v in (mean, var)))

    def theirs(t, x, w, b):
        mean, var = (t.full((shape[1],), v, dtype=t.float32).to(x.dtype) for v in (0.3, 1.7))
        return call(t.nn.functional, x, w, b, mean, var)

    channels = shape[1:2]
    return Case(f"batch_norm training={training}", ours, (shape, channels, channels), torch=theirs)


CASES = [
    *(
        batch_norm(shape, training)
        for shape in ((6, 3), (4, 3, 2, 5))
        for training in (True, False)
    ),
    batch_norm((0, 3), False),
    functional(
        "layer_norm",
        lambda f, *a: f.layer_norm(a[0], (2, 4), *a[1:]),
        *[(3, 2, 4), (2, 4)] + [(2, 4)],
    ),
    functional("layer_norm", lambda f, x, w: f.layer_norm(x, (4,), w), (2, 3, 4), (4,)),
    functional("layer_norm", lambda f, x: f.layer_norm(x, (4,)), (3, 4)),
    functional("layer_norm empty", lambda f, x, w: f.layer_norm(x, (4,), w), (0, 4), (4,)),
    *(
        functional(n, lambda f, x, n=n, d=d: getattr(f, n)(x, d), (3, 4, 2), low=-9.0, high=9.0)
        for n in ("softmax", "log_softmax")
        for d in (-1, 1)
    ),
]


# ---- how far rounding may carry the results -----------------------------------------------------


def columns(v, ndim):
    """(C) as (1, C, 1, ...)."""
    return v.reshape(1, -1, *(1,) * (ndim - 2))


@magnitude
def softmax_forward(x, *, exact, axis):
    return exact[0] * (1 + 2 * below_largest(x, axis).max(axis, keepdims=True, initial=0))


@magnitude
def softmax_dx(dy, y, *, exact, axis):
    return y * (np.abs(dy) + np.sum(np.abs(dy) * y, axis, keepdims=True))


@magnitude
def log_softmax_forward(x, *, exact, axis):
    return np.abs(exact[0]) + below_largest(x, axis).max(axis, keepdims=True, initial=0) + 1


@magnitude
def log_softmax_dx(dy, y, *, exact, axis):
    return np.abs(dy) + np.exp(y) * np.sum(np.abs(dy), axis, keepdims=True)


@magnitude
def batch_norm_statistics(x, *, exact):
    axes = (0, *range(2, x.ndim))
    mean, (m, v) = np.abs(x).mean(axes), exact
    return mean, v + 2 * np.abs(x - columns(m, x.ndim)).mean(axes) * mean


@magnitude
def batch_norm_forward(x, w, b, m, v, *, exact, eps):
    n, scale = x.ndim, np.abs(w) / np.sqrt(v + eps)
    return np.abs(x - columns(m, n)) * columns(scale, n) + columns(np.abs(b), n)


@magnitude
def batch_norm_dx(dy, x, w, m, v, *, exact, eps, constant):
    n, axes, r = x.ndim, (0, *range(2, x.ndim)), 1 / np.sqrt(v + eps)
    h, dy = np.abs(x - columns(m, n)) * columns(r, n), np.abs(dy)
    dw, db, count = (dy * h).sum(axes), dy.sum(axes), x.size // x.shape[1]
    dx = dy if constant else dy + columns(db / count, n) + h * columns(dw / count, n)
    return dx * columns(np.abs(w) * r, n), dw, db


@magnitude
def layer_norm_forward(x, w, b, *, exact, eps):
    m, mean = x.mean(-1, keepdims=True), np.abs(x).mean(-1, keepdims=True)
    c = np.abs(x - m)
    v = (c * c).mean(-1, keepdims=True)
    r = 1 / np.sqrt(v + eps)
    spread = 2 + c.mean(-1, keepdims=True) * mean / (v + eps)  # the relative error of r
    y = (c * spread + mean) * r * (1 if w is None else np.abs(w))
    return y + (0 if b is None else np.abs(b)), mean, r * spread


@magnitude
def layer_norm_dx(dy, x, w, m, r, *, exact):
    h, rows = np.abs(x - m) * r, tuple(range(x.ndim - 1))
    g, dy = np.abs(dy if w is None else dy * w), np.abs(dy)
    dx = g + g.mean(-1, keepdims=True) + h * (g * h).mean(-1, keepdims=True)
    return r * dx, (dy * h).sum(rows), dy.sum(rows)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "BatchNorm1d": (lambda m: m.BatchNorm1d(3), (6, 3)),
    "BatchNorm1d of sequences": (lambda m: m.BatchNorm1d(3, momentum=0.3), (6, 3, 4)),
    "BatchNorm2d": (lambda m: m.BatchNorm2d(3, eps=1e-3), (4, 3, 5, 2)),
    "BatchNorm2d without parameters": (lambda m: m.BatchNorm2d(3, affine=False), (4, 3, 5, 2)),
    "BatchNorm2d without statistics": (
        lambda m: m.BatchNorm2d(3, track_running_stats=False),
        (4, 3, 5, 2),
    ),
    "BatchNorm2d in evaluation": (lambda m: m.BatchNorm2d(3).eval(), (4, 3, 5, 2)),
    "LayerNorm": (lambda m: m.LayerNorm(5), (2, 4, 5)),
    "LayerNorm of two axes": (lambda m: m.LayerNorm((4, 5), eps=1e-3), (2, 4, 5)),
    "LayerNorm without bias": (lambda m: m.LayerNorm(5, bias=False), (2, 4, 5)),
}
