"""What a reference reads beside its arguments is not frozen into its kernel."""

import numpy as np
import pytest

import minifp as fp
from minifp.numerics import kernels
from minifp.runtime import cpu

if not cpu.can_derive():
    pytest.skip("kernels are not compiled here", allow_module_level=True)

X = np.array([1.0, -2.0, 3.0], np.float16)
SLOPE = 0.5


@pytest.fixture(autouse=True)
def kernels_are_forgotten(monkeypatch):
    monkeypatch.setattr(kernels, "KERNELS", [])


def inner(x):
    return SLOPE * x


@pytest.mark.parametrize("rule", ["map", "reduce"])
def test_a_number_of_the_module_may_change(monkeypatch, rule):
    @fp.kernel(rule, "x")
    def scaled(x):
        return np.where(x > 0, inner(x), x)

    assert scaled(X).tolist() == [0.5, -2.0, 1.5]
    monkeypatch.setitem(globals(), "SLOPE", 0.25)
    assert scaled(X).tolist() == [0.25, -2.0, 0.75]
    assert scaled.derived.formulas.refused is None


def test_a_reference_that_reduces_is_read_twice_and_is_the_same():
    factor = 2.0

    @fp.kernel("reduce", "x")
    def centred(x, *, sum):
        return factor * (x - x.max(axis=-1, keepdims=True)) / sum(x * x, axis=-1, keepdims=True)

    x = np.array([[1.0, 3.0], [2.0, 2.0]], np.float16)
    assert np.allclose(centred.derived(x, to=(x.dtype,)), [[-0.4, 0], [0, 0]], atol=1e-3)
    factor = 4.0
    assert np.allclose(centred.derived(x, to=(x.dtype,)), [[-0.8, 0], [0, 0]], atol=1e-3)


def test_numbers_of_a_closure_may_change_and_random_ones_are_drawn_at_each_call():
    factor = 2.0

    @fp.kernel("map", "x")
    def scaled(x):
        return factor * x

    assert scaled(X).tolist() == [2.0, -4.0, 6.0]
    factor = 3.0
    assert scaled(X).tolist() == [3.0, -6.0, 9.0]
    random = np.random.default_rng(0)

    @fp.kernel("map", "x")
    def noisy(x):
        return x * random.random()

    assert len({noisy(X)[0] for _ in range(5)}) > 1
    assert "each time" in noisy.derived.formulas.refused
