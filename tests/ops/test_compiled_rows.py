"""What compiled sums along rows and channels promise besides: digits far from zero, long sums."""

from functools import partial

import numpy as np
import pytest

from minifp.numerics.formats import float16, float32, float64
from minifp.ops.normalization.batch_norm import batch_norm_statistics
from minifp.runtime import cpu

if not cpu.can_compile():
    pytest.skip("kernels are not compiled here", allow_module_level=True)

from minifp.runtime.cpu.sums import sum_over


def test_variance_is_found_far_from_zero():
    """Where the difference of mean squares would have no digit left; and of unequal pictures."""
    random = np.random.default_rng(0)
    statistics = partial(batch_norm_statistics.compiled, to=(float32, float32))
    x = random.normal(0, 1, (70, 3, 9)) + 4096
    x[:5] += 2**14
    m, v = statistics(x.astype(float32))
    exact = x.astype(float32).astype(float64)
    np.testing.assert_allclose(m, exact.mean((0, 2)), rtol=1e-7)
    np.testing.assert_allclose(v, exact.var((0, 2)), rtol=1e-5)
    near = (random.normal(0, 1, (70, 3, 9)) + 4096).astype(float32)
    v = statistics(near)[1]
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
