"""Formulas on a GPU: shapes, numbers in the place of arrays, settings, and what has no kernel."""

import numpy as np
import pytest

import minifp as fp
from minifp.derive.trace import Formulas
from minifp.numerics import kernels
from minifp.runtime.cpu import can_derive
from minifp.runtime.cuda import pointwise
from minifp.runtime.cuda.arrays import to_device, to_host
from minifp.runtime.cuda.pointwise import BOOL, F32, run, summed, summed_to
from minifp.runtime.shapes import stretched


@Formulas
def scaled_difference(x, y, *, scale):
    return (x - y) * scale


@Formulas
def first(x, y):
    return 2 * x


@Formulas
def second_in_the_shape_of_both(x, y):
    return np.full_like(x, 2 * y)


def numbers(*shape, dtype="float32"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize(
    "y", [3, 3.0, True, np.float16(3), np.asarray(3.0), np.full((1, 1), 3)], ids=repr
)
def test_a_number_takes_the_place_of_an_array(y):
    x = numbers(5)
    z = to_host(run(scaled_difference, (to_device(x), y), F32, scale=2))
    np.testing.assert_array_equal(z, (x - int(np.asarray(y).item())) * 2)


def test_what_is_not_read_has_no_say_in_the_shape_unless_it_is_asked_for():
    x, y = to_device(numbers(3, 1)), to_device(numbers(4))
    np.testing.assert_array_equal(to_host(run(first, (x, y), F32)), 2 * numbers(3, 1))
    z = to_host(run(second_in_the_shape_of_both, (x, y), F32))
    np.testing.assert_array_equal(z, np.tile(2 * numbers(4), (3, 1)))


@pytest.mark.parametrize("shape", [(3, 4), (4,), (1, 1), ()])
def test_what_is_not_read_is_summed_as_often_as_it_is_stretched(shape):
    args = to_device(numbers(3, 1)), to_device(numbers(4))
    sums = to_host(summed_to(first, args, (3, 4), shape, F32))
    expected = np.tile(2 * numbers(3, 1), 4).sum(stretched((3, 4), shape)).reshape(shape)
    np.testing.assert_array_equal(sums, expected)


def test_a_truth_value_is_a_boolean_and_1_or_0_where_it_is_summed():
    positive, x = Formulas(lambda x: x > 0), to_device(numbers(3, 4) - 5)
    assert run(positive, (x,), F32).dtype == BOOL
    assert to_host(summed(positive, (x,), (0, 1), F32)) == 6


def test_calls_with_other_numbers_share_a_kernel():
    x = to_device(numbers(9))
    pointwise.module.cache_clear()
    for scale, y in ((0.5, 1.0), (0.25, 7.0)):
        z = to_host(run(scaled_difference, (x, y), F32, scale=scale))
        np.testing.assert_array_equal(z, (numbers(9) - y) * scale)
    assert pointwise.module.cache_info().currsize == 1


def test_infinities_and_what_float32_does_not_hold_among_the_numbers_of_a_call():
    y = run(
        Formulas(lambda x, least: np.where(x > 2, least - np.inf, x)),
        (to_device(numbers(4)), 1.0),
        F32,
    )
    np.testing.assert_array_equal(to_host(y), [0, 1, 2, -np.inf])
    x = fp.tensor([1.0, np.inf], device="cuda")
    with np.errstate(all="raise"):
        assert (x < 1e300).tolist() == [True, False]


def test_there_is_no_kernel_for_other_formats_and_for_more_than_12_axes():
    def reversed_axes(count):
        return to_device(numbers(*(2,) * count)).transpose(range(count)[::-1])

    assert run(first, (to_device(numbers(3, dtype="int32")), 1), F32) is None
    assert run(first, (to_device(numbers(3)), 1), np.dtype("float64")) is None
    assert run(first, (1.0, 2.0), F32) is None
    twelve, thirteen = reversed_axes(12), reversed_axes(13)
    assert run(first, (thirteen, 1), F32) is None
    assert summed(first, (thirteen, 1), (0,), F32) is not None
    np.testing.assert_array_equal(to_host(run(first, (twelve, 1), F32)), 2 * to_host(twelve))


@pytest.mark.skipif(not can_derive(), reason="kernels are not compiled here")
def test_what_a_gpu_gives_first_is_held_against_the_reference(monkeypatch):
    monkeypatch.setattr(kernels, "KERNELS", [])
    x = numbers(3, 4, dtype="float16")
    doubled = fp.kernel("map", "x")(lambda x: x * 2 if isinstance(x, np.ndarray) else x)
    same = fp.kernel("map", "x")(lambda x: x * 2 if type(x) is np.ndarray else x)
    np.testing.assert_array_equal(to_host(doubled(to_device(x))), 2 * x)
    assert not doubled.device_kernel.formulas.is_new
    with pytest.warns((RuntimeWarning, UserWarning)) as warned:
        np.testing.assert_array_equal(to_host(same(to_device(x))), 2 * x)
    said = "\n".join(str(w.message) for w in warned)
    assert "is no longer compiled" in said and "NumPy reference computes" in said
