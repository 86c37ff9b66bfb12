"""The kernels of conv_transpose.py for a GPU: those of conv_cuda.py, exchanged."""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.convolution.conv_cuda import conv_dw, conv_forward, gradient
from minifp.runtime.cuda.cudnn import Steps


@compiled_kernel
def conv_transpose_forward(x, w, b, *, y_sizes, stride, padding, dilation, groups, to):
    return gradient(x, w, b, y_sizes, groups, to[0], Steps(stride, padding, dilation))


@compiled_kernel
def conv_transpose_dx(dy, w, **given):
    return conv_forward(dy, w, None, **given)


@compiled_kernel
def conv_transpose_dw(x, dy, **given):
    return conv_dw(x, dy, **given)
