"""What is compiled beside kernels: gradients that meet, conversions, sums of any length."""

import numpy as np
import pytest

import minifp as fp
from minifp.numerics.formats import downcast, float16, float32, float64, upcast
from minifp.ops.normalization.batch_norm import batch_norm_statistics
from minifp.runtime import cpu

if not cpu.can_compile():
    pytest.skip("nothing is compiled here", allow_module_level=True)

from minifp.autograd.gradient_sum import GradientSum
from minifp.runtime.cpu.convert import converted, rounded_to_half
from minifp.runtime.cpu.sums import sum_over

# ---- what meets ---------------------------------------------------------------------------------


def test_gradients_that_meet_are_rounded_once_however_many_and_in_any_layout():
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


# ---- sums ---------------------------------------------------------------------------------------


def test_variance_is_found_far_from_zero():
    """Where the difference of mean squares would have no digit left; and of unequal pictures."""
    random = np.random.default_rng(0)
    x = random.normal(0, 1, (70, 3, 9)) + 4096
    x[:5] += 2**14
    m, v = batch_norm_statistics.compiled(x.astype(float32), to=(float32, float32))
    exact = x.astype(float32).astype(float64)
    np.testing.assert_allclose(m, exact.mean((0, 2)), rtol=1e-7)
    np.testing.assert_allclose(v, exact.var((0, 2)), rtol=1e-5)
    near = (random.normal(0, 1, (70, 3, 9)) + 4096).astype(float32)
    v = batch_norm_statistics.compiled(near, to=(float32, float32))[1]
    np.testing.assert_allclose(v, near.astype(float64).var((0, 2)), rtol=1e-4)


LONG = [  # shapes, and the axes that are summed
    *(((300_007,), (0,)), ((100_003, 3), (0,)), ((3000, 2500), (0,)), ((2, 150_000), (1,))),
    *(((100, 7, 300), (1,)), ((3, 7000, 30), (1,)), ((20_000, 3, 2), (1,))),
    *(((7, 6, 5, 400), (1, 3)), ((0, 3), (0,)), ((3, 0, 2), (0,)), ((1, 5, 1), (0, 2)), ((), ())),
]


@pytest.mark.parametrize("dtype", [float16, float32], ids=str)
def test_long_sums_err_no_more_than_short_ones(dtype):
    for shape, axes in LONG:
        x = np.random.default_rng(0).normal(1, 1, shape).astype(dtype)
        y, exact = sum_over(x, axes, float32, 0.5), x.astype(float64).sum(axes) * 0.5
        size = np.abs(x.astype(float64)).sum(axes) * 0.5
        assert (y.shape, y.dtype) == (exact.shape, float32)
        assert (np.abs(y - exact) <= 8 * 2.0**-24 * size).all(), shape
