"""The compiled kernels of normalisations, softmax, class losses and reductions, each against its
reference, on shapes and layouts drawn at random.
"""

import cases  # noqa: F401 (knows how far rounding may carry each kernel's results)
import numpy as np
import pytest
from bounds import Call

from minifp.numerics.formats import downcast, float16, float32, float64
from minifp.numerics.kernels import KERNELS
from minifp.runtime import cpu

if not cpu.can_compile():
    pytest.skip("kernels are not compiled here", allow_module_level=True)

from minifp.runtime.cpu import pool
from minifp.runtime.cpu.sums import sum_over
from minifp.runtime.cpu.threads import get_num_threads, set_num_threads

BY_NAME = {k.name.partition(".")[2]: k for k in KERNELS}
SIZES = [1, 2, 3, 5, 8, 17, 33]
# More than one chunk of each kernel; lines longer than a block; channels of 1, few and many.
LARGE = {
    "channels": [(70, 40, 3), (5, 12, 1300), (40, 300), (66, 6, 20, 20)],
    "rows": [(300, 65), (3, 5000), (2000, 10), (33, 40, 16)],
}


class Source:
    """Random arrays of a format, laid out in memory in one of several ways."""

    def __init__(self, seed, dtype, special=0.0):
        self.random, self.dtype, self.special = np.random.default_rng(seed), dtype, special
        self.layout = seed % 4

    def __call__(self, *shape, dtype=None, low=None):
        """An array of normal numbers, or of ones from `low` to 2."""
        x = self.random.normal(0.5, 2, shape) if low is None else self.random.uniform(low, 2, shape)
        if self.special and low is None:
            chosen = self.random.random(shape) < self.special
            x = np.where(chosen, self.random.choice([np.nan, np.inf, -np.inf], shape), x)
        x = np.asarray(x, dtype or self.dtype)
        if not x.ndim or self.layout == 0:
            return x
        if self.layout == 1:
            return np.asfortranarray(x)
        return np.repeat(x, 2, axis=-1)[..., ::2] if self.layout == 2 else x[::-1].copy()[::-1]

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def shape(self, kind, least=1, large=False):
        """(N, C, ...) or (..., n)."""
        if large:
            return LARGE[kind][self.random.integers(len(LARGE[kind]))]
        return tuple(int(n) for n in self.random.choice(SIZES, self.random.integers(least, 5)))

    def parameter(self, n):
        return self.pick(None, self(n, dtype=float32), self(n, dtype=float16))


# ---- calls, drawn: (arguments, parameters, format of each result) -------------------------------


def batch_norm(source, large):
    shape = source.shape("channels", 2, large)
    x, C = source(*shape), shape[1]
    w, b, m = (source(C, dtype=float32) for _ in range(3))
    return x, w, b, m, source(C, dtype=float32, low=0.1)


def batch_norm_statistics(source, large):
    return batch_norm(source, large)[:1], {}, (float32, float32)


def batch_norm_forward(source, large):
    return batch_norm(source, large), {"eps": 1e-3}, (source.dtype,)


def batch_norm_dx(source, large):
    x, w, _, m, v = batch_norm(source, large)
    params = {"eps": 1e-3, "constant": bool(source.pick(True, False))}
    return (source(*x.shape), x, w, m, v), params, (source.dtype, float32, float16)


def layer_norm_forward(source, large):
    x = source(*source.shape("rows", 1, large))
    args = (x, *(source.parameter(x.shape[-1]) for _ in range(2)))
    return args, {"eps": 0.01}, (source.dtype, float32, float32)


def layer_norm_dx(source, large):
    x = source(*source.shape("rows", 1, large))
    m, r = source(*x.shape[:-1], 1, dtype=float32), source(*x.shape[:-1], 1, dtype=float32, low=0.2)
    args = source(*x.shape), x, source.parameter(x.shape[-1]), m, r
    return args, {}, (source.dtype, float32, float32)


def rms_norm_forward(source, large):
    x = source(*source.shape("rows", 1, large))
    return (x, source.parameter(x.shape[-1])), {"eps": 0.01}, (source.dtype, float32)


def rms_norm_dx(source, large):
    (dy, x, w, _, r), _, _ = layer_norm_dx(source, large)
    return (dy, x, w, r), {}, (source.dtype, float32)


def groups_of(source, C):
    return source.pick(*(g for g in range(1, C + 1) if C % g == 0))


def group_norm_forward(source, large):
    x = source(*source.shape("channels", 2, large))
    C = x.shape[1]
    args = x, source.parameter(C), source.parameter(C)
    params = {"groups": groups_of(source, C), "eps": 0.01}
    return args, params, (source.dtype, float32, float32)


def group_norm_dx(source, large):
    x = source(*source.shape("channels", 2, large))
    N, C = x.shape[:2]
    groups = groups_of(source, C)
    m, r = source(N, groups, 1, dtype=float32), source(N, groups, 1, dtype=float32, low=0.2)
    args = source(*x.shape), x, source.parameter(C), m, r
    return args, {"groups": groups}, (source.dtype, float32, float32)


def instance_norm_statistics(source, large):
    return (source(*source.shape("channels", 3, large)),), {}, (float32, float32)


def along(source, large, **limits):
    shape = source.shape("rows", 1, large)
    return source(*shape, **limits), {"axis": int(source.random.integers(-len(shape), len(shape)))}


def softmax(source, large):
    x, params = along(source, large)
    return (x,), params, (source.dtype,)


def softmax_gradient(source, large):
    y, params = along(source, large, low=0.0)
    return (source(*y.shape), y), params, (source.dtype,)


def log_softmax_gradient(source, large):
    y, params = along(source, large)
    return (source(*y.shape), -abs(y)), params, (source.dtype,)


def classes(source, large):
    z = source(*source.shape("rows", 1, large))
    axis = min(z.ndim - 1, 1)
    t = source.random.integers(0, z.shape[axis], z.shape[:axis] + z.shape[axis + 1 :])
    t = np.asarray(t, source.pick("int64", "uint8", "int32") if z.shape[axis] < 256 else "int64")
    ignored = source.pick(-100, 0)
    weights = source.pick(None, source(z.shape[axis], dtype=float32, low=0.1))
    return (z, t, weights), {"ignore_index": ignored}


def smoothed(source, large):
    args, params = classes(source, large)
    return args, params | {"smoothing": source.pick(0.0, 0.1, 1.0)}


def reduction(source):
    return {"reduction": source.pick("mean", "sum")}


def each_of(draw):
    def call(source, large):
        args, params = draw(source, large)
        return args, params, (source.dtype,)

    return call


def total_of(draw):
    def call(source, large):
        args, params = draw(source, large)
        return args, params | reduction(source), (float32,)

    return call


def gradient_of(draw):
    def call(source, large):
        args, params = draw(source, large)
        params |= {"reduction": source.pick("mean", "sum", "none")}
        shape = args[1].shape if params["reduction"] == "none" else ()
        return (source(*shape, dtype=float32, low=-2.0), *args), params, (source.dtype,)

    return call


def axes_of(source, x):
    return tuple(i for i in range(x.ndim) if source.random.random() < 0.5)


def chosen(source, settings):
    """Settings, one of each list."""
    return {k: source.pick(*v) if type(v) is list else v for k, v in settings.items()}


def reduced(**settings):
    def call(source, large):
        x = source(*source.shape("rows", 0, large))
        params = {"axes": axes_of(source, x), "keepdims": bool(source.pick(True, False))}
        return (x,), params | chosen(source, settings), (source.pick(float16, float32),)

    return call


def reduced_gradient(**settings):
    def call(source, large):
        x = source(*source.shape("rows", 0, large))
        axes = axes_of(source, x)
        dy = source(*(n for i, n in enumerate(x.shape) if i not in axes))
        return (dy, x), {"axes": axes} | chosen(source, settings), (source.dtype,)

    return call


def spread(source, large):
    ((dy, x), params, to) = reduced_gradient()(source, large)
    return (dy,), params | {"shape": x.shape, "divisor": source.pick(1, 3)}, to


def normalize(source, large):
    x = source(*source.shape("rows", 1, large))
    return (x,), {"p": 2.0, "axes": axes_of(source, x), "eps": 0.1}, (source.dtype, float32)


def normalize_gradient(source, large):
    (x,), params, _ = normalize(source, large)
    kept = [1 if i in params["axes"] else n for i, n in enumerate(x.shape)]
    return (source(*x.shape), x, source(*kept, dtype=float32, low=0.05)), params, (source.dtype,)


def pair(source, large):
    shape = source.shape("rows", 0, large)
    return source(*shape), source(*shape), None, None


def difference_each(**settings):
    return lambda source, large: (pair(source, large), settings, (source.dtype,))


def difference_total(**settings):
    return lambda source, large: (pair(source, large), {"divisor": 3} | settings, (float32,))


def difference_gradient(**settings):
    def call(source, large):
        x, t, *_ = pair(source, large)
        dl = source(*source.pick((), x.shape), dtype=float32)
        return (dl, x, t, None, None), {"divisor": 3} | settings, (source.dtype,)

    return call


DIFFERENCES = {
    "mse_loss": {},
    "l1_loss": {},
    "smooth_l1_loss": {"beta": 1.5},
    "huber_loss": {"delta": 0.7},
}
CALLS = {
    f.__name__: f
    for f in (
        *(batch_norm_statistics, batch_norm_forward, batch_norm_dx, layer_norm_forward),
        *(layer_norm_dx, rms_norm_forward, rms_norm_dx, group_norm_forward, group_norm_dx),
        *(instance_norm_statistics, spread),
    )
} | {
    **{name + "_forward": softmax for name in ("softmax", "softmin", "log_softmax")},
    **{name + "_dx": softmax_gradient for name in ("softmax", "softmin")},
    "log_softmax_dx": log_softmax_gradient,
    "cross_entropy_each": each_of(smoothed),
    "cross_entropy_total": total_of(smoothed),
    "cross_entropy_dz": gradient_of(smoothed),
    "nll_loss_each": each_of(classes),
    "nll_loss_total": total_of(classes),
    "nll_loss_dx": gradient_of(classes),
    "sum_forward": reduced(),
    "mean_forward": reduced(),
    "logsumexp_forward": reduced(),
    "logsumexp_dx": reduced_gradient(),
    **{f"{name}_forward": reduced(correction=[0.5, 0]) for name in ("var", "std")},
    **{f"{name}_dx": reduced_gradient(correction=[0.5, 0]) for name in ("var", "std")},
    "norm_forward": reduced(p=[1.0, 2.0]),
    "norm_dx": reduced_gradient(p=[1.0, 2.0]),
    "normalize_forward": normalize,
    "normalize_dx": normalize_gradient,
    **{f"{name}_each": difference_each(**s) for name, s in DIFFERENCES.items()},
    **{f"{name}_total": difference_total(**s) for name, s in DIFFERENCES.items()},
    **{f"{name}_dx": difference_gradient(**s) for name, s in DIFFERENCES.items()},
    **{f"{name}_dt": difference_gradient(**s) for name, s in DIFFERENCES.items()},
}
each_kernel = pytest.mark.parametrize("name", CALLS)


def results_of(name, args, params, to):
    """What the compiled kernel makes of them; it must not leave them to the reference."""
    found = BY_NAME[name].compiled(*args, to=to, **params)
    assert found is not None, f"{name} left {[np.shape(a) for a in args]}, {params}"
    return found if isinstance(found, tuple) else (found,)


@pytest.fixture
def threads():
    """Even the smallest call is divided among threads."""
    before, worth = get_num_threads(), pool.WORTH_A_THREAD
    pool.WORTH_A_THREAD = -1
    yield set_num_threads
    pool.WORTH_A_THREAD = worth
    set_num_threads(before)


# ---- tests --------------------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("dtype", [float16, float32], ids=str)
def test_results_are_within_the_bound(name, dtype):
    kernel = BY_NAME[name]
    for seed in range(40):
        args, params, to = CALLS[name](Source(seed, dtype), seed >= 32)
        results = results_of(name, args, params, to)
        call = Call(kernel, args, params, results, None)
        with np.errstate(all="ignore"):
            exact, _ = call.exact()
        for result, e, given in zip(results, exact, to):
            assert (result.shape, result.dtype) == (np.shape(e), given), (seed, params)
            assert type(result) is np.ndarray and result.flags.carray
            assert not any(np.may_share_memory(result, a) for a in args if a is not None)
        assert call.excess() <= 1, (seed, [np.shape(a) for a in args], params)


@each_kernel
def test_no_result_depends_on_the_number_of_threads(name, threads):
    for seed in range(8):
        args, params, to = CALLS[name](Source(seed, float16), True)
        found = set()
        for count in (1, 2, 3):
            threads(count)
            found.add(b"".join(y.tobytes() for y in results_of(name, args, params, to)))
        assert len(found) == 1, (seed, [np.shape(a) for a in args], params)


@each_kernel
def test_nan_and_inf_are_where_the_reference_has_them(name):
    for seed in range(40):
        args, params, to = CALLS[name](Source(seed, float16, special=0.03), False)
        results = results_of(name, args, params, to)
        with np.errstate(all="ignore"):
            exact, _ = Call(BY_NAME[name], args, params, results, None).exact()
        for y, e in zip(results, exact):
            e = downcast(np.asarray(e, float64), y.dtype)
            np.testing.assert_array_equal(np.isnan(y), np.isnan(e), f"{seed} {params}")
            np.testing.assert_array_equal(y[np.isinf(e)], e[np.isinf(e)], f"{seed} {params}")
            assert not np.isinf(y[np.isfinite(e)]).any(), (seed, params)


def test_variance_is_found_far_from_zero():
    """Where the difference of mean squares would have no digit left; and of unequal pictures."""
    random = np.random.default_rng(0)
    x = random.normal(0, 1, (70, 3, 9)) + 4096
    x[:5] += 2**14
    m, v = results_of("batch_norm_statistics", (x.astype(float32),), {}, (float32, float32))
    exact = x.astype(float32).astype(float64)
    np.testing.assert_allclose(m, exact.mean((0, 2)), rtol=1e-7)
    np.testing.assert_allclose(v, exact.var((0, 2)), rtol=1e-5)
    near = (random.normal(0, 1, (70, 3, 9)) + 4096).astype(float32)
    v = results_of("batch_norm_statistics", (near,), {}, (float32, float32))[1]
    np.testing.assert_allclose(v, near.astype(float64).var((0, 2)), rtol=1e-4)


@pytest.mark.parametrize("dtype", [float16, float32], ids=str)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((300_007,), (0,)),
        ((100_003, 3), (0,)),
        ((3000, 2500), (0,)),
        ((2, 150_000), (1,)),
        ((100, 7, 300), (1,)),
        ((3, 7000, 30), (1,)),
        ((20_000, 3, 2), (1,)),
        ((7, 6, 5, 400), (1, 3)),
        ((0, 3), (0,)),
        ((3, 0, 2), (0,)),
        ((1, 5, 1), (0, 2)),
        ((), ()),
    ],
)
def test_long_sums_err_no_more_than_short_ones(shape, axes, dtype):
    x = np.random.default_rng(0).normal(1, 1, shape).astype(dtype)
    y, exact = sum_over(x, axes, float32, 0.5), x.astype(float64).sum(axes) * 0.5
    size = np.abs(x.astype(float64)).sum(axes) * 0.5
    assert (y.shape, y.dtype) == (exact.shape, float32)
    assert (np.abs(y - exact) <= 8 * 2.0**-24 * size).all()
