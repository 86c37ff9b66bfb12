"""Normalisation and softmax."""

from functools import partial
from math import inf, prod

import numpy as np
from bounds import below_largest, magnitude
from hypothesis import strategies as st

import minifp as fp
import minifp.nn.functional as F
from cases.case import Case, axis_of, drawn, functional, shapes
from minifp.ops.normalization.local_response_norm import denominators, window_sums
from minifp.ops.normalization.normalize import p_norm_slope

EPS = st.sampled_from([1e-3, 0.1, 1.0])
ABOVE_0 = st.integers(1, 4)


def with_statistics(name, shape, call, parameters=2):
    """A case whose function takes running statistics: call(module, mean, var, x, *parameters)."""

    def ours(*xs):
        mean, var = np.full(shape[1], 0.3), np.full(shape[1], 1.7)
        return call(F, *(fp.tensor(v, dtype="float32") for v in (mean, var)), *xs)

    def theirs(t, *xs):
        mean, var = (t.full((shape[1],), v, dtype=t.float32).to(xs[0].dtype) for v in (0.3, 1.7))
        return call(t.nn.functional, mean, var, *xs)

    return Case(name, ours, (shape, *[shape[1:2]] * parameters), torch=theirs)


def of_its_own(name, flag, shape, is_set, momentum=0.1, eps=1e-3, parameters=2):
    """A normalisation with the statistics of its input where a flag says so."""

    def call(m, mean, var, x, *p):
        return getattr(m, name)(x, mean, var, *(*p, None, None)[:2], is_set, momentum, eps)

    return with_statistics(f"{name} {flag}={is_set}", shape, call, parameters)


batch_norm = partial(of_its_own, "batch_norm", "training")
instance_norm = partial(of_its_own, "instance_norm", "use_input_stats")


def group_norm(shape, groups, parameters=2, eps=1e-5):
    return functional(
        "group_norm",
        lambda f, x, *p: f.group_norm(x, groups, *(*p, None, None)[:2], eps),
        *(shape, *[shape[1:2]] * parameters),
    )


def local_response_norm(shape, *settings):
    return functional(
        "local_response_norm", lambda f, x: f.local_response_norm(x, *settings), shape
    )


CASES = [
    *(batch_norm(s, training) for s in ((6, 3), (4, 3, 2, 5)) for training in (True, False)),
    batch_norm((0, 3), False),
    functional(
        "layer_norm", lambda f, x, *p: f.layer_norm(x, (2, 4), *p), (3, 2, 4), *[(2, 4)] * 2
    ),
    functional("layer_norm", lambda f, x, w: f.layer_norm(x, (4,), w), (2, 3, 4), (4,)),
    functional("layer_norm", lambda f, x: f.layer_norm(x, (4,)), (3, 4)),
    functional("layer_norm empty", lambda f, x, w: f.layer_norm(x, (4,), w), (0, 4), (4,)),
    functional("rms_norm", lambda f, x, w: f.rms_norm(x, (2, 4), w), (3, 2, 4), (2, 4)),
    functional("rms_norm", lambda f, x: f.rms_norm(x, (5,), eps=0.1), (2, 3, 5)),
    functional("rms_norm empty", lambda f, x, w: f.rms_norm(x, (4,), w), (0, 4), (4,)),
    *(group_norm((3, 4, 5), 2), group_norm((2, 6), 2, 1), group_norm((2, 3, 2, 3), 3, 0)),
    *(group_norm((1, 4, 3), 1), group_norm((0, 4, 3), 2)),
    *(instance_norm((3, 2, 5), True), instance_norm((2, 3, 2, 3), False, parameters=1)),
    functional("instance_norm", lambda f, x: f.instance_norm(x), (2, 3, 4)),
    *(local_response_norm((2, 7, 3), 5), local_response_norm((3, 4, 2, 3), 4, 0.2, 0.6, 2.0)),
    *(local_response_norm((2, 3, 2), 9, 1.0, 1.0), local_response_norm((2, 0, 3), 3)),
    *(
        functional(n, lambda f, x, n=n, d=d: getattr(f, n)(x, d), (3, 4, 2), low=-9.0, high=9.0)
        for n in ("softmax", "log_softmax", "softmin")
        for d in (-1, 1)
    ),
    functional("normalize", lambda f, x: f.normalize(x), (4, 5, 3)),
    functional("normalize", lambda f, x: f.normalize(x, 1.0, -1, 0.5), (4, 5)),
    functional("normalize below eps", lambda f, x: f.normalize(x, 2.0, 0, 50.0), (4, 5)),
    functional("normalize empty", lambda f, x: f.normalize(x), (3, 0)),
    *(  # with Inf, PyTorch's order of operations decides
        Case(f"normalize p={p}", lambda x, p=p: F.normalize(x, p, 0), ((4, 5),))
        for p in (inf, 3.5, 0.5)
    ),
]


@drawn("batch_norm")
def draw_batch_norm(draw, name):
    training = draw(st.booleans())
    N = draw(st.integers(2, 4) if training else st.integers(0, 4))
    shape = (N, draw(ABOVE_0), *draw(st.lists(ABOVE_0, max_size=2)))
    momentum = draw(st.sampled_from([0.0, 0.1, 1.0]))
    if training and draw(st.booleans()):
        eps = draw(EPS)
        return functional(
            name, lambda f, x: f.batch_norm(x, None, None, training=True, eps=eps), shape
        )
    return batch_norm(shape, training, momentum, draw(EPS), draw(st.integers(0, 2)))


@drawn("instance_norm")
def draw_instance_norm(draw, name):
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=2))
    shape = (draw(ABOVE_0), draw(ABOVE_0), *sizes)
    stats, momentum = draw(st.booleans()), draw(st.sampled_from([0.0, 0.1, 1.0]))
    if stats and draw(st.booleans()):
        eps = draw(EPS)
        return functional(name, lambda f, x: f.instance_norm(x, eps=eps), shape)
    return instance_norm(shape, stats, momentum, draw(EPS), draw(st.integers(0, 2)))


@drawn("group_norm")
def draw_group_norm(draw, name):
    groups, each = draw(ABOVE_0), draw(ABOVE_0)
    shape = (draw(st.integers(0, 3)), groups * each, *draw(st.lists(ABOVE_0, max_size=2)))
    if prod(shape) == groups:
        shape = (2, *shape[1:])
    return group_norm(shape, groups, draw(st.integers(0, 2)), draw(EPS))


@drawn("layer_norm", "rms_norm")
def draw_of_rows(draw, name):
    most = 2 if name == "layer_norm" else 1
    shape = tuple(draw(st.lists(ABOVE_0, min_size=1, max_size=2)))
    eps, count = draw(EPS if most == 2 else st.none() | EPS), draw(st.integers(0, most))
    return functional(
        name,
        lambda f, x, *p: getattr(f, name)(x, shape, *(*p, None, None)[:most], eps),
        *((*draw(shapes(0, 2)), *shape), *[shape] * count),
    )


@drawn("softmax", "log_softmax", "softmin")
def draw_softmax(draw, name):
    shape = draw(shapes(1))
    axis = draw(axis_of(shape))
    if name != "softmin" and draw(st.booleans()):
        return Case(
            *(name, lambda x: getattr(F, name)(x, axis, dtype="float64"), (shape,), -9.0, 9.0),
            torch=lambda t, x: getattr(t.nn.functional, name)(x, axis, dtype=t.float64),
        )
    return functional(name, lambda f, x: getattr(f, name)(x, axis), shape, low=-9.0, high=9.0)


@drawn("local_response_norm")
def draw_local_response_norm(draw, name):
    shape = (*draw(shapes(2, 2)), *draw(st.lists(ABOVE_0, min_size=1, max_size=2)))
    settings = draw(EPS), draw(st.sampled_from([0.75, 0.5, 1.3])), draw(st.sampled_from([1.0, 2.0]))
    return local_response_norm(shape, draw(st.integers(1, 6)), *settings)


@drawn("normalize")
def draw_normalize(draw, name):
    shape = draw(shapes(1))
    p, dim = draw(st.sampled_from([1.0, 2.0, 1.5, 3.0, 0.5, inf])), draw(axis_of(shape))
    eps = draw(st.sampled_from([1e-12, 0.5, 3.0]))
    if 0 in shape:  # where PyTorch finds no largest of none
        p = 2.0
    return functional(name, lambda f, x: f.normalize(x, p, dim, eps), shape)


def columns(v, ndim):
    """(C) as (1, C, 1, ...)."""
    return v.reshape(1, -1, *(1,) * (ndim - 2))


@magnitude
def softmax_forward(x, *, exact, axis):
    return exact[0] * (1 + 2 * below_largest(x, axis).max(axis, keepdims=True, initial=0))


@magnitude
def softmax_dx(dy, y, *, exact, axis):
    return y * (np.abs(dy) + np.sum(np.abs(dy) * y, axis, keepdims=True))


magnitude(lambda x, **given: softmax_forward(-x, **given), "softmin_forward")
magnitude(softmax_dx, "softmin_dx")


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


def normalised(x, eps):
    """M of (x - m) r, m and r, over the last axis."""
    m, mean = x.mean(-1, keepdims=True), np.abs(x).mean(-1, keepdims=True)
    c = np.abs(x - m)
    v = (c * c).mean(-1, keepdims=True)
    r = 1 / np.sqrt(v + eps)
    spread = 2 + c.mean(-1, keepdims=True) * mean / (v + eps)  # the relative error of r
    return (c * spread + mean) * r, mean, r * spread


@magnitude
def layer_norm_forward(x, w, b, *, exact, eps):
    y, m, r = normalised(x, eps)
    y = y * (1 if w is None else np.abs(w))
    return y + (0 if b is None else np.abs(b)), m, r


@magnitude
def layer_norm_dx(dy, x, w, m, r, *, exact):
    h, rows = np.abs(x - m) * r, tuple(range(x.ndim - 1))
    g, dy = np.abs(dy if w is None else dy * w), np.abs(dy)
    dx = g + g.mean(-1, keepdims=True) + h * (g * h).mean(-1, keepdims=True)
    return r * dx, (dy * h).sum(rows), dy.sum(rows)


@magnitude
def rms_norm_forward(x, w, *, exact, eps):  # r errs by half of what the mean does, relatively
    y, r = exact
    return 2 * np.abs(y), 2 * r


@magnitude
def rms_norm_dx(dy, x, w, r, *, exact):
    h, rows = np.abs(x) * r, tuple(range(x.ndim - 1))
    g, dy = np.abs(dy if w is None else dy * w), np.abs(dy)
    return r * (g + h * (g * h).mean(-1, keepdims=True)), (dy * h).sum(rows)


def grouped(x, groups):
    """(N, C, ...) as (N, G, K)."""
    return x.reshape(len(x), groups, prod(x.shape[1:]) // groups)


@magnitude
def group_norm_forward(x, w, b, *, exact, groups, eps):
    y, m, r = normalised(grouped(x, groups), eps)
    y = y.reshape(x.shape) * (1 if w is None else columns(np.abs(w), x.ndim))
    return y + (0 if b is None else columns(np.abs(b), x.ndim)), m, r


@magnitude
def group_norm_dx(dy, x, w, m, r, *, exact, groups):
    h, axes, dy = np.abs(grouped(x, groups) - m) * r, (0, *range(2, x.ndim)), np.abs(dy)
    g = grouped(dy if w is None else dy * columns(np.abs(w), x.ndim), groups)
    dx = r * (g + g.mean(-1, keepdims=True) + h * (g * h).mean(-1, keepdims=True))
    return dx.reshape(x.shape), (dy * h.reshape(x.shape)).sum(axes), dy.sum(axes)


@magnitude
def instance_norm_statistics(x, *, exact):
    g = grouped(x, x.shape[1])
    mean, c = np.abs(g).mean(-1), np.abs(g - g.mean(-1, keepdims=True))
    return mean.mean(0), ((c * c).mean(-1) + 2 * c.mean(-1) * mean).mean(0)


@magnitude
def normalize_forward(x, *, exact, p, axes, eps):
    y, n = exact
    roots = 3 + np.log(max(x.size, 1)) / p  # (sum (|x| / max)^p)^(1/p): of the sum, and of 1/p
    return np.abs(y) * (1 + roots), n * roots


@magnitude
def normalize_dx(dy, x, n, *, exact, p, axes, eps):
    d, powers = np.maximum(n, eps), 3 + (abs(p - 1) if p < inf else 0)
    along = np.sum(np.abs(dy * x), axes, keepdims=True) / d**2
    slope = np.abs(p_norm_slope(x, n, p, axes, np.sum))
    return np.abs(dy) / d + np.where(n < eps, 0, along * slope * powers)


def response(x, size, alpha, beta, k):
    """d, and the relative error of d^-beta; where alpha and k are positive, d is a sum of such."""
    d, addends = (
        denominators(x, size, *given, np.sum) for given in ((alpha, k), (abs(alpha), abs(k)))
    )
    return d, 1 + beta * np.where(np.isinf(d), 1, addends / np.abs(d))


@magnitude
def local_response_norm_forward(x, *, exact, size, alpha, beta, k):
    return np.abs(exact[0]) * response(x, size, alpha, beta, k)[1]


@magnitude
def local_response_norm_dx(dy, x, *, exact, size, alpha, beta, k):
    d, spread = response(x, size, alpha, beta, k)
    direct = np.abs(dy) * d**-beta * spread
    shared = window_sums(direct * 2 * np.abs(x / d), size, (size - 1) // 2, np.sum)
    return direct + np.abs(2 * alpha * beta / size * x) * shared


def tracked(m, **settings):
    return m.InstanceNorm2d(3, track_running_stats=True, **settings)


# A layer in minifp.nn or torch.nn, and the shape of its input.
LAYERS = {
    "BatchNorm1d": (lambda m: m.BatchNorm1d(3), (6, 3)),
    "BatchNorm1d of sequences": (lambda m: m.BatchNorm1d(3, momentum=0.3), (6, 3, 4)),
    "BatchNorm2d": (lambda m: m.BatchNorm2d(3, eps=1e-3), (4, 3, 5, 2)),
    "BatchNorm2d without parameters": (lambda m: m.BatchNorm2d(3, affine=False), (4, 3, 5, 2)),
    "BatchNorm2d untracked": (lambda m: m.BatchNorm2d(3, track_running_stats=False), (4, 3, 5, 2)),
    "BatchNorm2d in evaluation": (lambda m: m.BatchNorm2d(3).eval(), (4, 3, 5, 2)),
    "BatchNorm2d of all batches": (lambda m: m.BatchNorm2d(3, momentum=None), (4, 3, 5, 2)),
    "LayerNorm": (lambda m: m.LayerNorm(5), (2, 4, 5)),
    "LayerNorm of two axes": (lambda m: m.LayerNorm((4, 5), eps=1e-3), (2, 4, 5)),
    "LayerNorm without bias": (lambda m: m.LayerNorm(5, bias=False), (2, 4, 5)),
    "GroupNorm": (lambda m: m.GroupNorm(2, 4), (3, 4, 5)),
    "GroupNorm of pictures": (lambda m: m.GroupNorm(3, 6, eps=1e-3), (2, 6, 4, 3)),
    "GroupNorm without parameters": (lambda m: m.GroupNorm(2, 4, affine=False), (3, 4, 5)),
    "InstanceNorm1d": (lambda m: m.InstanceNorm1d(3), (4, 3, 5)),
    "InstanceNorm1d without a batch": (lambda m: m.InstanceNorm1d(3, affine=True), (3, 5)),
    "InstanceNorm2d": (lambda m: m.InstanceNorm2d(3, affine=True), (4, 3, 5, 2)),
    "InstanceNorm2d with statistics": (partial(tracked, eps=1e-3), (4, 3, 5, 2)),
    "InstanceNorm2d in evaluation": (lambda m: tracked(m, affine=True).eval(), (4, 3, 5, 2)),
    "LocalResponseNorm": (lambda m: m.LocalResponseNorm(5), (2, 7, 3, 3)),
    "LocalResponseNorm as in GoogLeNet": (lambda m: m.LocalResponseNorm(4, 1e-2, k=2.0), (2, 3, 4)),
    "RMSNorm": (lambda m: m.RMSNorm(5), (2, 4, 5)),
    "RMSNorm of two axes": (lambda m: m.RMSNorm((4, 5), eps=1e-3), (2, 4, 5)),
    "RMSNorm without parameters": (lambda m: m.RMSNorm(5, elementwise_affine=False), (4, 5)),
}
