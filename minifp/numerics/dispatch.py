"""Compiled kernels for any device: formulas of one element, and sums, done where their arrays are.

Here alone the kernels of the CPU and those of a GPU meet: in minifp/runtime each room has its own,
and knows nothing of the other. Each is imported when the first kernel is made for it.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import any_device
from minifp.runtime.cuda.arrays import is_on_device

# ---- formulas of one element --------------------------------------------------------------------


def pointwise(fn: Any, is_fused: bool = True) -> Any:
    """Make `fn(*arrays, **settings)`, which computes element by element with NumPy's functions, the
    compiled kernel of the kernel of its name: see Kernel.compiled, and minifp/derive for what it
    may consist of. Arguments broadcast; any but one may be numbers.

    is_fused: whether a product and a sum may be one operation, with one rounding.
    """
    formulas = Formulas(fn, is_fused)

    def on_device(args, to, settings):
        return _on_device(formulas, args, to, settings)

    return any_device(on_cpu().pointwise(fn, formulas, on_device))


def _on_device(formulas, args, to, settings):
    return on_gpu().run(formulas, args, to[0], **settings) if _is_there(args) else None


def _is_there(args):
    return any(map(is_on_device, args))


def summed(
    kernel: Any, args: tuple, whole: tuple, shape: tuple, dtype: Any, /, **settings: Any
) -> Any:
    """The result, of shape `whole`, of what `pointwise` made, summed over the axes along which
    `shape` was stretched, and rounded once. None for what the kernel cannot do."""
    if whole == shape:
        return kernel(*args, to=(dtype,), **settings)
    if _is_there(args):
        return on_gpu().summed_to(kernel.formulas, args, whole, shape, dtype, **settings)
    return on_cpu().summed(partial(kernel, **settings), args, whole, shape, dtype)


def derived_kernel_of(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled kernel that is derived from a reference, for any device: see Kernel.compiled.

    Where the reference sums its result to a `shape` (see ops/elementwise.py), so does the kernel.
    """
    kernel = pointwise(reference)

    def sum_to_shape(*args, shape, to, **settings):
        if {getattr(a, "shape", shape) for a in args} <= {shape, ()}:
            return kernel(*args, to=to, **settings)
        _, arrays = kernel.formulas.of_call(args, dict(settings))
        if not arrays:
            return None
        return summed(kernel, args, _shape_of(arrays), shape, to[0], **settings)

    if not kernel.formulas.sums_to:
        return kernel
    vars(sum_to_shape)["formulas"] = kernel.formulas
    return any_device(sum_to_shape)


def _shape_of(args):
    return np.broadcast_shapes(*[a.shape for a in args if hasattr(a, "shape")])


def derived_rows_of(reference: Callable[..., Any], out: tuple[str, ...], device: str) -> Any:
    """The same of a reference that reduces along axes, for one device. out: the words of its rule
    for the formats of results."""
    rows = on_cpu_rows().RowKernel if device == "cpu" else on_gpu_rows().DeviceRows
    return rows(reference, out)


@cache
def on_cpu_rows() -> Any:
    """The formulas of rows on the CPU."""
    return import_module("minifp.runtime.cpu.kernels.rows")


@cache
def on_gpu_rows() -> Any:
    """The formulas of rows on a GPU."""
    return import_module("minifp.runtime.cuda.row_calls")


# ---- products and sums --------------------------------------------------------------------------


class ByArray(dict):
    """By the type of an array, the function of a name on its device: imported at the first call."""

    def __init__(self, name: str, on_cpu: str, on_gpu: str) -> None:
        self.name, self.rooms = name, (on_cpu, on_gpu)

    def __missing__(self, kind: type) -> Any:
        where = self.rooms[kind is not np.ndarray]
        self[kind] = getattr(import_module(f"minifp.runtime.{where}"), self.name)
        return self[kind]


# Called as PRODUCT[type(a)](a, b, dtype, bias): a b + bias, rounded once to `dtype`, for a of shape
# (..., M, K), b (..., K, N), bias (N) or None. On a GPU also with compute, chunk and alpha: see its
# file.
PRODUCT = ByArray("product", "cpu.kernels.gemm", "cuda.product")
# Called as SUM_OVER[type(x)](x, axes, dtype, factor=1.0): factor times the sum of x over `axes`
# (ascending), which are left out, stored in `dtype`. None for what there is no kernel for.
SUM_OVER = ByArray("sum_over", "cpu.kernels.sums", "cuda.pointwise")


# ---- the two rooms ------------------------------------------------------------------------------


@cache
def on_cpu() -> Any:
    """The formulas of one element, and the sums, of the CPU: they need llvmlite."""
    return import_module("minifp.runtime.cpu.kernels.pointwise")


@cache
def on_gpu() -> Any:
    """The formulas of one element, and the sums, of a GPU."""
    return import_module("minifp.runtime.cuda.pointwise")
