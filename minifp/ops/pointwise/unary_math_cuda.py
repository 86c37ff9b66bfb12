"""Kernels of unary_math.py for a GPU for which the CPU has none, or only for float16."""

import math

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.dispatch import formula
from minifp.runtime.cuda.translate import C


@formula
def sin_forward(x):
    return math.sin(x)


@formula
def sin_dx(dy, x):
    return dy * math.cos(x)


@formula
def cos_forward(x):
    return math.cos(x)


@formula
def cos_dx(dy, x):
    return -dy * math.sin(x)


@formula
def tan_forward(x):
    return math.tan(x)


@formula
def tan_dx(dy, y):
    return dy * (1 + y * y)


@formula
def asin_forward(x):
    return math.asin(x)


@formula
def asin_dx(dy, x):
    return dy / math.sqrt((1 - x) * (1 + x))


@formula
def acos_forward(x):
    return math.acos(x)


@formula
def acos_dx(dy, x):
    return -dy / math.sqrt((1 - x) * (1 + x))


@formula
def atan_forward(x):
    return math.atan(x)


@formula
def atan_dx(dy, x):
    return dy / (1 + x * x)


@formula
def sinh_forward(x):
    return math.sinh(x)


@formula
def sinh_dx(dy, x):
    return dy * math.cosh(x)


@formula
def cosh_forward(x):
    return math.cosh(x)


@formula
def cosh_dx(dy, x):
    return dy * math.sinh(x)


# ---- whole numbers: the slope is 0 ---------------------------------------------------------------


@formula
def floor_forward(x):
    return math.floor(x)


@formula
def ceil_forward(x):
    return math.ceil(x)


@formula
def trunc_forward(x):
    return math.trunc(x)


@formula
def round_forward(x):
    return C.rint(x)  # of two the even one


@formula
def zero_slope(dy):
    return 0


@compiled_kernel
def sign_dx(dy, saved, *, to):
    return zero_slope(dy, to=to)


floor_dx = ceil_dx = trunc_dx = round_dx = sign_dx
