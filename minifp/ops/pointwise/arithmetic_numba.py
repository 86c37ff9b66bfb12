"""Compiled kernels of arithmetic.py."""

import numpy as np

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import pointwise, summed
from minifp.runtime.cpu.math import HALF, INF, NOTHING, ONE, TWO

THREE = np.float32(3)

# ---- one argument -------------------------------------------------------------------------------


@pointwise
def neg_forward(x):
    return -x


@any_device
def neg_dx(dy, saved, *, to):
    return neg_forward(dy, to=to)


@pointwise
def abs_forward(x):
    return abs(x)


@pointwise
def abs_dx(dy, x):
    return dy * (ONE if x > NOTHING else -ONE if x < NOTHING else NOTHING * x)  # NaN for NaN


@pointwise
def square_forward(x):
    return x * x


@pointwise
def square_dx(dy, x):
    return dy * (TWO * x)


@pointwise
def copy(x):
    return x


# ---- two arguments ------------------------------------------------------------------------------


@pointwise
def add_forward(x, y, *, alpha):
    return x + alpha * y


@pointwise
def sub_forward(x, y, *, alpha):
    return x - alpha * y


@pointwise
def mul_forward(x, y):
    return x * y


@any_device
def mul_dx(dz, x, y, *, shape, to):
    return summed(mul_forward, (dz, y), dz.shape, shape, to[0])


@any_device
def mul_dy(dz, x, y, *, shape, to):
    return summed(mul_forward, (dz, x), dz.shape, shape, to[0])


@pointwise(cost=0.4)
def div_forward(x, y):
    return x / y


@any_device
def div_dx(dz, x, y, *, shape, to):
    return summed(div_forward, (dz, y), dz.shape, shape, to[0])


@pointwise(cost=0.5)
def slope_of_divisor(dz, x, y):
    return -dz * (x / (y * y))


@any_device
def div_dy(dz, x, y, *, shape, to):
    return summed(slope_of_divisor, (dz, x, y), dz.shape, shape, to[0])


@pointwise
def maximum_forward(x, y):
    return x if x >= y or x != x else y


@pointwise
def minimum_forward(x, y):
    return x if x <= y or x != x else y


@pointwise
def share_of_larger(dz, mine, other):
    return NOTHING if mine < other else HALF * dz if mine == other else dz  # dz for NaN


@any_device
def maximum_dx(dz, x, y, *, shape, to):
    return summed(share_of_larger, (dz, x, y), dz.shape, shape, to[0])


@any_device
def maximum_dy(dz, x, y, *, shape, to):
    return summed(share_of_larger, (dz, y, x), dz.shape, shape, to[0])


minimum_dx, minimum_dy = maximum_dy, maximum_dx


# ---- powers: those that arithmetic gives --------------------------------------------------------


@pointwise
def cube(x):
    return x * x * x


@pointwise
def inverse(x):
    return ONE / x


@pointwise
def root(x):
    return np.sqrt(x)


@pointwise
def slope_of_cube(dz, x):
    return dz * (THREE * (x * x))


@pointwise
def slope_of_inverse(dz, x):
    y = ONE / x
    return dz * -(y * y)


@pointwise
def slope_of_root(dz, x):
    return dz * (HALF * (NOTHING if x == -INF else ONE / np.sqrt(x + NOTHING)))


POWERS = {2: square_forward, 3: cube, -1: inverse, 0.5: root}
SLOPES = {2: square_dx, 3: slope_of_cube, -1: slope_of_inverse, 0.5: slope_of_root}


@any_device
def pow_forward(x, y, *, to):
    power = POWERS.get(y) if type(y) in (int, float) else None
    return power and power(x, to=to)


@any_device
def pow_dx(dz, x, y, *, shape, to):
    slope = SLOPES.get(y) if type(y) in (int, float) else None
    return slope and summed(slope, (dz, x), dz.shape, shape, to[0])
