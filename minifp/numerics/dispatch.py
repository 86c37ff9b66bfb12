"""Compiled kernels for any device: formulas of one element, and sums, done where their arrays are.

Here alone the kernels of the CPU and those of a GPU meet: in minifp/runtime each room has its own,
and knows nothing of the other. What is for a GPU is imported at the first array there.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import any_device
from minifp.runtime.cpu import pointwise as on_cpu
from minifp.runtime.cuda.arrays import is_on_device

# ---- formulas of one element --------------------------------------------------------------------


def pointwise(fn: Any) -> Any:
    """Make `fn(*arrays, **settings)`, which computes element by element with NumPy's functions, the
    compiled kernel of the kernel of its name: see Kernel.compiled, and minifp/derive for what it
    may consist of. Arguments broadcast; any but one may be numbers."""
    formulas = Formulas(fn)

    def on_device(args, to, settings):
        return _on_device(formulas, args, to, settings)

    return any_device(on_cpu.pointwise(fn, formulas, on_device))


def _on_device(formulas, args, to, settings):
    formula, arrays = formulas.of_call(args, settings)
    if formula is None or len(formula.results) > 1:
        return None
    dtype = BOOL if formula.results[0].type == "b" else to[0]
    return on_gpu().run(derived(formula), arrays, dtype, formula.told(settings))


BOOL = np.dtype("bool")


def summed(
    kernel: Callable[..., Any], args: tuple, whole: tuple, shape: tuple, dtype: Any,
    **settings: Any,
) -> Any:  # fmt: skip
    """The result, of shape `whole`, of what `pointwise` made, summed over the axes along which
    `shape` was stretched, and rounded once. None for what the kernel cannot do."""
    if whole == shape:
        return kernel(*args, to=(dtype,), **settings)
    if any(map(is_on_device, args)):
        formula, arrays = kernel.formulas.of_call(args, settings)
        if formula is None:
            return None
        numbers = formula.told(settings)
        return on_gpu().summed_to(derived(formula), arrays, whole, shape, dtype, numbers)
    return on_cpu.summed(partial(kernel, **settings), args, whole, shape, dtype)


def derived_kernel_of(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled kernel that is derived from a reference, for any device: see Kernel.compiled.

    Where the reference sums its result to a `shape` (see ops/elementwise.py), so does the kernel.
    """
    kernel = pointwise(reference)
    if not kernel.formulas.sums_to:
        return kernel

    def summed_kernel(*args, shape, to, **settings):
        whole = np.broadcast_shapes(*[a.shape for a in args if hasattr(a, "shape")])
        return summed(kernel, args, whole, shape, to[0], **settings)

    summed_kernel.formulas = kernel.formulas
    return any_device(summed_kernel)


def derived_rows_of(reference: Callable[..., Any], out: tuple[str, ...]) -> Callable[..., Any]:
    """The same of a reference that reduces along axes, on the CPU: those of a GPU are written by
    hand. out: the words of its rule for the formats of results."""
    return on_cpu_rows().RowKernel(reference, out)


def on_cpu_rows() -> Any:
    """The formulas of rows on the CPU."""
    return import_module("minifp.runtime.cpu.rows")


# ---- sums ---------------------------------------------------------------------------------------


def sum_over(x: Any, axes: tuple, dtype: Any, factor: float = 1.0) -> Any:
    """factor times the sum of x over `axes` (ascending), which are left out, stored in `dtype`.

    None for what there is no kernel for.
    """
    if is_on_device(x):
        return on_gpu().sum_over(x, axes, dtype, factor)
    return on_cpu.sums().sum_over(x, axes, dtype, factor)


@cache
def derived(formula: Any) -> Any:
    """What kernels of a GPU are made of, of a formula."""
    return on_gpu().Derived(formula)


@cache
def on_gpu() -> Any:
    """The formulas of one element, and the sums, of a GPU."""
    return import_module("minifp.runtime.cuda.pointwise")
