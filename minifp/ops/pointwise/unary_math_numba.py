"""Compiled kernels of unary_math.py: of what networks are made of; the other functions stay with
NumPy."""

import math

import numpy as np

from minifp.numerics.compiled import any_device, compiled_kernel
from minifp.numerics.dispatch import pointwise
from minifp.runtime.cpu.math import (
    HALF,
    NOTHING,
    ONE,
    TWO,
    cos32,
    exp32,
    expm1_32,
    log1p_32,
    log2_32,
    log10_32,
    log32,
    sigmoid32,
    sin32,
    tanh32,
)

LOG_2, LOG_10 = np.float32(math.log(2)), np.float32(math.log(10))


@pointwise(cost=0.8)
def exp_forward(x):
    return exp32(x)


@pointwise
def exp_dx(dy, y):
    return dy * y


@pointwise(cost=0.8)
def expm1_forward(x):
    return expm1_32(x)


@pointwise(cost=0.8)
def expm1_dx(dy, x):
    return dy * exp32(x)


@pointwise(cost=0.8)
def log_forward(x):
    return log32(x)


@pointwise(cost=0.4)
def log_dx(dy, x):
    return dy / x


@pointwise(cost=0.8)
def log2_forward(x):
    return log2_32(x)


@pointwise(cost=0.4)
def log2_dx(dy, x):
    return dy / (x * LOG_2)


@pointwise(cost=0.8)
def log10_forward(x):
    return log10_32(x)


@pointwise(cost=0.4)
def log10_dx(dy, x):
    return dy / (x * LOG_10)


@pointwise(cost=1)
def log1p_forward(x):
    return log1p_32(x)


@pointwise(cost=0.4)
def log1p_dx(dy, x):
    return dy / (ONE + x)


@pointwise(cost=0.4)
def sqrt_forward(x):
    return np.sqrt(x)


@pointwise(cost=0.4)
def sqrt_dx(dy, y):
    return dy / (TWO * y)


@pointwise(cost=0.5)
def rsqrt_forward(x):
    return ONE / np.sqrt(x)


@pointwise
def rsqrt_dx(dy, y):
    return dy * (-HALF * y * y * y)


@pointwise(cost=0.4)
def reciprocal_forward(x):
    return ONE / x


@pointwise
def reciprocal_dx(dy, y):
    return -dy * (y * y)


@pointwise(cost=0.8)
def tanh_forward(x):
    return tanh32(x)


@pointwise
def tanh_dx(dy, y):
    return dy * ((ONE - y) * (ONE + y))


@pointwise(cost=0.8)
def sigmoid_forward(x):
    return sigmoid32(x)


@pointwise
def sigmoid_dx(dy, y):
    return dy * (y * (ONE - y))


# ---- of angles: those that float16 can hold, see math.py ----------------------------------------


@pointwise
def sine(x):
    return sin32(x)


@pointwise
def cosine(x):
    return cos32(x)


@pointwise
def slope_of_sine(dy, x):
    return dy * cos32(x)


@pointwise
def slope_of_cosine(dy, x):
    return -dy * sin32(x)


@any_device
def sin_forward(x, *, to):
    return sine(x, to=to) if x.dtype.itemsize == 2 else None


@any_device
def cos_forward(x, *, to):
    return cosine(x, to=to) if x.dtype.itemsize == 2 else None


@any_device
def sin_dx(dy, x, *, to):
    return slope_of_sine(dy, x, to=to) if x.dtype.itemsize == 2 else None


@any_device
def cos_dx(dy, x, *, to):
    return slope_of_cosine(dy, x, to=to) if x.dtype.itemsize == 2 else None


# ---- whole numbers ------------------------------------------------------------------------------


@pointwise
def sign_forward(x):
    return ONE if x > NOTHING else -ONE if x < NOTHING else NOTHING * x  # NaN for NaN


@compiled_kernel
def sign_dx(dy, saved, *, to):
    return np.zeros(dy.shape, to[0])


floor_dx = ceil_dx = trunc_dx = round_dx = sign_dx
