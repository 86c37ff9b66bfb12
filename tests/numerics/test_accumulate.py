"""Claims about the two primitives through which every kernel sums: plain, and sequential float16.

The oracle of the sequential ones, whole and in chunks, is a Python loop over NumPy's float16
numbers. Both the reference and its compiled kernel must agree with it bit for bit.
"""

import importlib.util
import os
import textwrap
from math import log2, prod
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, mutually_broadcastable_shapes
from own_process import python
from refusals import refuses

from minifp.errors import PrecisionError, ShapeError
from minifp.numerics.accumulate import primitives
from minifp.numerics.sum_format import sum_format

pytestmark = pytest.mark.references

half, single, double = np.float16, np.float32, np.float64


def sum_in(sums):
    return primitives(sums).sum


def dot_in(sums):
    return primitives(sums).dot


sequential_sum, sequential_dot = sum_in("float16"), dot_in("float16")

HAS_NUMBA = importlib.util.find_spec("numba") is not None
NOT_COMPILED = os.environ.get("MINIFP_KERNELS") == "numpy" or not HAS_NUMBA
needs_compiled = pytest.mark.skipif(NOT_COMPILED, reason="the compiled kernels are not in use")
both = pytest.mark.parametrize(
    "which", ["reference", pytest.param("compiled", marks=needs_compiled)]
)


def using(which):
    """A context in which sequential sums are the reference's or the compiled kernel's."""
    return mock.patch.dict(os.environ, MINIFP_KERNELS="numpy" if which == "reference" else "")


def assert_same(y, expected):
    """Equal in bits, except that every NaN is as good as another."""
    expected = np.asarray(expected, single)
    assert type(y) is np.ndarray and y.dtype == single and y.shape == expected.shape
    equal = (y.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(y) & np.isnan(expected))
    assert equal.all(), (y[~equal][:5], expected[~equal][:5])


def loop_sum(addends, chunk=None):
    """Add one after the other to a float16 accumulator, of each chunk, and these to a float32 one.

    addends (K) of any format.
    """
    addends, whole = np.asarray(addends), single(0)
    with np.errstate(all="ignore"):
        for start in range(0, len(addends), chunk or len(addends) or 1):
            total = half(0)
            for addend in addends[start:][:chunk].astype(half):
                total = half(total + addend)
            whole = whole + single(total)
    return whole


def loop_dot(a, b, chunk=None):
    with np.errstate(all="ignore"):
        a, b = a.astype(half), b.astype(half)
        rows = [[loop_sum(a[m] * b[:, n], chunk) for n in range(b.shape[1])] for m in range(len(a))]
    return np.array(rows, single).reshape(len(a), b.shape[1])


def loop_sums(x, axes, chunk=None):
    """The loop over the reduced axes in C order, for each place of the kept ones."""
    kept = [i for i in range(x.ndim) if i not in axes]
    y = np.empty([x.shape[i] for i in kept], single)
    for place in np.ndindex(*y.shape):
        index = [slice(None)] * x.ndim
        for i, n in zip(kept, place):
            index[i] = n
        y[place] = loop_sum(x[tuple(index)].reshape(-1), chunk)
    return y


def random_halves(seed, *shape):
    """Any bits: subnormals, Inf and NaN among them."""
    return np.random.default_rng(seed).integers(0, 65536, shape, np.uint16).view(half)


halves = st.integers(0, 65535).map(lambda bits: np.uint16(bits).view(half))
extremes = st.sampled_from([0.0, -0.0, 1.0, 0.1, 2**-24, 2**-25, 65504.0, 65519.9, 65520.0, np.inf])
ordinary = st.floats(-300, 300, width=16)
numbers = st.one_of(ordinary, extremes, extremes.map(lambda x: -x), halves.map(float))
wider = st.one_of(numbers, st.floats(width=32))  # what has to be rounded on the way in


def as_single(x):
    with np.errstate(all="ignore"):
        return float(single(x))


def arrays_of(shape, elements=wider):
    return arrays(single, shape, elements=elements.map(as_single), fill=st.nothing())


chunks = st.none() | st.integers(1, 6)


def sums_of(chunk):
    return "float16" if chunk is None else f"chunked:{chunk}"


@both
def test_every_half_and_every_float32_beside_a_border_is_rounded_as_numpy_rounds_it(which):
    x = np.arange(65536, dtype=np.uint16).view(half).astype(single)
    finite = np.sort(x[np.isfinite(x)])
    borders = (finite[1:].astype(double) + finite[:-1]) / 2  # ties, exact in float32
    borders = np.concatenate([borders, [65520, -65520, 1e5, 2e38, 2**-26, 1e-40]]).astype(single)
    points = [
        x, borders, np.nextafter(borders, single(np.inf)), np.nextafter(borders, single(-9e9)),
    ]  # fmt: skip
    x = np.concatenate(points)
    with np.errstate(all="ignore"):
        expected = x.astype(half).astype(single) + single(0)  # a sum starts at +0: no -0
    with using(which):
        assert_same(sequential_sum(x[None], axis=0), expected)
        assert_same(sequential_dot(np.ones((1, 1), single), x[None]), expected[None])


@both
def test_sums_and_products_of_two_halves_are_rounded_once(which):
    x, y = random_halves(0, 500_000), random_halves(1, 500_000)
    with np.errstate(all="ignore"):
        total, product = (x + y).astype(single) + single(0), np.outer(x[:700], y[:700])
        product = product.astype(single) + single(0)
    with using(which):
        assert_same(sequential_sum(np.stack([x, y]), axis=0), total)
        assert_same(sequential_dot(x[:700, None], y[None, :700]), product)


@both
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_sequential_sum_is_the_loop_over_halves(which, data):
    x = data.draw(arrays_of(st.lists(st.integers(0, 5), max_size=4).map(tuple)))
    x = data.draw(st.sampled_from([x, x.T, x[::-1] if x.ndim else x, x.repeat(2, -1)[..., ::2]]))
    axis = data.draw(
        st.none() | st.lists(st.integers(0, x.ndim - 1), unique=True) if x.ndim else st.none()
    )
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis)
    if axis is not None:
        axis = tuple(data.draw(st.sampled_from([i, i - x.ndim])) for i in axis)
    chunk = data.draw(chunks)
    expected, before = loop_sums(x, axes, chunk), x.copy()
    with using(which):
        assert_same(sum_in(sums_of(chunk))(x, axis), expected)
        kept = sum_in(sums_of(chunk))(x, axis, keepdims=True)
    assert_same(kept, expected.reshape([1 if i in axes else n for i, n in enumerate(x.shape)]))
    np.testing.assert_array_equal(x, before)


@both
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_sequential_dot_is_the_loop_over_halves(which, data):
    leading = data.draw(
        mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=0, max_side=3)
    )
    M, K, N = (data.draw(st.integers(0, 5)) for _ in range(3))
    a = data.draw(arrays_of((*leading.input_shapes[0], M, K)))
    b = data.draw(arrays_of((*leading.input_shapes[1], N, K))).swapaxes(-1, -2)
    result = leading.result_shape
    a_all, b_all = (np.broadcast_to(x, (*result, *x.shape[-2:])) for x in (a, b))
    expected, chunk = np.empty((*result, M, N), single), data.draw(chunks)
    for i in np.ndindex(*result):
        expected[i] = loop_dot(a_all[i], b_all[i], chunk)
    with using(which):
        dot = dot_in(sums_of(chunk))
        assert_same(dot(a, b), expected)
        assert_same(dot(a_all, b_all), expected)  # broadcast by strides of 0


SHAPES = [
    (1, 1, 1), (1, 300, 1), (3, 0, 5), (0, 4, 5), (64, 33, 10), (10, 33, 64), (70, 9, 1),
    (17, 40, 131), (2, 40, 3000),
]  # fmt: skip


@needs_compiled
@pytest.mark.parametrize("M, K, N", SHAPES)
def test_compiled_kernel_and_reference_agree_in_every_bit(M, K, N):
    rng = np.random.default_rng(M + K + N)
    x, y = rng.standard_normal((2, M, K)).astype(single), rng.standard_normal((K, N)).astype(single)
    pairs = [(x * single(s), y * single(s)) for s in (1.0, 2.0**-9, 200.0)]
    for a, b in [*pairs, (random_halves(2, 2, M, K), random_halves(3, K, N))]:
        results = []
        for which in ("reference", "compiled"):
            with using(which):
                results.append([sequential_dot(a, b), sequential_dot(a[0].T.copy().T, b)])
                results[-1] += [sequential_sum(b, i) for i in (None, 0, 1)]
                results[-1] += [sequential_sum(a, i) for i in ((0, 2), (1, 2), 1)]
                results[-1] += [sequential_sum(np.asfortranarray(b), 0)]
        for ours, expected in zip(*results):
            assert_same(ours, expected)


@both
def test_operands_may_be_read_only_unaligned_swapped_wider_or_narrower(which):
    x = np.random.default_rng(7).standard_normal((6, 8)).astype(single)
    expected = loop_dot(x, x.T)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(single).reshape(x.shape)
    with using(which):
        for y in (unaligned, x.astype(">f4"), x.astype(half)):
            assert_same(sequential_dot(y, y.T), expected)
            assert_same(sequential_sum(y, 1), loop_sums(x, (1,)))
        integers = np.arange(-12, 12).reshape(4, 6)
        assert_same(sequential_sum(integers, 0), integers.sum(0))
        beyond = np.array([[1 + 2**-11 + 2**-40]])  # a tie; float32 would round it onto the tie
        assert sequential_sum(beyond, 0) == single(1 + 2**-10)
        assert sequential_dot(beyond, np.ones((1, 1))) == single(1 + 2**-10)


@both
def test_overflow_begins_at_65520_and_tiny_products_are_lost_and_neither_comes_back(which):
    tiny, ones = np.full((1, 64), 2**-13, single), np.ones((64, 1), single)
    nan = float("nan")
    with using(which):
        for addends, expected in (
            *(([65519.9], 65504), ([65520], np.inf), ([65504, 15], 65504)),
            *(([-65504, -16], -np.inf), ([65504, 16, -65504], np.inf), ([65504, 16, -np.inf], nan)),
        ):
            assert_same(np.asarray(sequential_sum(np.array(addends, single))), expected)
        for a, b, expected in (([[256, 1]], [[256], [-9]], np.inf), ([[np.inf]], [[0]], nan)):
            y = sequential_dot(np.array(a, single), np.array(b, single))
            np.testing.assert_array_equal(y, expected)
        assert sequential_dot(tiny, ones * single(2**-12)) == 0  # 2^-25, a tie with 0
        assert sequential_dot(tiny, ones * single(1.001 * 2**-12)) == 64 * 2**-24
        assert sequential_dot(tiny, ones * single(2**-11)) == 64 * 2**-24


def chunk_by_chunk(fn, K, n):
    """The float32 sum of fn(start, stop) over chunks of n of K addends."""
    parts = [fn(start, start + n) for start in range(0, K, n)]
    with np.errstate(invalid="ignore"):
        return np.add.accumulate([np.zeros_like(parts[0]), *parts])[-1]


@both
@pytest.mark.parametrize("M, K, N", [(3, 1000, 2), (100, 50, 90), (190, 9, 180)])
@pytest.mark.parametrize("n", [1, 8, 32])
def test_chunks_are_sequential_sums_that_are_added_in_float32(which, M, K, N, n):
    """However many results of them stay in the cache at once: all, some, or those of one."""
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((M, K), single), rng.standard_normal((K, N), single)
    a[0, [0, -1]] = np.inf, -np.inf
    with using(which):
        products = chunk_by_chunk(lambda i, j: sequential_dot(a[:, i:j], b[i:j]), K, n)
        assert_same(dot_in(f"chunked:{n}")(a, b), products)
        sums = chunk_by_chunk(lambda i, j: sequential_sum(b[i:j], 0), K, n)
        assert_same(sum_in(f"chunked:{n}")(b, 0), sums)


def test_sums_are_chosen_by_their_format_and_chunks_hold_what_float16_cannot():
    large, twos = np.full((8, 1), 20000, half), np.full(64, 2.0, single)
    assert sum_in("float16")(large) == np.inf and sum_in("chunked:3")(large) == 160000
    assert sum_in("chunked:4")(large) == np.inf  # 4 x 20000 > 65504 in the first chunk
    assert primitives("chunked:8").prod(twos) == 2.0**64
    assert primitives("chunked:8").cumprod(twos, 0)[40] == 2.0**41
    assert primitives("float16").sum is sum_in(np.dtype(half)) is not sum_in("float32")
    assert sum_in("float32") is sum_in(double) and dot_in(single) is dot_in("float32")
    assert sum_in(half) is sum_in(half) and dot_in(half) is dot_in(half)
    assert primitives("chunked:032") is primitives(sum_format("chunked:32"))


def assert_within_bound(x, axes, y):
    """|error| <= (16 r + 4 log2 n) 2^-24 sum|x|, as plain_sum promises."""
    exact, size = x.sum(axis=axes, dtype=double), np.abs(x).sum(axis=axes, dtype=double)
    n = max(1, prod(x.shape[i] for i in axes))
    bound = (16 * len(axes) + 4 * log2(n)) * 2.0**-24 * size
    assert y.shape == exact.shape and y.dtype == x.dtype and type(y) is np.ndarray
    assert (np.abs(y - exact) <= bound).all()


@pytest.mark.parametrize(
    "shape", [(1_000_000, 3), (1_000_000,), (31, 33_000), (65_537, 17), (7, 40_001, 5)]
)
def test_plain_sum_of_up_to_a_million_float32_is_accurate_along_every_axis(shape):
    x = np.full(shape, 0.1, single) + np.random.default_rng(0).random(shape, single)
    for axes in [(i,) for i in range(x.ndim)] + [tuple(range(x.ndim))]:
        assert_within_bound(x, axes, sum_in("float32")(x, axes))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_plain_sum_has_the_shape_and_the_value_of_numpy_in_float64(data):
    shape = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 16, 17, 40]), max_size=4).map(tuple))
    order = data.draw(st.permutations(range(len(shape))))
    x = np.random.default_rng(1).standard_normal(shape).astype(single).transpose(order)
    x = data.draw(st.sampled_from([x, x[::-1] if x.ndim else x, x[..., ::2] if x.ndim else x]))
    axes = data.draw(
        st.lists(st.integers(0, x.ndim - 1), unique=True).map(tuple) if x.ndim else st.just(())
    )
    y = sum_in("float32")(x, axes)
    assert_within_bound(x, axes, y)
    np.testing.assert_array_equal(sum_in("float32")(x, axes, keepdims=True), np.sum(y, ()).reshape(
        [1 if i in axes else n for i, n in enumerate(x.shape)]
    ))  # fmt: skip


def test_plain_sums_and_dots_compute_in_at_least_float32_and_pass_inf_and_nan():
    x = np.ones((40, 20), single)
    x[17, 3], x[20, 5] = np.inf, np.nan
    y = sum_in("float32")(x, 0)
    assert np.isinf(y[3]) and np.isnan(y[5]) and (np.delete(y, [3, 5]) == 40).all()
    np.testing.assert_array_equal(sum_in("float32")(np.broadcast_to(single(2), (50, 60)), 0), 100)
    x = np.full((4096, 2), 0.1, half)
    y = sum_in("float32")(x, 0)
    assert y.dtype == single and abs(y - 4096 * float(half(0.1))).max() < 1e-2
    assert dot_in("float32")(x.T, x).dtype == single
    wide = x.astype(double)
    assert sum_in("float64")(wide, 0).dtype == dot_in("float64")(wide.T, wide).dtype == double
    integers = np.arange(2**24, 2**24 + 40)
    assert sum_in("float32")(integers) == integers.sum()  # exact, as an integer
    rng = np.random.default_rng(2)
    shapes = [((3, 4, 5), (5, 6)), ((4, 5), (3, 5, 6)), ((2, 1, 4, 5), (3, 5, 6))]
    for a, b in [*shapes, ((0, 4, 5), (5, 6)), ((3, 4, 0), (0, 6))]:
        a, b = rng.standard_normal(a), rng.standard_normal(b)
        y = dot_in("float64")(a, b)
        assert y.shape == (a @ b).shape
        np.testing.assert_allclose(y, a @ b, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", ["int32", "float12", bool, "chunked:0"])
def test_no_sums_in_what_is_no_floating_format(dtype):
    refuses(PrecisionError, "expected", sum_in, dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_shapes_that_do_not_fit_are_named(dtype):
    def zeros(*shape):
        return np.zeros(shape, single)

    for a, b in [((2, 3), (2, 3)), ((3,), (3, 2)), ((2, 2, 3), (3, 3, 2)), ((2, 3), ())]:
        with pytest.raises(ShapeError, match=r"dot of shapes .* expected \(\.\.\., M, K\)"):
            dot_in(dtype)(zeros(*a), zeros(*b))
    for axis in (2, -3, (0, 0), (0, -2)):
        refuses(ShapeError, r"sum over axis .* of shape \(2, 3\)", sum_in(dtype), zeros(2, 3), axis)


CHECK = """
    import sys
    import numpy as np
    from minifp.numerics import accumulate
    print("numba" in sys.modules)
    assert accumulate.primitives("float16").sum(np.ones((3000, 1), "f")) == 2048
    print(accumulate.compiled(accumulate.formats.float16) is not None)
"""


def test_numba_is_imported_at_the_first_sequential_sum_and_where_it_fails_references_serve():
    hidden = "import sys; sys.modules['numba'] = None\n" + textwrap.dedent(CHECK)
    for code, environment, said in (
        *((CHECK, {}, ["False", str(HAS_NUMBA)]), (hidden, {}, ["True", "False"])),
        (CHECK, {"NUMBA_DISABLE_JIT": "1"}, ["False", "False"]),
    ):
        done = python(code, MINIFP_KERNELS="", PYTHONWARNINGS="error", **environment)
        assert done.stdout.split() == said
