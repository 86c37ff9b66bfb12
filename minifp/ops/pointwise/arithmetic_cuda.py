"""Kernels of arithmetic.py for a GPU for which the CPU has none, or only for some numbers."""

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.ops.pointwise.comparison_cuda import exact
from minifp.runtime.cuda.pointwise import F32, FLOATS, summed_to

# ---- divisions without a fraction ----------------------------------------------------------------


def in_single(name, x, y, dtype):
    return exact(name, x, y, dtype) if dtype in FLOATS else None


@compiled_kernel
def floor_divide_forward(x, y, *, to):
    return in_single("floor_divide", x, y, to[0])


@compiled_kernel
def remainder_forward(x, y, *, to):
    return in_single("remainder", x, y, to[0])


@Formulas
def slope_of_steps(dz, steps):
    return -dz * steps


@compiled_kernel
def remainder_dy(dz, x, y, *, shape, to):
    steps = in_single("floor_divide", x, y, F32)
    if steps is None:
        return None
    return summed_to(slope_of_steps, (dz, steps), dz.shape, shape, to[0])
