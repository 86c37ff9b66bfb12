"""Compiled kernels of error_function.py."""

import math

import numpy as np

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import pointwise
from minifp.runtime.cpu.half import as_bits, as_float
from minifp.runtime.cpu.math import HALF, NOTHING, ONE, erf32, exp32, exp_of_sum32, inlined

# The scaled tail e^(z^2) erfc z of z >= 0, by t = 1 / (1 + 0.34 z): fitted to 2^-28 for z <= 10.3.
STEEPNESS, FARTHEST = np.float32(0.34), np.float32(14.5)  # P(x) is 0 beyond
TAIL_1, TAIL_2, TAIL_3, TAIL_4, TAIL_5, TAIL_6, TAIL_7, TAIL_8, TAIL_9, TAIL_10 = (
    np.float32(c)
    for c in (
        *(1.918179393e-1, 1.920120120e-1, 1.784615368e-1, 1.740311682e-1, 6.167403236e-2),
        *(2.715152502e-1, -2.737758458e-1, 3.984784782e-1, -2.446990013e-1, 5.048443750e-2),
    )
)
SQRT_HALF = np.float32(math.sqrt(0.5))
FEW_BITS = np.int32(-4096)  # 12 of a number's 24: its square is exact
DENSITY = np.float32(1 / math.sqrt(2 * math.pi))
ERF_SLOPE = np.float32(2 / math.sqrt(math.pi))
TWICE_U, CUBIC, RISING = (
    np.float32(c) for c in (2 * math.sqrt(2 / math.pi), 0.044715, 3 * 0.044715)
)


@inlined
def decay(x, rate):
    """e^(-rate x^2), for a rate of 1 or 1/2, with x^2 = h^2 + (x - h) (x + h), h^2 exact."""
    t = abs(x)
    t = FARTHEST if t > FARTHEST else t
    h = as_float(as_bits(t) & FEW_BITS)
    return exp_of_sum32(-rate * (h * h), -rate * ((t - h) * (t + h)))


@inlined
def tail(x, e):
    """P(-|x|), with P the normal distribution and e = decay(x, 1/2)."""
    t = abs(x)
    t = ONE / (ONE + STEEPNESS * (SQRT_HALF * (FARTHEST if t > FARTHEST else t)))
    y = TAIL_10 * t + TAIL_9
    y = y * t + TAIL_8
    y = y * t + TAIL_7
    y = y * t + TAIL_6
    y = y * t + TAIL_5
    y = y * t + TAIL_4
    y = y * t + TAIL_3
    y = y * t + TAIL_2
    y = y * t + TAIL_1
    return (HALF * e) * (y * t)


@pointwise(cost=1.5)
def erf_forward(x):
    return erf32(x)


@pointwise
def erf_dx(dy, x):
    return dy * (ERF_SLOPE * decay(x, ONE))


# ---- gelu ---------------------------------------------------------------------------------------


@pointwise(cost=1.5)
def gelu_exact(x):
    y = tail(x, decay(x, HALF))
    return x * (y if x < NOTHING else ONE - y)


@pointwise(cost=1.5)
def gelu_exact_dx(dy, x):
    e = decay(x, HALF)
    y = tail(x, e)
    return dy * ((y if x < NOTHING else ONE - y) + x * (e * DENSITY))


@pointwise(cost=1)
def gelu_tanh(x):
    return x / (ONE + exp32(-(x * (TWICE_U * (ONE + CUBIC * (x * x))))))


@pointwise(cost=1.2)
def gelu_tanh_dx(dy, x):
    v = x * (TWICE_U * (ONE + CUBIC * (x * x)))
    rise = TWICE_U * (ONE + RISING * (x * x)) / (ONE + exp32(v))
    return dy * ((ONE + x * rise) / (ONE + exp32(-v)))


@any_device
def gelu_forward(x, *, approximate, to):
    return (gelu_tanh if approximate == "tanh" else gelu_exact)(x, to=to)


@any_device
def gelu_dx(dy, x, *, approximate, to):
    return (gelu_tanh_dx if approximate == "tanh" else gelu_exact_dx)(dy, x, to=to)
