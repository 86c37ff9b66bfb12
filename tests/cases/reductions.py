"""Sums, means, extremes, norms, products over axes; running sums."""

from math import inf, prod

import numpy as np
from bounds import below_largest, magnitude
from hypothesis import strategies as st

from cases.case import alike, axis_of, drawn, shapes


def reduction(name, settings, shape=(4, 3, 5), **limits):
    return [
        alike(name, lambda m, x, s=s: getattr(m, name)(x, **s), shape, **limits) for s in settings
    ]


OVER_AXES = [{}, {"dim": 0}, {"dim": -1}, {"dim": (0, 2)}, {"dim": 1, "keepdim": True}]
ALONG_ONE = [{"dim": 0}, {"dim": -1, "keepdim": True}]
POWERS = [0.5, 1, 1.5, 2, 3, 7.0, inf, -inf, -1, -2.5]
OVER = ("sum", "mean", "var", "std", "amax", "amin", "norm")  # any axes
ALONG = ("sum", "mean", "amax", "amin", "norm", "prod", "logsumexp")  # a scalar, or no number

CASES = [
    *(c for n in OVER for c in reduction(n, OVER_AXES)),
    *(c for n in ("max", "min") for c in reduction(n, [{}])),
    *(
        alike(f"{n} along", lambda m, x, n=n, s=s: getattr(m, n)(x, **s)[0], (4, 3, 5))
        for n in ("max", "min")
        for s in ALONG_ONE
    ),
    alike("diff", lambda m, x: m.diff(x, dim=0), (3, 4)),
    alike("diff joined", lambda m, x, y: x.diff(2, prepend=y, append=y), (3, 4), (3, 1)),
    alike("max of two", lambda m, x, y: m.max(x, y), (2, 3), (3,)),
    *reduction("prod", [{}, *ALONG_ONE]),
    *reduction("logsumexp", [{"dim": (0, 1)}, *ALONG_ONE], low=-9.0, high=9.0),
    *(alike(n, lambda m, x, n=n: getattr(m, n)(x, dim=0), ()) for n in ALONG),
    *(c for n in ("max", "min") for c in reduction(n, [{}], ())),
    alike("var biased", lambda m, x: m.var(x, dim=(0, 1), correction=0), (4, 3, 5)),
    alike("std biased", lambda m, x: m.std(x, dim=(0, 1), correction=0), (4, 3, 5)),
    *(alike(f"norm {p:g}", lambda m, x, p=p: m.norm(x, p, 1), (3, 5), low=0.1) for p in POWERS),
    alike("norm signed", lambda m, x: m.norm(x, 3, (0, 2), True), (3, 5, 2)),
    *(
        alike(f"{n} nothing", lambda m, x, n=n: getattr(m, n)(x, 0), (0, 3))
        for n in ("sum", "prod")
    ),
    *(alike(f"{n} empty", lambda m, x, n=n: getattr(m, n)(x, 1), (0, 3)) for n in ("amax", "prod")),
    alike("norm nothing", lambda m, x: m.norm(x, 2, 0), (0, 3)),
    alike("cumsum", lambda m, x: m.cumsum(x, 0), (40, 3)),
    alike("cumsum", lambda m, x: x.cumsum(-1), (2, 3, 5)),
    alike("cumprod", lambda m, x: m.cumprod(x, 0), (6, 3)),
    alike("cumprod", lambda m, x: x.cumprod(-1), (2, 3, 5)),
    alike("cumprod nothing", lambda m, x: x.cumprod(0), (0, 3)),
    alike("var unbiased", lambda m, x: m.var(x, (0, 1), unbiased=False), (4, 3, 5)),
    alike("std unbiased", lambda m, x: x.std(False), (4, 3, 5)),
    alike("cumsum nothing", lambda m, x: x.cumsum(0), (0, 3)),
]


def axes_of(draw, shape):
    """None, one axis, several, or none at all: the last are all of them."""
    several = st.lists(st.integers(0, len(shape) - 1), unique=True).map(tuple)
    signs = st.booleans()
    if not shape:
        return draw(st.sampled_from([None, 0, -1, ()]))
    dim = draw(st.none() | axis_of(shape) | several)
    if isinstance(dim, tuple):
        return tuple(d - len(shape) if draw(signs) else d for d in dim)
    return dim


def settings_of(draw, shape):
    dim = axes_of(draw, shape)
    all_of = dim is None or dim == () or shape == ()
    axes = range(len(shape)) if all_of else (dim,) if isinstance(dim, int) else dim
    return {"dim": dim, "keepdim": draw(st.booleans())}, prod(shape[i] for i in axes)


@drawn("sum", "mean", "amax", "amin", "norm", "logsumexp")
def draw_over_axes(draw, name):
    shape = draw(shapes())
    settings, count = settings_of(draw, shape)
    if name == "norm":
        several = isinstance(settings["dim"], tuple) and len(settings["dim"]) > 2
        settings["p"] = draw(st.sampled_from([2 if several else "fro", *POWERS]))
    if name == "logsumexp" and settings["dim"] in (None, ()):
        settings["dim"] = tuple(range(len(shape)))
    needs_one = name in ("amax", "amin") or settings.get("p", 2) in (inf, -inf, -1, -2.5)
    if count == 0 and needs_one:
        shape = tuple(max(n, 1) for n in shape)
    limits = {"low": 0.1} if name == "norm" and settings["p"] in (0.5, -1, -2.5) else {}
    return alike(name, lambda m, x: getattr(m, name)(x, **settings), shape, **limits)


@drawn("var", "std")
def draw_variance(draw, name):
    shape = draw(shapes(sizes=st.sampled_from([1, 2, 3, 5])))
    settings, count = settings_of(draw, shape)
    if settings["dim"] == ():
        settings["dim"] = None  # PyTorch divides the gradient by 1 where it is ()
    corrections = [c for c in (0, 1, 0.5, 2) if c < count]
    settings["correction"] = draw(st.sampled_from(corrections))
    if draw(st.booleans()):
        settings["unbiased"] = settings.pop("correction") >= 1
    return alike(name, lambda m, x: getattr(m, name)(x, **settings), shape)


@drawn("diff")
def draw_differences(draw, name):
    shape = draw(shapes(1))
    times, dim = draw(st.integers(0, 3)), draw(axis_of(shape))
    return alike(name, lambda m, x: m.diff(x, times, dim), shape)


@drawn("max", "min", "median")
def draw_extreme(draw, name):
    shape = draw(shapes(sizes=st.sampled_from([1, 2, 3, 5])))
    if not shape or draw(st.booleans()):
        return alike(name, lambda m, x: getattr(m, name)(x), shape)
    dim, keepdim = draw(axis_of(shape)), draw(st.booleans())
    return alike(name, lambda m, x: getattr(m, name)(x, dim, keepdim)[0], shape)


@drawn("prod")
def draw_product(draw, name):
    shape, settings = draw(shapes(sizes=st.sampled_from([0, 1, 2, 3]))), {}
    if shape and draw(st.booleans()):
        settings = {"dim": draw(axis_of(shape)), "keepdim": draw(st.booleans())}
    return alike(name, lambda m, x: m.prod(x, **settings), shape)


@drawn("cumsum")
def draw_running_sum(draw, name):
    shape = draw(
        shapes(1, sizes=st.sampled_from([0, 1, 2, 5, 40])).filter(lambda s: prod(s) < 2000)
    )
    dim = draw(axis_of(shape))
    return alike(name, lambda m, x: m.cumsum(x, dim), shape)


@drawn("cumprod")
def draw_running_product(draw, name):
    shape = draw(shapes(1))
    dim, zero = draw(axis_of(shape)), draw(st.sampled_from([None, 0.75, 1.5]))
    dtype = draw(st.sampled_from([None, "float64"]))

    def running(m, x):
        x = x if zero is None else m.where(m.abs(x) < zero, 0.0 * x, x)  # with zeros: 1, several
        return m.cumprod(x, dim, dtype=dtype and getattr(m, dtype))

    return alike(name, running, shape)


def unreduced(y, x, axes):
    """A result with its reduced axes put back, with size 1."""
    return y.reshape([1 if i in axes else n for i, n in enumerate(x.shape)])


def spread_of(x, axes, correction):
    """(|x - m|, mean |x|, the divisor n - c)."""
    n = prod(x.shape[i] for i in axes)
    mean = np.abs(x).sum(axes, keepdims=True) / n
    return np.abs(x - x.sum(axes, keepdims=True) / n), mean, max(n - correction, 0)


@magnitude
def var_forward(x, *, exact, axes, keepdims, correction):
    c, mean, divisor = spread_of(x, axes, correction)
    return np.sum(c * c + 2 * c * mean, axes, keepdims=keepdims) / divisor


@magnitude
def var_dx(dy, x, *, exact, axes, correction):
    c, mean, divisor = spread_of(x, axes, correction)
    return np.abs(unreduced(dy, x, axes)) * (c + mean) * 2 / divisor


@magnitude
def std_forward(x, *, exact, axes, keepdims, correction):
    """y = sqrt(v): the error of v, over 2 y."""
    c, mean, divisor = spread_of(x, axes, correction)
    v = np.sum(c * c + 2 * c * mean, axes, keepdims=keepdims) / divisor
    return np.where(exact[0] == 0, 0, v / (2 * exact[0])) + exact[0]


@magnitude
def std_dx(dy, x, *, exact, axes, correction):
    """dx = dy c / (divisor y): the error of c, and the relative one of y."""
    c, mean, divisor = spread_of(x, axes, correction)
    squares = np.sum(c * c, axes, keepdims=True)
    relative = np.sum(c * mean, axes, keepdims=True) / squares
    share = np.abs(unreduced(dy, x, axes)) / np.sqrt(divisor * squares)
    return np.where(squares == 0, 0, share * (c * (1 + relative) + mean))


@magnitude
def norm_forward(x, *, exact, p, axes, keepdims):
    """A power of a number errs by a few units of itself, a root of a sum by 1/p of the sum's."""
    return np.abs(exact[0]) * (1 + 1 / max(abs(p), 1e-3))


@magnitude
def norm_dx(dy, x, *, exact, p, axes):
    """(|x| / y)^(p - 1): |p - 1| times the relative error of y."""
    return np.abs(exact[0]) * (
        1 if p in (inf, -inf) else 1 + abs(p - 1) * (1 + 1 / max(abs(p), 1e-3))
    )


@magnitude
def logsumexp_forward(x, *, exact, axes, keepdims):
    """e^(x - m) errs by |x - m| of itself, and the logarithm of the sum by the mean of that."""
    finite = np.where(np.isfinite(exact[0]), np.abs(exact[0]), 0)
    largest = np.abs(x).max(axes, keepdims=keepdims, initial=0)
    return finite + largest + below_largest(x, axes).max(axes, keepdims=keepdims, initial=0) + 1


@magnitude
def logsumexp_dx(dy, x, *, exact, axes):
    return np.abs(exact[0]) * (1 + 2 * below_largest(x, axes).max(axes, keepdims=True, initial=0))


@magnitude
def prod_forward(x, *, exact, axes, keepdims):
    """n factors: n roundings. The bound grants 16 of them anyway."""
    return np.abs(exact[0]) * max(1, prod(x.shape[i] for i in axes) / 16)


@magnitude
def prod_dx(dy, x, *, exact, axes):
    return np.abs(exact[0]) * max(1, prod(x.shape[i] for i in axes) / 16)


@magnitude
def cumprod_forward(x, *, exact, axis):
    """k factors: k roundings. The bound grants 16 of them anyway."""
    return np.abs(exact[0]) * max(1, x.shape[axis] / 16)


def still_to_come(v, axis):
    return np.flip(np.cumsum(np.flip(v, axis), axis), axis)


@magnitude
def cumprod_dx(dy, x, *, exact, axis):
    """A sum of products, each of them of at most k factors, divided by x where it is not 0."""
    ones, zeros = np.where(x == 0, 1, x), np.cumsum(x == 0, axis)
    first = (x == 0) & (zeros == 1)
    others = np.where((zeros > 1) | ((x == 0) & ~first), 0, np.abs(np.cumprod(ones, axis)))
    before = still_to_come(np.abs(dy) * np.where(zeros == 0, others, 0), axis) / np.abs(ones)
    at_first = still_to_come(np.abs(dy) * others, axis)
    sizes = np.where(first, at_first, np.where(zeros == 0, before, 0))
    return sizes * max(1, x.shape[axis] / 8)
