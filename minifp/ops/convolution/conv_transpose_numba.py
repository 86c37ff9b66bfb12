"""The compiled kernels of conv_transpose.py: those of a convolution, exchanged."""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.convolution.conv_numba import conv_dw, conv_dx, conv_forward


@compiled_kernel
def conv_transpose_forward(x, w, b, *, y_sizes, **given):
    return conv_dx(x, w, x_sizes=y_sizes, bias=b, **given)


@compiled_kernel
def conv_transpose_dx(dy, w, **given):
    return conv_forward(dy, w, None, **given)


@compiled_kernel
def conv_transpose_dw(x, dy, **given):
    return conv_dw(x, dy, **given)
