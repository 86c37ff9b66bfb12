"""What is compiled beside kernels: gradients that meet, sums of any length."""

import numpy as np
import pytest

import minifp as fp
from minifp.numerics.formats import float16, float32, float64
from minifp.ops.normalization.batch_norm import batch_norm_statistics
from minifp.runtime import cpu

if not cpu.can_compile():
    pytest.skip("nothing is compiled here", allow_module_level=True)

from minifp.autograd.gradients import GradientSum
from minifp.runtime.cpu.kernels.sums import sum_over


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
