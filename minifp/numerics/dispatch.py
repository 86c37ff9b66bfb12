"""Compiled kernels for any device: formulas of one element, and sums, done where their arrays are.

Here alone the kernels of the CPU and those of a GPU meet: in minifp/runtime each room has its own,
and knows nothing of the other. This file needs numba; what is for a GPU is imported at the first
array there.
"""

from collections.abc import Callable
from functools import cache, partial, wraps
from importlib import import_module
from inspect import signature, unwrap
from typing import Any

from minifp.numerics.compiled import any_device, compiled_kernel
from minifp.runtime.cpu import pointwise as on_cpu
from minifp.runtime.cpu import sums
from minifp.runtime.cuda.arrays import is_on_device


def pointwise(
    fn: Callable[..., Any] | None = None, *, cost: float = on_cpu.NANOSECONDS, dtype: Any = None
) -> Any:
    """Make `fn(*numbers, **numbers)` the compiled kernel of the kernel of its name.

    Its positional arguments are arrays of any shapes that broadcast, or numbers; its keywords are
    numbers. cost: nanoseconds an element on the CPU. dtype: that of the result, where it is not
    told by the call: bool.
    """
    if fn is None:
        return partial(pointwise, cost=cost, dtype=dtype)

    def elsewhere(args, dtype, numbers):
        if not any(map(is_on_device, args)):
            return None
        return on_gpu().run(formula_of(kernel), args, dtype, numbers)

    kernel = any_device(on_cpu.pointwise(fn, cost, dtype, elsewhere))
    return kernel


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `pointwise`, but for arrays of a GPU only: see runtime/cuda/translate.py for what a
    function may consist of."""
    parameters = signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]

    @compiled_kernel
    @wraps(function)
    def apply(*args, to, **numbers):
        return on_gpu().run(formula_of(apply), args, to[0], tuple([numbers[n] for n in names]))

    return apply


def summed(kernel: Callable[..., Any], args: tuple, whole: tuple, shape: tuple, dtype: Any) -> Any:
    """The result, of shape `whole`, of what `pointwise` made, summed over the axes along which
    `shape` was stretched, and rounded once. None for what the kernel cannot do."""
    if whole == shape:
        return kernel(*args, to=(dtype,))
    if any(map(is_on_device, args)):
        return on_gpu().summed_to(formula_of(kernel), args, whole, shape, dtype)
    return on_cpu.summed(kernel, args, whole, shape, dtype)


def sum_over(x: Any, axes: tuple, dtype: Any, factor: float = 1.0) -> Any:
    """factor times the sum of x over `axes` (ascending), which are left out, stored in `dtype`.

    None for what there is no kernel for.
    """
    if is_on_device(x):
        return on_gpu().sum_over(x, axes, dtype, factor)
    return sums.sum_over(x, axes, dtype, factor)


@cache
def formula_of(kernel: Callable[..., Any]) -> Any:
    """What kernels of a GPU are made of, of a kernel that `pointwise` or `formula` made."""
    return on_gpu().Formula(unwrap(kernel))


@cache
def on_gpu() -> Any:
    """The formulas of one element, and the sums, of a GPU."""
    return import_module("minifp.runtime.cuda.pointwise")
