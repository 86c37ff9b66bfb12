"""The kernel of conv_transpose.py for a GPU: a gradient of conv_cuda.py, with a bias."""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.convolution.conv_cuda import gradient
from minifp.runtime.cuda.cudnn import Steps


@compiled_kernel
def conv_transpose_forward(x, w, b, *, y_sizes, stride, padding, dilation, groups, to):
    return gradient(x, w, b, y_sizes, groups, to[0], Steps(stride, padding, dilation))
