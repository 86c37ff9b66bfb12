"""Kernels of error_function.py for a GPU for which CUDA has functions that are right far out."""

import math

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.dispatch import formula
from minifp.ops.pointwise.error_function_numba import gelu_tanh, gelu_tanh_dx
from minifp.runtime.cuda.translate import C

ERF_SLOPE, DENSITY = 2 / math.sqrt(math.pi), 1 / math.sqrt(2 * math.pi)


def decay(x, c):
    """e^(-c x^2), with what is rounded off x^2: c times it is far below 1."""
    s = x * x
    rest = C.fma(x, x, -s)
    return math.exp(-c * s) * (1 - c * rest) if s < 1e30 else 0 * s


@formula
def erf_dx(dy, x):
    return dy * (ERF_SLOPE * decay(x, 1.0))


@formula
def gelu_exact(x):
    return x * C.normcdf(x)


@formula
def gelu_exact_dx(dy, x):
    return dy * (C.normcdf(x) + x * (decay(x, 0.5) * DENSITY))


@compiled_kernel
def gelu_forward(x, *, approximate, to):
    return (gelu_tanh if approximate == "tanh" else gelu_exact)(x, to=to)


@compiled_kernel
def gelu_dx(dy, x, *, approximate, to):
    return (gelu_tanh_dx if approximate == "tanh" else gelu_exact_dx)(dy, x, to=to)
