"""Formulas of rows: what shares a kernel, and what is refused with which reason."""

import numpy as np
import pytest

from minifp.numerics.formats import float16, float32
from minifp.runtime import cpu

if not cpu.can_compile():
    pytest.skip("kernels are not compiled here", allow_module_level=True)

from minifp.ops.normalization.softmax import softmax_forward
from minifp.ops.reductions.cumulative import prod_forward
from minifp.ops.reductions.variance import var_forward
from minifp.runtime.cpu.compile.machine import KERNELS
from minifp.runtime.cpu.kernels.rows import RowKernel


def written_by_a_view(x):
    y = x.copy()
    np.multiply(y[..., None], 2.0, out=y[..., None])
    return y


def rows_of(kernel):
    return RowKernel(kernel.reference, kernel.rule.out)


def texts_of(calls, kernel, **settings):
    """How many kernels are compiled for calls of arrays of these shapes, along an axis."""
    rows, before = rows_of(kernel), len(KERNELS)
    for shape, axis in calls:
        x = np.ones(shape, float16)
        np.testing.assert_allclose(rows(x, axis=axis, to=(float32,), **settings).sum(axis), 1, 1e-5)
    return len(KERNELS) - before


def test_neither_sizes_nor_settings_are_compiled_into_a_kernel():
    KERNELS.clear()
    assert texts_of([((3, 5), 1), ((4, 700), -1), ((2, 3, 9), 2), ((6,), 0)], softmax_forward) == 1
    assert texts_of([((3, 5), 0), ((2, 30, 7), 1), ((9, 40, 2, 5), 1)], softmax_forward) == 1
    rows, x = rows_of(var_forward), np.arange(12, dtype=float32).reshape(3, 4)
    KERNELS.clear()
    for correction in (0, 1, 0.5):
        y = rows(x, axes=(1,), keepdims=False, correction=correction, to=(None,))
        np.testing.assert_allclose(y, x.var(1) * 4 / (4 - correction), 1e-6)
    assert len(KERNELS) == 1


@pytest.mark.parametrize(("reference", "reason"), [
    (lambda x, *, sum: sum(x.reshape(-1), axis=0), "it reshapes to other axes"),
    (lambda x, *, sum: sum(x, axis=0) + sum(x, axis=1), "does not broadcast"),
    (lambda x, *, sum: x[1:] + sum(x), "it takes elements of an array"),
    (lambda x, *, sum: np.sort(x) / sum(x), "np.sort has no formula"),
    (lambda x, *, sum: sum(x, axis=1) if x.any() else x, "it asks for .any"),
    (lambda x, *, sum: written_by_a_view(x) / sum(x), "it writes into an array that has views"),
    (lambda x, *, cumsum: cumsum(x, 0) + cumsum(x, 1), "it adds up along different axes"),
    (
        lambda x, *, cumsum: np.take_along_axis(cumsum(x, 1), x.max(1, keepdims=True), 1),
        "it takes elements of running sums",
    ),
])  # fmt: skip
def test_what_is_no_formula_of_rows_says_why_and_is_left_to_the_reference(reference, reason):
    rows = RowKernel(reference, ("x",))
    assert rows(np.ones((3, 4), float32), to=(None,)) is None
    assert reason in rows.formulas.refused


def test_no_class_number_reads_outside_of_its_row_and_no_partial_product_overflows():
    """Operations check targets; a kernel that is called without them must not read anywhere."""
    from minifp.ops.losses.cross_entropy import cross_entropy_each

    x, t = np.zeros((2, 3), float32), np.array([10**12, -(10**12)])
    rows = rows_of(cross_entropy_each)
    y = rows(x, t, None, ignore_index=-100, smoothing=0.0, to=(float32,))
    np.testing.assert_allclose(y, np.log(3), 1e-6)
    # Also of subnormal numbers, and of more than the exponent of a float64 has room for.
    exponents = np.array([127] * 900 + [-149] * 767 + [-7, -7, -3])  # they add up to 0
    x = np.ldexp(np.float32(1), exponents).astype(float32)
    for rows in (x[None], -x[:, None] * np.ones(3, float32)):
        axes, product = (int(np.argmax(rows.shape)),), rows_of(prod_forward)
        y = product(rows, axes=axes, keepdims=False, to=(float32,))
        np.testing.assert_array_equal(y, np.ones(rows.size // 1670, float32))
