"""Kernels of arithmetic.py for a GPU for which the CPU has none, or only for some numbers."""

import math

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.dispatch import formula
from minifp.ops.pointwise.comparison_cuda import exact
from minifp.runtime.cuda.arrays import zeros
from minifp.runtime.cuda.pointwise import F32, FLOATS, IDENTITY, Formula, summed_to


@formula
def pow_forward(x, y):
    return math.pow(x, y)


def slope(dz, x, y):
    return 0 if y == 0 else dz * (y * math.pow(x, y - 1))


def slope_of_exponent(dz, x, y):
    return 0 if x == 0 and y >= 0 else dz * (math.pow(x, y) * math.log(x))


SLOPE, SLOPE_OF_EXPONENT = Formula(slope), Formula(slope_of_exponent)


@compiled_kernel
def pow_dx(dz, x, y, *, shape, to):
    return summed_to(SLOPE, (dz, x, y), dz.shape, shape, to[0])


@compiled_kernel
def pow_dy(dz, x, y, *, shape, to):
    return summed_to(SLOPE_OF_EXPONENT, (dz, x, y), dz.shape, shape, to[0])


# ---- divisions without a fraction ----------------------------------------------------------------


def in_single(name, x, y, dtype):
    return exact(name, x, y, dtype) if dtype in FLOATS else None


@compiled_kernel
def floor_divide_forward(x, y, *, to):
    return in_single("floor_divide", x, y, to[0])


@formula
def trunc_divide_forward(x, y):
    return math.trunc(x / y)


@compiled_kernel
def floor_divide_dx(dz, x, y, *, shape, to):
    return zeros(shape, to[0]) if to[0] in FLOATS else None


floor_divide_dy = trunc_divide_dx = trunc_divide_dy = floor_divide_dx


@compiled_kernel
def remainder_forward(x, y, *, to):
    return in_single("remainder", x, y, to[0])


@compiled_kernel
def remainder_dx(dz, x, y, *, shape, to):
    return summed_to(IDENTITY, (dz,), dz.shape, shape, to[0])


def slope_of_steps(dz, steps):
    return -dz * steps


SLOPE_OF_STEPS = Formula(slope_of_steps)


@compiled_kernel
def remainder_dy(dz, x, y, *, shape, to):
    steps = in_single("floor_divide", x, y, F32)
    if steps is None:
        return None
    return summed_to(SLOPE_OF_STEPS, (dz, steps), dz.shape, shape, to[0])
