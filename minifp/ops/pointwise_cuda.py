"""The twins of pointwise.py for which the CPU has none, or only for some numbers."""

import math

from minifp.cpu import twin
from minifp.cuda.pointwise import Formula, formula, summed_to


@formula
def pow_forward(x, y):
    return math.pow(x, y)


def slope(dz, x, y):
    return 0 if y == 0 else dz * (y * math.pow(x, y - 1))


def slope_of_exponent(dz, x, y):
    return 0 if x == 0 and y >= 0 else dz * (math.pow(x, y) * math.log(x))


SLOPE, SLOPE_OF_EXPONENT = Formula(slope, 3), Formula(slope_of_exponent, 3)


@twin
def pow_dx(dz, x, y, *, shape, to):
    return summed_to(SLOPE, (dz, x, y), dz.shape, shape, to[0])


@twin
def pow_dy(dz, x, y, *, shape, to):
    return summed_to(SLOPE_OF_EXPONENT, (dz, x, y), dz.shape, shape, to[0])


@formula
def floor_divide_forward(x, y):
    return math.floor(x / y)


@formula
def trunc_divide_forward(x, y):
    return math.trunc(x / y)
