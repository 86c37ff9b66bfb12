"""Root mean square normalisation (Zhang and Sennrich 2019, arXiv:1910.07467, equation 4).

r = 1 / sqrt(mean x^2 + eps) over the last axes,  h = x r,  y = h w.
x, y: (..., D), stored;  w: (D) norm parameters;  r: (..., 1) float32.

    dw = sum dy h,   dx = r (g - h mean(g h)) with g = dy w

The sums are in `reduce`; y and dx are rounded once. A square overflows in float16 from x = 256 on.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.numerics.formats import float32, format_of
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN, promote
from minifp.ops.normalization.layer_norm import as_rows
from minifp.ops.public import public
from minifp.typing import Ints


@kernel("norm", "x", COMPUTE)
def rms_norm_forward(x, w, *, eps, sum):
    r = 1 / np.sqrt(sum(x * x, axis=-1, keepdims=True) / x.shape[-1] + eps)
    y = x * r
    return (y if w is None else y * w), r


@kernel("norm", GIVEN, GIVEN)
def rms_norm_dx(dy, x, w, r, *, sum):
    h = x * r
    g = dy if w is None else dy * w
    mean_gh = sum(g * h, axis=-1, keepdims=True) / x.shape[-1]
    return r * (g - h * mean_gh), sum(dy * h, axis=tuple(range(x.ndim - 1)))


def rms_norm_backward(dy, x, w, r, to, eps):
    dx, dw = rms_norm_dx(dy, x, w, r, to=tuple(t or dy.dtype for t in to))
    return dx, (None if to[1] is None else dw)


@op
def rms_norm_op(x, w, *, eps):
    y, r = rms_norm_forward(x, w, eps=eps)
    return y, (x, w, r), rms_norm_backward


@public("fp F", autocast="deviation")
def rms_norm(
    input: Tensor, normalized_shape: Ints, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root of the mean square over the last axes, which are `normalized_shape`.

    eps: None is the gap after 1 of the format in which it is computed: 2^-23 for float16 and
    float32 tensors (float16's own, 2^-10, would change rows of numbers below 0.1), 2^-52 for
    float64. Raises DTypeError for anything but a floating tensor, ShapeError where shapes do not
    fit, ArgumentError for an eps below 0.
    """
    rows = as_rows("rms_norm", input, normalized_shape, weight=weight)
    if eps is None:
        eps = format_of(promote([float32, input.dtype])).eps
    check_range("rms_norm: eps", eps)
    y = rms_norm_op(*rows, eps=float(eps))
    return y if y.ndim == input.ndim else y.reshape(input.shape)
