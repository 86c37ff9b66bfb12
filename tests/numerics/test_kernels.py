"""A kernel under its rule: what it is handed, in what it works, and how its results are stored."""

import os
import sys
from contextvars import copy_context
from functools import partial

import numpy as np
import pytest
from refusals import refuses
from watching import Kernels, at_once

import minifp as fp
from minifp.numerics import kernels
from minifp.numerics.formats import float16, float32, float64, int64
from minifp.numerics.kernels import KERNELS, Kernel, kernel
from minifp.numerics.rules import COMPUTE, GIVEN, ROLES
from minifp.runtime.cuda import arrays
from minifp.runtime.device import as_device


@pytest.fixture(autouse=True)
def leaves_no_kernel():
    """Kernels made in a test are no kernels of minifp."""
    before = list(KERNELS)
    yield
    KERNELS[:] = before


def half(*numbers):
    return np.array(numbers, float16)


def test_a_reference_sees_floating_arrays_in_float32_and_others_as_they_are():
    seen = []

    @kernel("map", "x")
    def spy(x, i, mask, number, nothing, *, setting):
        seen.extend([x, i, mask, number, nothing, setting])
        return x

    with fp.precision("mixed"):
        spy(half(1, 2), np.array([3]), np.array([True]), 0.1, None, setting=4)
    x, i, mask, number, nothing, setting = seen
    assert (x.dtype, i.dtype, mask.dtype, nothing, setting) == (float32, int64, bool, None, 4)
    assert (type(number), number) == (np.float32, np.float32(0.1))


def test_every_result_is_rounded_once_in_the_format_its_rule_names_or_the_caller_wants():
    @kernel("map", "y", "x y", COMPUTE, GIVEN)
    def four(x, y):
        return (x + y,) * 4

    with fp.precision("mixed"):
        x, y = half(1), np.array([2.0**-12], float32)
        assert [r.dtype for r in four(x, y)] == [float32] * 4
        assert [r.dtype for r in four(y, x)] == [float16, *[float32] * 3]
        assert [r.dtype for r in four(x, x, to=float64)] == [float64] * 4
        to = (None, float64, float16, float16)
        assert [r.dtype for r in four(x, x, to=to)] == [float16, float64, float16, float16]

    @kernel("map", GIVEN, GIVEN)
    def two(x):
        return x + 2.0**-12, x * 2

    into = half(0, 0)
    first, second = two(np.array([1.0, 3.0], float32), to=(into, None))
    assert first is into and into.tolist() == [1, 3]
    assert (second.dtype, second.tolist()) == (float32, [2, 6])

    @kernel("reduce", "x")
    def total(x, *, sum):
        return sum(x)

    @kernel("map", "x")
    def first(x):
        return x[0]

    x = np.full(4, 60000, float16)
    with fp.precision("mixed"):
        assert (total(x).dtype, total(x).item()) == (float32, 240000)
        assert (total(x, to=float16).dtype, total(x, to=float16).item()) == (float16, np.inf)
        assert first(x).dtype == float16


def test_overflow_and_missing_numbers_are_values_and_no_warnings():
    @kernel("map", "x")
    def wild(x, number):
        return np.log(x) * number + np.exp(x * 1000)

    for dtype in (float16, float32, float64):
        y = wild(np.array([-1.0, 0.0, 60000.0], dtype), 1e300)
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, [np.nan, -np.inf, np.inf])


def test_a_reference_gets_the_primitives_it_names_in_the_formats_of_the_precision():
    @kernel("dot", "x")
    def steps(x, *, sum, dot, store):
        return np.array([sum(x), dot(x[None], x[:, None])[0, 0], store(x * np.float32(1.0004))[0]])

    x = np.full(3000, 1, float16)
    for text, expected in (
        *(("mixed", [3000, 3000, 1]), ("mixed,reduce=float16", [2048, 3000, 1])),
        ("mixed,accumulate=float16", [3000, 2048, 1]),
        ("mixed,reduce=chunked:2990", [2058, 3000, 1]),  # 10 beyond a chunk that stops at 2048
        ("mixed,accumulate=chunked:2990", [3000, 2058, 1]),
        ("mixed,accumulate=chunked:32", [3000, 3000, 1]),
    ):
        with fp.precision(text):
            assert steps(x).tolist() == expected
    with fp.precision("float16"):
        y = steps(x.astype(float64))
    assert y.tolist()[:2] == [3000, 3000] and y[2] == np.float32(1.0004)


def test_integers_are_not_rounded_and_what_becomes_floating_takes_the_activation_format():
    assert fp.tensor([2**53 + 1]).sum().item() == 2**53 + 1
    assert (fp.tensor([3, 4]) * fp.tensor([5, 6])).dtype == int64
    assert (fp.tensor([3, 4]) * 2).tolist() == [6, 8]
    for text, dtype in (("mixed", float16), ("float32", float32), ("float64", float64)):
        with fp.precision(text):
            ratio = fp.tensor([1, 2]) / fp.tensor([2, 3])
            assert (ratio.dtype, ratio.array[1]) == (dtype, np.array(2 / 3, dtype))
            assert fp.tensor([1, 2]).exp().dtype == dtype
            assert (fp.tensor([1, 2]) * 0.5).dtype == dtype


def test_every_kernel_is_listed_with_a_name_of_its_own_a_known_role_and_a_reference():
    @kernel("map", "x")
    def mine(x):
        """What it does."""
        return x

    assert KERNELS[-1] is mine and isinstance(mine, Kernel)
    assert (mine.name, mine.rule.role, mine.__doc__) == (
        "test_kernels.mine",
        "map",
        "What it does.",
    )
    assert repr(mine) == "<kernel test_kernels.mine: map>"
    names = [k.name for k in KERNELS]
    assert len(set(names)) == len(names) > 60
    for k in KERNELS:
        assert k.rule.role in ROLES
        for spec in k.rule.out:
            assert spec in (COMPUTE, GIVEN) or set(spec.split()) <= set(k.names), k


def test_an_observer_sees_what_is_stored_in_its_context_until_it_is_gone():
    x = fp.tensor([1.0, 2.0], dtype="float16")
    with fp.precision("mixed"), Kernels() as seen:
        y = x * 2.5
    ((k, args, results, formats),) = seen
    assert k.name == "arithmetic.mul_forward"
    assert args[0] is x.array and args[1] == 2.5
    assert results[0] is y.array
    assert (formats.compute, formats.out) == (float32, (float16,))
    with Kernels() as seen:
        pass
    fp.ones(2) + fp.ones(2)
    assert not seen and not kernels.observers
    with Kernels() as seen:
        at_once(lambda: fp.ones(2) + fp.ones(2))  # a thread of somebody else's
        at_once(partial(copy_context().run, lambda: fp.ones(2) + fp.ones(2)))
    assert [call[0].name for call in seen] == ["arithmetic.add_forward"]


def test_the_cpu_is_the_default_device_and_others_are_refused_with_those_there_are(monkeypatch):
    assert as_device(None) == as_device("cpu") == "cpu"
    monkeypatch.setenv("MINIFP_DEVICE", "cpu")
    assert as_device(None) == "cpu"
    refuses(fp.DeviceError, "'cuda:1'.*CUDA_VISIBLE_DEVICES=1", fp.tensor, [1.0], device="cuda:1")
    refuses(fp.ArgumentError, "device 'tpu': expected 'cpu' or", fp.tensor, [1.0], device="tpu")


@pytest.fixture
def without_cupy(monkeypatch):
    """As on a machine where CuPy is not installed."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    arrays.cupy.cache_clear()
    yield
    arrays.cupy.cache_clear()


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_cuda_where_there_is_none_is_an_error_that_says_so(device, without_cupy, monkeypatch):
    makers = [lambda: fp.tensor([1.0], device=device), lambda: fp.ones(2).to(device)]
    makers += [lambda: fp.zeros(2, device=device)]
    for make in makers:
        refuses(fp.DeviceError, r"'cuda' needs CuPy.*pip install .*cuda13.*drop", make)
    monkeypatch.setitem(os.environ, "MINIFP_DEVICE", device)
    refuses(fp.DeviceError, "'cuda'", fp.tensor, [1.0])


@pytest.mark.parametrize("rule, message", [
    (("mapp", "x"), "role='mapp': expected one of"),
    (("map", "z"), "result='z': expected one of"),
])  # fmt: skip
def test_a_rule_that_cannot_be_is_refused_where_it_is_written(rule, message):
    known = list(kernels.KERNELS)
    refuses(fp.ArgumentError, message, fp.kernel(*rule), lambda x: x)
    assert known == kernels.KERNELS
