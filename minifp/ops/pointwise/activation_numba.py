"""Compiled kernels of activation.py."""

import numpy as np

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import pointwise
from minifp.runtime.cpu.math import NOTHING, ONE, TWO, exp32, expm1_32, log1p_32, sigmoid32

THREE, SIX = np.float32(3), np.float32(6)
ALPHA, SCALE = np.float32(1.6732632423543772), np.float32(1.0507009873554805)  # of selu

# ---- linear, or an exponential on the left ------------------------------------------------------


@pointwise
def relu_forward(x):
    return NOTHING if x <= NOTHING else x


@pointwise
def relu_dx(dy, y):
    return NOTHING if y <= NOTHING else dy


@pointwise
def leaky_relu_forward(x, *, negative_slope):
    return x if x > NOTHING else negative_slope * x


@pointwise
def leaky_relu_dx(dy, x, *, negative_slope):
    return dy if x > NOTHING else negative_slope * dy


@pointwise(cost=0.8)
def elu_forward(x, *, alpha):
    return alpha * expm1_32(x) if x <= NOTHING else x


@pointwise(cost=0.8)
def elu_dx(dy, x, *, alpha):
    return dy if x > NOTHING else dy * (alpha * exp32(x))


@pointwise(cost=1)
def celu_forward(x, *, alpha):
    return alpha * expm1_32(x / alpha) if x <= NOTHING else x


@pointwise(cost=1)
def celu_dx(dy, x, *, alpha):
    return dy if x > NOTHING else dy * exp32(x / alpha)


@pointwise(cost=0.8)
def selu_forward(x):
    return SCALE * (ALPHA * expm1_32(x) if x <= NOTHING else x)


@pointwise(cost=0.8)
def selu_dx(dy, x):
    return SCALE * (dy if x > NOTHING else dy * (ALPHA * exp32(x)))


# ---- smooth -------------------------------------------------------------------------------------


@pointwise(cost=0.8)
def silu_forward(x):
    return x / (ONE + exp32(-x))


@pointwise(cost=1)
def silu_dx(dy, x):
    e = exp32(-abs(x))
    more = ONE / (ONE + e)
    less = e * more
    s, rest = (less, more) if x < NOTHING else (more, less)
    return dy * (s * (ONE + x * rest))


@pointwise(cost=1)
def mish_forward(x):
    e = exp32(-abs(x))
    right = x > NOTHING
    top = ONE + TWO * e if right else e * (e + TWO)
    return x * (top / (top + TWO * (e * e if right else ONE)))


@pointwise(cost=1.2)
def mish_dx(dy, x):
    e = exp32(-abs(x))
    right = x > NOTHING
    top = ONE + TWO * e if right else e * (e + TWO)
    bottom = top + TWO * (e * e if right else ONE)
    rise = TWO * (e if right else ONE) * (ONE + e) / bottom
    s = (ONE if right else e) / (ONE + e)
    return dy * (top / bottom + x * s * (rise * rise))


@pointwise(cost=1.2)
def logsigmoid_forward(x):
    return (NOTHING if x > NOTHING else x) - log1p_32(exp32(-abs(x)))


@pointwise(cost=0.8)
def logsigmoid_dx(dy, x):
    return dy * sigmoid32(-x)


@pointwise(cost=0.4)
def softsign_forward(x):
    return x / (ONE + abs(x))


@pointwise(cost=0.4)
def softsign_dx(dy, x):
    bottom = ONE + abs(x)
    return dy / (bottom * bottom) + NOTHING * x  # NaN at Inf, as Inf / Inf is


@pointwise(cost=1.5)
def softplus_forward(x, *, beta, threshold):
    z = beta * x
    y = ((z if z > NOTHING else NOTHING) + log1p_32(exp32(-abs(z)))) / beta
    return x if z > threshold else y


@pointwise(cost=0.8)
def softplus_dx(dy, x, *, beta, threshold):
    z = beta * x
    return dy if z > threshold else dy * sigmoid32(z)


# ---- in straight pieces -------------------------------------------------------------------------


@pointwise
def hardtanh_forward(x, *, min_val, max_val):
    return min_val if x < min_val else max_val if x > max_val else x


@pointwise
def hardtanh_dx(dy, x, *, min_val, max_val):
    return NOTHING if x <= min_val or x >= max_val else dy


@any_device
def relu6_forward(x, *, to):
    return hardtanh_forward(x, to=to, min_val=0, max_val=6)


@any_device
def relu6_dx(dy, x, *, to):
    return hardtanh_dx(dy, x, to=to, min_val=0, max_val=6)


@pointwise(cost=0.4)
def hardsigmoid_forward(x):
    z = x + THREE
    return (NOTHING if z < NOTHING else SIX if z > SIX else z) / SIX


@pointwise(cost=0.4)
def hardsigmoid_dx(dy, x):
    return dy / SIX if x > -THREE and x < THREE else NOTHING


@pointwise(cost=0.4)
def hardswish_forward(x):
    z = x + THREE
    return x * (NOTHING if z < NOTHING else SIX if z > SIX else z) / SIX


@pointwise(cost=0.4)
def hardswish_dx(dy, x):
    return NOTHING if x <= -THREE else dy if x >= THREE else dy * ((TWO * x + THREE) / SIX)
