"""What compiled kernels of places promise besides: the largest, what meets, conversions."""

import numpy as np
import pytest
from kernel_calls import NAMED, Draw
from kernel_calls.places import max_pool_forward

import minifp as fp
from minifp.numerics.formats import downcast, float16, float32, upcast
from minifp.runtime import cpu

pytestmark = pytest.mark.skipif(not cpu.can_compile(), reason="nothing is compiled")

# ---- the largest --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float16, float32], ids=str)
@pytest.mark.parametrize("special", [False, True])
def test_the_place_of_the_largest_is_that_of_the_reference(dtype, special):
    """Of equal ones the first, the first NaN, and never padding, also where all is -Inf."""
    kernel = NAMED["max_pool_forward"]
    for n in range(60):
        (x,), params, _ = max_pool_forward(Draw(n, dtype, special))
        x = np.array(x)
        if special and n % 3 == 0:
            x[np.random.default_rng(n).random(x.shape) < 0.7] = -np.inf
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
        ("embedding_dw", (dy, i), {"rows": 4, "padding_idx": None}),
        ("index_select_dx", (dy, i), {"axis": 0, "n": 4}),
    ):
        dw = NAMED[kernel](*args, **params, to=float16)
        assert dw.tolist() == [[3000] * 5] + [[0] * 5] * 3
    x, src = np.full(1, 2048, float16), np.ones(3000, float16)
    y = NAMED["scatter_add_forward"](x, src, i, axis=0)
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
