"""Kernels of comparison.py for a GPU: of integers, and logic. Others are those of the CPU."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive.dtypes import name_of
from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cuda.arrays import collapsed, empty, is_on_device, steps_of
from minifp.runtime.cuda.pointwise import BOOL, FLOATS, run
from minifp.runtime.cuda.source import THREADS, TYPES, Text, blocks_for

TEXT = Text(__name__, "comparison.cu")
AXES = 4  # that a kernel walks along
NAMES = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")
OF_FLOATS = {name: Formulas(getattr(operator, name)) for name in NAMES[:6]}


def exact(name, x, y):
    """What is named of two arrays that broadcast, or an array and a number.

    Computed exactly. None for what there is no kernel for.
    """
    scalars = np.generic, np.ndarray
    operands = [a.item() if isinstance(a, scalars) and not a.ndim else a for a in (x, y)]
    arrays = [a for a in operands if is_on_device(a)]
    numbers = [a for a in operands if not is_on_device(a)]
    if any(name_of(a.dtype) not in TYPES for a in arrays) or any(
        hasattr(a, "dtype") for a in numbers
    ):
        return None
    of_integers = not any(a.dtype in FLOATS for a in arrays)
    if of_integers and any(isinstance(v, int) and abs(v) >= 2**63 for v in numbers):
        return None
    real = not of_integers or any(isinstance(v, float) for v in numbers)
    number = numbers[0] if numbers else 0  # which enters in the format in which is computed
    with np.errstate(over="ignore"):
        number = np.float64(number if of_integers else np.float32(number)) if real else int(number)
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    given = [steps_of(a, shape) if is_on_device(a) else [0] * len(shape) for a in operands]
    sizes, steps = collapsed(shape, given)
    more = AXES - len(sizes)
    if more < 0:
        return None
    sizes = [1] * more + sizes
    places = [n for pair in zip(*([0] * more + s for s in steps)) for n in pair]
    z = empty(shape, BOOL)
    if z.size:
        types = {t: a.dtype if is_on_device(a) else BOOL for t, a in zip("XV", operands)}
        pointers = [a if is_on_device(a) else 0 for a in operands]
        operands = *pointers, number, z, z.size
        TEXT(**types, Y=BOOL, REAL=int(real)).launch(
            "exact", blocks_for(z.size), THREADS, *operands, NAMES.index(name), *sizes[1:], *places
        )
    return z


def is_of_floats(*operands):
    """Whether all arrays are floating, or booleans beside a floating one."""
    found = [a.dtype for a in operands if is_on_device(a)]
    return any(d in FLOATS for d in found) and all(d in FLOATS or d == BOOL for d in found)


def comparison(name: str) -> Callable[..., Any]:
    """The compiled kernel of this name."""
    formulas = OF_FLOATS.get(name)

    @compiled_kernel(takes_integers=True)
    def apply(x, y, *, to):
        if formulas is not None and is_of_floats(x, y):
            return run(formulas, (x, y), BOOL)
        return exact(name, x, y)

    return apply


eq, ne, lt, le, gt, ge = map(comparison, NAMES[:6])
logical_and, logical_or, logical_xor = map(comparison, NAMES[6:])


@compiled_kernel(takes_integers=True)
def logical_not(x, *, to):
    return run(OF_FLOATS["eq"], (x, 0), BOOL) if is_of_floats(x) else exact("eq", x, 0)
