"""The compiled kernel of conv_transpose.py: that of a convolution's gradient, with a bias."""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.convolution.conv_numba import conv_dx


@compiled_kernel
def conv_transpose_forward(x, w, b, *, y_sizes, **given):
    return conv_dx(x, w, x_sizes=y_sizes, bias=b, **given)
