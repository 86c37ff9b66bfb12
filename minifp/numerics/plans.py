"""Plans: what calls of a kernel need that are alike in the kinds of their arguments.

A plan is made at the first such call in each precision, from the kernel's rule, and kept there. A
kind is the dtype of an array, a pair for one without dimensions, three things for one on a GPU, and
None for what is no array.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minifp.derive.dtypes import COMPILED, name_of
from minifp.errors import DeviceError, PrecisionError
from minifp.numerics.formats import all_compiled, as_dtype, float16, float32, is_compiled, is_float
from minifp.numerics.operands import steps_of
from minifp.numerics.policy import Precision
from minifp.numerics.rules import Formats, resolve
from minifp.numerics.shapes import shaped
from minifp.numerics.sum_format import SumFormat
from minifp.runtime.cuda.arrays import is_on_device

SINGLE = SumFormat(float32)  # the sums of compiled kernels


class Plan(NamedTuple):
    """What calls of a kernel with arguments of the same kinds need, found once in each precision.

    formats: None where nothing is rounded. run: the compiled kernel, or None. to: what it is told.
    """

    formats: Formats | None
    run: Callable[..., Any] | None
    to: Any


def plan_of(kernel: Any, kinds: list, to: Any, precision: Precision) -> Plan:
    """The plan of calls with these kinds of arguments, and results in these formats."""
    formats, run, by_rule = _by_rule(kernel, kinds, precision)
    if run is None or to is None:
        return Plan(formats, run, by_rule)
    targets = to if type(to) is tuple else (to,) * len(by_rule)
    stored = tuple([d if t is None else as_dtype(t) for t, d in zip(targets, by_rule)])
    on_device = any(kind in ON_DEVICE for kind in kinds)  # where others are refused
    return Plan(formats, run if all_compiled(stored) or on_device else None, stored)


def _by_rule(kernel, kinds, precision):
    """(formats, compiled kernel, the formats of results) of a call with these kinds of arguments,
    where nobody says in what results are stored."""
    floating = tuple(
        None if kind is None or not is_float(kind[0]) else (kind[0], kind[1])
        for kind in map(_dtype_of, kinds)
    )
    if not any(floating):
        return None, None, None
    formats = resolve(kernel.rule, kernel.names, floating, precision)
    sums = {formats.sum_in, formats.dot_in} if kernel.wants else set()
    is_single = formats.compute == float32 and sums <= {SINGLE}
    by_rule = (None,) * len(formats.out) if kernel.rule.role == "reduce" else formats.out
    if precision.shapes_only:
        unrounded = replace(formats, operands=())  # whose numbers count for nothing
        return unrounded, partial(shaped, kernel, formats), by_rule
    if kernel.rule.role == "dot" and (formats.operands or precision.products):
        _check_operands(kernel, floating, kinds, formats, precision)
    if any(kind in ON_DEVICE for kind in kinds):
        _check_places(kernel, kinds)
        compiled = None if precision.by_references else kernel.device_kernel
        if not is_single and not precision.by_references:
            compiled = _with_half_sums(kernel, formats, floating)
        if compiled is not None and formats.state is not None:
            compiled = partial(compiled, enter=formats.state)
        return formats, partial(kernel.on_device, compiled, formats), by_rule
    compiles = is_single and not precision.by_references
    compiles &= precision.is_compiled and all(is_compiled(kind[0]) for kind in floating if kind)
    compiled = kernel.compiled if compiles else None
    if compiled is not None and formats.state is not None:
        compiled = partial(compiled, enter=formats.state)
    return formats, compiled, by_rule


def _check_operands(kernel, floating, kinds, formats, precision):
    """Raise PrecisionError where operands cannot be rounded as a precision wants."""
    if not kernel.rule.operands:
        raise PrecisionError(
            f'{kernel.name} under "{precision}": the kernel does not declare which arguments '
            f"enter products: expected kernel(..., operands={{name: axes that are summed}})"
        )
    if formats.operands and any(kind in ON_DEVICE for kind in kinds):
        roundings = [r for r in (*formats.operands, formats.state) if r is not None]
        if any(r.is_exact for r in roundings):
            raise PrecisionError(
                f'{kernel.name} under "{precision}": operands are scaled by powers of two on a '
                "GPU: expected arrays on the CPU, or operand_scale=current"
            )
        if any(steps_of(r.scale) is not None for r in roundings):
            raise PrecisionError(
                f'{kernel.name} under "{precision}": maxima of earlier steps are recorded on the '
                "CPU only: expected arrays there, or operand_scale=current"
            )
        formats_in = {kind[0] for kind in floating if kind} | {r.format.stored for r in roundings}
        unknown, known = (sorted(map(name_of, d)) for d in (formats_in - COMPILED, COMPILED))
        if unknown:
            raise PrecisionError(
                f'{kernel.name} under "{precision}": operands of {unknown[0]} are rounded on the '
                f"CPU only: expected arrays there, or formats among {', '.join(known)}"
            )


def _with_half_sums(kernel, formats, floating):
    """The compiled kernel that leaves sums of products in float16, of all or of chunks, to cuBLAS,
    whose order is its own; None where it has none, or something else is summed in float16 or
    computed in float64."""
    single = formats.compute == float32 and (formats.sum_in == SINGLE or "sum" not in kernel.wants)
    dtype, chunk = formats.dot_in
    halves = {own for own, _ in filter(None, floating)} == {dtype} <= {float16}
    compiled = kernel.device_kernel
    if compiled is None or not (single and halves and getattr(compiled, "sums_in_half", False)):
        return None
    return partial(compiled, compute=dtype.name, chunk=chunk)


def _check_places(kernel, kinds):
    for kind in map(_dtype_of, kinds):
        if kind is not None and kind not in ON_DEVICE and not kind[1]:
            raise DeviceError(
                f"{kernel.name}: some arguments are on the CPU, others on the GPU: move them "
                "to one device, as with x.to(device='cuda')"
            )


# ---- kinds of arguments -------------------------------------------------------------------------


class _ZeroD(dict):
    """By dtype, what stands for an array without dimensions in the kinds of a call."""

    def __missing__(self, dtype):
        kind = self[dtype] = (dtype, True)
        return kind


ZERO_D = _ZeroD()


class _OnDevice(dict):
    """By dtype and whether it has no dimensions, what stands for an array on a GPU."""

    def __missing__(self, key):
        kind = self[key] = (*key, "cuda")
        return kind

    def __contains__(self, kind):
        return type(kind) is tuple and len(kind) == 3


ON_DEVICE = _OnDevice()


def kind_of(a: Any) -> Any:
    """What stands for an argument: its dtype, a pair without dimensions, None for no array."""
    if a is None:
        return None
    if isinstance(a, np.ndarray):
        return a.dtype if a.ndim else ZERO_D[a.dtype]
    return ON_DEVICE[a.dtype, not a.ndim] if is_on_device(a) else None


def _dtype_of(kind):
    return kind if kind is None or isinstance(kind, tuple) else (kind, False)
