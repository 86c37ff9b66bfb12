"""Compiled kernels: pooling, numbers that meet at places, folding, resizing, products, attention.

Random shapes and memory layouts, larger than those of the cases, against the references: exactly,
where nothing is rounded, or within the bound; and the same bytes on any number of threads.
"""

import zlib

import cases  # noqa: F401 (the bounds of kernels whose sums go through further arithmetic)
import numpy as np
import pytest
from bounds import Calls

import minifp as fp
from minifp.numerics.formats import downcast, float16, float32, upcast
from minifp.numerics.kernels import KERNELS
from minifp.ops.pooling.pool_windows import adaptive_axes, pool_axes
from minifp.runtime import cpu

pytestmark = pytest.mark.skipif(not cpu.can_compile(), reason="nothing is compiled")

NAMED = {k.name: k for k in KERNELS}
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 6e-8, 65504.0])


class Draw:
    """Random sizes, and arrays of a format in random memory layouts."""

    def __init__(self, seed, dtype=float16, special=False):
        self.random = np.random.default_rng(seed)
        self.dtype, self.special = np.dtype(dtype), special

    def size(self, low, high):
        """A size from low to high."""
        return int(self.random.integers(low, high + 1))

    def choice(self, *given):
        """One of what is given."""
        return given[self.size(0, len(given) - 1)]

    def array(self, *shape, dtype=None):
        """Numbers, of which some are alike; with `special`, NaN, Inf and -0 among them."""
        x = self.random.normal(0, 1, shape).round(self.choice(1, 3))
        if self.special and x.size:
            where = self.random.integers(0, x.size, 1 + x.size // 50)
            x.reshape(-1)[where] = self.random.choice(SPECIAL, where.size)
        return self.laid(x.astype(dtype or self.dtype))

    def laid(self, x):
        """x in a memory layout that is not always C order."""
        if not np.ndim(x):
            return np.asarray(x)
        kind = self.choice("C", "C", "Fortran", "backwards", "every other", "moved", "frozen")
        if kind == "Fortran":
            return np.asfortranarray(x)
        if kind == "backwards":
            return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
        if kind == "every other":
            return np.repeat(x, 2, -1)[..., ::2]
        if kind == "moved" and x.ndim > 1:
            return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
        if kind == "frozen":
            x.flags.writeable = False
        return x

    def indices(self, n, *shape):
        """Places below n, some of them often; of any integer type and layout."""
        i = self.random.integers(0, n, shape) // self.choice(1, 2, n)
        return self.laid(i.astype(self.choice("int64", "int32", "uint8" if n < 256 else "int64")))


# ---- a random call of each kernel: (name, arguments, keywords, format of the result) -------------


def pooled(d, kind):
    """x and the windows of a pooling."""
    ndim = d.choice(1, 2, 2)
    lead = d.choice((2, 3), (d.size(1, 40),), (1, 1), (0, 2))
    x = d.array(*lead, *(d.size(1, 40) for _ in range(ndim)))
    tensor = fp.Tensor(x)
    if d.choice(True, False, False):
        return x, adaptive_axes(kind, tensor, ndim, tuple(d.size(1, 9) for _ in range(ndim)))
    for _ in range(100):
        size = [d.size(1, d.choice(3, 4, 19)) for _ in range(ndim)]
        padding = [d.size(0, k // 2) for k in size]
        stride = [d.size(1, 4) for _ in range(ndim)]
        dilation = [d.size(1, 2) for _ in range(ndim)] if kind == "max_pool" else 1
        ceil_mode = d.choice(True, False)
        try:
            return x, pool_axes(kind, tensor, ndim, size, stride, padding, ceil_mode, dilation)
        except fp.ShapeError:
            pass
    return x, pool_axes(kind, tensor, ndim, 1, 1, 0, False, 1)


def max_pool_forward(d):
    x, axes = pooled(d, "max_pool")
    return "max_pool.max_pool_forward", (x,), {"axes": axes}, None


def max_pool_dx(d):
    x, axes = pooled(d, "max_pool")
    wide = x.astype(float32)
    y, chosen = NAMED["max_pool.max_pool_forward"].reference(wide, axes=axes)
    dy, chosen = d.array(*y.shape), d.laid(chosen)
    return "max_pool.max_pool_dx", (dy, chosen), {"axes": axes}, d.dtype


def averaging(d, axes):
    override = d.choice(None, None, 3, -7)
    return {"axes": axes, "include_pad": d.choice(True, False), "override": override}


def avg_pool_forward(d):
    x, axes = pooled(d, "avg_pool")
    return "avg_pool.avg_pool_forward", (x,), averaging(d, axes), None


def avg_pool_dx(d):
    x, axes = pooled(d, "avg_pool")
    dy = d.array(*x.shape[: x.ndim - len(axes)], *(a.count for a in axes))
    return "avg_pool.avg_pool_dx", (dy,), averaging(d, axes), d.dtype


def embedding_dw(d):
    V, shape = d.size(1, 300), d.choice((d.size(0, 500),), (7, 30), ())
    i = d.indices(V, *shape)
    settings = {"rows": V, "padding_idx": d.choice(None, d.size(0, V - 1))}
    dy = d.array(*shape, d.choice(1, 2, 33, 300))
    return "embedding.embedding_dw", (dy, i), settings, d.dtype


def getitem_dx(d):
    shape = (d.size(1, 9), d.size(1, 70), d.size(1, 9))
    i, j = (d.random.integers(0, n, 60) for n in shape[:2])
    whole, index = slice(None), d.choice(0, 1, 2)
    arrays = ((i, whole, whole), (whole, j, whole), (i, j, whole))[index]
    dy = d.array(*np.empty(shape)[arrays].shape)
    settings = {"shape": shape, "basic": (...,), "arrays": arrays}
    return "indexing.getitem_dx", (dy,), settings, d.dtype


def gather_dx(d):
    axis, shape = d.size(0, 2), [d.size(1, 30) for _ in range(3)]
    taken = [n if d.choice(True, True, False) else d.size(0, n) for n in shape]
    taken[axis] = d.size(0, 80)
    i, settings = d.indices(shape[axis], *taken), {"axis": axis, "shape": tuple(shape)}
    return "gather_scatter.gather_dx", (d.array(*taken), i), settings, d.dtype


def scatter_add_forward(d):
    _, (src, i), settings, _ = gather_dx(d)
    return (
        *("gather_scatter.scatter_add_forward", (d.array(*settings["shape"]), src, i)),
        *({"axis": settings["axis"]}, None),
    )


def sliced(d):
    axis, shape = d.size(0, 2), [d.size(1, 30) for _ in range(3)]
    n, shape[axis] = d.size(1, 50), d.size(0, 90)
    return axis, n, d.array(*shape), d.indices(n, shape[axis])


def index_select_dx(d):
    axis, n, dy, i = sliced(d)
    return "slices.index_select_dx", (dy, i), {"axis": axis, "n": n}, d.dtype


def index_add_forward(d):
    axis, n, src, i = sliced(d)
    x = d.array(*(n if k == axis else m for k, m in enumerate(src.shape)))
    return "slices.index_add_forward", (x, src, i), {"axis": axis, "alpha": d.choice(1, 0.3)}, None


def pad_forward(d):
    x = d.array(*(d.size(0, 20) for _ in range(3)))
    widths = tuple((d.size(-min(n, 2) // 2, 4), d.size(0, 4)) for n in x.shape)
    return "padding.pad_forward", (x,), {"widths": widths, "value": d.choice(0, -0.1, 1e6)}, None


def pad_around_dx(d):
    shape = (d.size(0, 20), d.size(5, 20), d.size(5, 20))
    widths = ((0, 0), *((d.size(0, 4), d.size(1, 4)) for _ in range(2)))
    settings = {"mode": d.choice("reflect", "replicate", "circular")}
    dy = d.array(*(n + b + a for n, (b, a) in zip(shape, widths)))
    return "padding.pad_around_dx", (dy,), {"shape": shape, "widths": widths, **settings}, d.dtype


def folding(d):
    size, kernel = (d.size(6, 20), d.size(6, 20)), (d.size(1, 3), d.size(1, 3))
    settings = {"dilation": (d.size(1, 2), 1), "padding": (d.size(0, 2), d.size(0, 2))}
    window = {"kernel_size": kernel, "stride": (d.size(1, 3), d.size(1, 3)), **settings}
    return size, window, (d.size(0, 3), d.size(1, 4), *size)


def unfold_columns(d):
    _, window, shape = folding(d)
    return "folding.unfold_columns", (d.array(*shape),), window, d.dtype


def fold_forward(d):
    size, window, shape = folding(d)
    y = NAMED["folding.unfold_columns"].reference(np.zeros(shape, float32), **window)
    return "folding.fold_forward", (d.array(*y.shape),), {"size": size, **window}, None


def resizing(d):
    ndim = d.choice(1, 2)
    mode = d.choice("nearest", "nearest-exact", ("linear", "bilinear")[ndim - 1])
    corners = d.choice(True, False) and "linear" in mode
    settings = {"factors": (None,) * ndim, "mode": mode, "align_corners": corners}
    return [[d.size(1, 40) for _ in range(ndim)] for _ in range(2)], settings


def interpolate_forward(d):
    (sizes, counts), settings = resizing(d)
    x = d.array(d.size(0, 3), 5, *sizes)
    return "interpolate.interpolate_forward", (x,), {"counts": tuple(counts), **settings}, None


def interpolate_dx(d):
    (sizes, counts), settings = resizing(d)
    dy = d.array(d.size(0, 3), 5, *counts)
    return "interpolate.interpolate_dx", (dy,), {"sizes": tuple(sizes), **settings}, d.dtype


def factors(d):
    """Two operands of a product, with batches that broadcast, or without."""
    lead = d.choice((), (3,), (2, 3), (0,))
    one, other = lead, d.choice(lead, lead, (1,) * len(lead), lead[1:], ())
    M, K, N = (d.choice(0, 1, 1, d.size(2, 90)) for _ in range(3))
    one, other = d.choice((one, other), (other, one))
    return d.array(*one, M, K), d.array(*other, K, N)


def matmul_forward(d):
    return "matmul.matmul_forward", factors(d), {}, None


def matmul_dx(d):
    x, y = factors(d)
    dz = d.array(*np.matmul(np.zeros(x.shape), np.zeros(y.shape)).shape)
    return "matmul.matmul_dx", (dz, y), {"shape": x.shape}, d.dtype


def matmul_dy(d):
    x, y = factors(d)
    dz = d.array(*np.matmul(np.zeros(x.shape), np.zeros(y.shape)).shape)
    return "matmul.matmul_dy", (x, dz), {"shape": y.shape}, d.dtype


def addmm_forward(d):
    M, K, N = d.size(1, 50), d.size(0, 50), d.size(1, 50)
    c = d.array(*d.choice((N,), (M, N), (1, N), (M, 1), (1, 1)))
    settings = {"beta": d.choice(0, 1, 0.5), "alpha": d.choice(1, -2.5)}
    c = c if settings["beta"] else np.nan_to_num(c)  # the bound does not know that it is not read
    return "matmul.addmm_forward", (c, d.array(M, K), d.array(K, N)), settings, None


def einsum_forward(d):
    left, right, out = d.choice(
        *(("bij", "bjk", "bik"), ("bij", "bkj", "kbi"), ("ij", "jk", "ki"), ("i", "j", "ij")),
        *(("abij", "bjk", "aik"), ("ijk", "j", "ki"), ("ib", "jb", "bji")),
    )
    sizes = {n: d.size(1, 20) for n in "abijk"}
    x, y = (d.array(*(sizes[n] for n in names)) for names in (left, right))
    names = {"left": tuple(left), "right": tuple(right), "out": tuple(out)}
    return "einsum.einsum_forward", (x, y), names, None


def queries(d):
    lead, (L, S, E) = d.choice((), (3,), (2, 4)), (d.size(1, 70) for _ in range(3))
    return lead, L, S, E, {"scale": d.choice(0.3, E**-0.5)}


def attention_scores(d):
    lead, L, S, E, settings = queries(d)
    masks = (None, d.random.random((L, S)) < 0.7, d.array(*lead, 1, S), d.array(L, S))
    settings["is_causal"] = d.choice(True, False, False)
    mask = None if settings["is_causal"] else d.choice(*masks)
    return (
        "attention.attention_scores",
        (d.array(*lead, L, E), d.array(*lead, S, E), mask),
        settings,
        None,
    )


def attention_probabilities(d):
    s = np.array(d.array(d.size(0, 4), d.size(1, 70), d.size(1, 300)))
    s[d.random.random(s.shape) < d.choice(0.1, 0.9)] = -np.inf
    return "attention.attention_probabilities", (d.laid(s),), {}, None


def attention_dp(d):
    lead, L, S, E, _ = queries(d)
    dp = d.choice(None, d.array(*lead, L, S))
    return "attention.attention_dp", (d.array(*lead, L, E), d.array(*lead, S, E), dp), {}, d.dtype


def attention_dq(d):
    lead, L, S, E, settings = queries(d)
    settings["shape"] = d.choice((*lead, L, E), (1,) * len(lead) + (L, E))
    return "attention.attention_dq", (d.array(*lead, L, S), d.array(*lead, S, E)), settings, d.dtype


def attention_dk(d):
    lead, L, S, E, settings = queries(d)
    settings["shape"] = (*lead, S, E)
    return "attention.attention_dk", (d.array(*lead, L, S), d.array(*lead, L, E)), settings, d.dtype


CALLS = [
    max_pool_forward, max_pool_dx, avg_pool_forward, avg_pool_dx, embedding_dw, getitem_dx,
    gather_dx, scatter_add_forward, index_select_dx, index_add_forward, pad_forward, pad_around_dx,
    unfold_columns, fold_forward, interpolate_forward, interpolate_dx, matmul_forward, matmul_dx,
    matmul_dy, addmm_forward, einsum_forward, attention_scores, attention_probabilities,
    attention_dp, attention_dq, attention_dk,
]  # fmt: skip
named = pytest.mark.parametrize("make", CALLS, ids=lambda make: make.__name__)
stored = pytest.mark.parametrize("dtype", [float16, float32], ids=str)


def drawn(make, count, dtype=float16, special=False):
    """`count` random calls: (kernel, arguments, keywords with `to`)."""
    for n in range(count):
        seed = zlib.crc32(f"{make.__name__} {n}".encode())
        name, args, params, to = make(Draw(seed, dtype, special))
        assert NAMED[name].compiled is not None
        yield NAMED[name], args, {**params, "to": to}


@named
@stored
def test_a_compiled_kernel_is_within_the_bound_for_any_shape_and_layout(make, dtype):
    for kernel, args, params in drawn(make, 25, dtype):
        before = [None if a is None else a.copy() for a in args]
        with Calls() as calls:
            results = kernel(*args, **params)
        (call,) = calls
        assert call.excess() <= 1, (call.kernel, [np.shape(a) for a in args], params)
        for y, exact in zip(results if isinstance(results, tuple) else (results,), call.exact()[0]):
            assert type(y) is np.ndarray and y.shape == np.shape(exact) and y.flags.c_contiguous
            assert y.dtype == (dtype if y.dtype.kind == "f" else y.dtype)
        for a, b in zip(args, before):
            np.testing.assert_array_equal(a, b)


@named
def test_numbers_that_are_not_finite_pass_through_a_compiled_kernel(make):
    for kernel, args, params in drawn(make, 15, special=True):
        with Calls() as calls:
            kernel(*args, **params)
        with np.errstate(all="ignore"):
            assert calls[0].excess() <= 1, (kernel, [np.shape(a) for a in args], params)


@named
def test_a_compiled_kernel_gives_the_same_bytes_on_any_number_of_threads(make, monkeypatch):
    from minifp.runtime.cpu import pool

    monkeypatch.setattr(pool, "WORTH_A_THREAD", -1)
    before = fp.get_num_threads()
    try:
        for kernel, args, params in drawn(make, 5):
            found = []
            for count in (1, 2, 3):
                fp.set_num_threads(count)
                results = kernel(*args, **params)
                results = results if isinstance(results, tuple) else (results,)
                found.append([r.tobytes() for r in results])
            assert found[0] == found[1] == found[2]
    finally:
        fp.set_num_threads(before)


# ---- the largest --------------------------------------------------------------------------------


@stored
@pytest.mark.parametrize("special", [False, True])
def test_the_place_of_the_largest_is_that_of_the_reference(dtype, special):
    """Of equal ones the first, the first NaN, and never padding, also where all is -Inf."""
    for n, (kernel, (x,), params) in enumerate(drawn(max_pool_forward, 60, dtype, special)):
        x = np.array(x)
        if special and n % 3 == 0:
            x[np.random.default_rng(n).random(x.shape) < 0.7] = -np.inf
        params.pop("to")
        y, chosen = kernel(x, **params)
        z, expected = kernel.reference(x.astype(float32), **params)
        assert chosen.dtype == expected.dtype
        np.testing.assert_array_equal(chosen, expected)
        np.testing.assert_array_equal(y, z.astype(dtype))


def test_a_mean_of_the_whole_is_a_sum_in_blocks():
    x = np.full((3, 5, 64, 64), 0.1, float16)
    y = fp.ops.adaptive_avg_pool2d(fp.Tensor(x), 1)
    np.testing.assert_array_equal(y.array, np.full((3, 5, 1, 1), float16.type(0.1)))


# ---- what meets ---------------------------------------------------------------------------------


def test_a_row_used_3000_times_sums_its_gradients_in_float32():
    dy, i = np.ones((3000, 5), float16), np.zeros(3000, np.int64)
    for kernel, args, params in (
        ("embedding.embedding_dw", (dy, i), {"rows": 4, "padding_idx": None}),
        ("slices.index_select_dx", (dy, i), {"axis": 0, "n": 4}),
    ):
        dw = NAMED[kernel](*args, **params, to=float16)
        assert dw.tolist() == [[3000] * 5] + [[0] * 5] * 3
    x, src = np.full(1, 2048, float16), np.ones(3000, float16)
    y = NAMED["gather_scatter.scatter_add_forward"](x, src, i, axis=0)
    assert y.tolist() == [5048]


def test_gradients_that_meet_are_rounded_once_however_many_and_in_any_layout():
    from minifp.autograd.gradient_sum import GradientSum

    random = np.random.default_rng(0)
    with fp.precision("mixed") as precision:
        for count in (1, 2, 3, 5):
            parts = [random.normal(0, 1, (6, 50, 7)).astype(float16) for _ in range(count)]
            laid = [np.asfortranarray(p) if i % 2 else p for i, p in enumerate(parts)]
            summed = GradientSum(laid[0])
            for part in laid[1:]:
                summed.add(part, precision)
            total = np.zeros(parts[0].shape, float32)
            for part in parts:
                total += part
            y = summed.rounded(float16)
            assert y.dtype == float16 and (count > 1 or y is laid[0])
            np.testing.assert_array_equal(y, total.astype(float16))
            np.testing.assert_array_equal(laid[-1], parts[-1])
    with fp.precision("mixed,reduce=float16") as precision:
        summed = GradientSum(np.full(3, 2048, float16))
        summed.add(np.ones(3, float16), precision).add(np.ones(3, float16), precision)
        assert summed.rounded(float16).tolist() == [2048] * 3


# ---- conversions --------------------------------------------------------------------------------


def test_large_arrays_are_rounded_bit_for_bit_as_numpy_rounds_them():
    from minifp.runtime.cpu.convert import converted, rounded_to_half

    random = np.random.default_rng(0)
    halves = np.arange(65536, dtype=np.uint16).view(float16)
    finite = np.sort(halves[np.isfinite(halves)].astype(np.float64))
    middle = (finite[1:] + finite[:-1]) / 2
    doubles = random.integers(0, 2**64, 200_000, dtype=np.uint64).view(np.float64)
    near = [middle * (1 + step) for step in (0, 1e-16, -1e-16, 1e-12, -1e-9, 3e-8)]
    near += [np.array([65520.0, 65520 - 1e-9, 65519.99, 1e300, -np.inf, np.nan, -0.0, 1e-300])]
    singles = random.integers(0, 2**32, 200_000, dtype=np.uint32).view(float32)
    with np.errstate(all="ignore"):
        for x in (doubles, *near, *(a.astype(float32) for a in near), singles):
            expected = x.astype(float16)
            np.testing.assert_array_equal(converted(x, np.dtype(float16)), expected)
            signs = np.signbit(converted(x, np.dtype(float16))) == np.signbit(expected)
            assert (signs | np.isnan(expected)).all()
            if x.dtype == float32:
                wide = rounded_to_half(x)
                np.testing.assert_array_equal(wide, expected.astype(float32))
        np.testing.assert_array_equal(converted(halves, np.dtype(float32)), halves.astype(float32))


def test_a_conversion_keeps_shape_and_order_and_copies_what_lies_in_neither():
    x = np.random.default_rng(0).normal(0, 1, (40, 50, 3)).astype(float32)
    for a in (x, np.asfortranarray(x), x.transpose(1, 2, 0), x[::2, ::-1], x[:0]):
        y = downcast(a, np.dtype(float16))
        np.testing.assert_array_equal(y, a.astype(float16))
        assert y.flags.forc
        np.testing.assert_array_equal(upcast(y, np.dtype(float32)), y.astype(float32))
