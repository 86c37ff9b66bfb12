"""How alike vectors are: the cosine of their angle, and their distance.

cosine: y = sum x1 x2 / (d1 d2) along an axis, with d = max(|x|, eps).
    dx1 = dy (x2 / d2 - y x1 / |x1|) / d1.   PyTorch's: it holds |x| for not clamped.
distance: y = |v|_p along the last axis, v = x1 - x2 + eps;   dx1 = dy d|v|_p / dv, dx2 = -dx1.

x1, x2: stored, broadcast together;  y: without the axis, stored. Sums, norms and eps are in
float32 and each result is rounded once: in float16 eps = 1e-8 is 0, and |x| overflows.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag, check_range
from minifp.errors import ShapeError
from minifp.numerics.formats import float32, wider
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import as_axis, check_tensors
from minifp.ops.elementwise import pass_to, sum_to
from minifp.ops.normalization.normalize import check_p, p_norm, p_norm_slope
from minifp.ops.public import public


def _unit(x, axis, eps, sum):
    """x / d, d, and the slope of |x|: x / |x|, 0 where x is."""
    n = p_norm(x, 2, axis, sum)
    d = np.maximum(n, eps)
    return x / d, d, p_norm_slope(x, n, 2, axis, sum)


@kernel("reduce", "x1 x2")
def cosine_similarity_forward(x1, x2, *, axis, eps, sum):
    x1, x2 = np.broadcast_arrays(x1, x2)
    return sum(_unit(x1, axis, eps, sum)[0] * _unit(x2, axis, eps, sum)[0], axis=axis)


@kernel("reduce", GIVEN)
def cosine_similarity_dx(dy, x1, x2, *, axis, eps, sum):
    """The gradient of x1; x2's is the same with both exchanged."""
    shape = x1.shape
    x1, x2 = np.broadcast_arrays(x1, x2)
    (u1, d1, slope), u2 = _unit(x1, axis, eps, sum), _unit(x2, axis, eps, sum)[0]
    y = sum(u1 * u2, axis=axis, keepdims=True)
    return sum_to(np.expand_dims(dy, axis) * (u2 - y * slope) / d1, shape, sum)


def _slope(dx, dy, x1, x2, to, **settings):
    """The gradient of x1; where it was stretched, that of each copy in float32 or wider, and their
    sum."""
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    if to is None or x1.shape == shape:
        return None if to is None else dx(dy, x1, x2, to=to, **settings)
    copies = dx(dy, np.broadcast_to(x1, shape), x2, to=wider(to, float32), **settings)
    return pass_to(copies, x1.shape, to)


def cosine_similarity_backward(dy, x1, x2, to, axis, eps):
    first = _slope(cosine_similarity_dx, dy, x1, x2, to[0], axis=axis, eps=eps)
    return first, _slope(cosine_similarity_dx, dy, x2, x1, to[1], axis=axis, eps=eps)


@op
def cosine_similarity_op(x1, x2, *, axis, eps):
    return (
        cosine_similarity_forward(x1, x2, axis=axis, eps=eps),
        (x1, x2),
        cosine_similarity_backward,
    )


@kernel("reduce", "x1 x2")
def pairwise_distance_forward(x1, x2, *, p, eps, keepdim, sum):
    y = p_norm(x1 - x2 + eps, p, -1, sum)
    return y if keepdim else y[..., 0]


@kernel("reduce", GIVEN)
def pairwise_distance_dx(dy, x1, x2, *, p, eps, shape, sum):
    v = x1 - x2 + eps
    dv = dy.reshape(*v.shape[:-1], 1) * p_norm_slope(v, p_norm(v, p, -1, sum), p, -1, sum)
    return sum_to(dv, shape, sum)


def pairwise_distance_backward(dy, x1, x2, to, p, eps, keepdim):
    given = {"p": p, "shape": np.broadcast_shapes(x1.shape, x2.shape)}
    first = _slope(pairwise_distance_dx, dy, x1, x2, to[0], eps=eps, **given)
    return first, _slope(pairwise_distance_dx, dy, x2, x1, to[1], eps=-eps, **given)  # of -v


@op
def pairwise_distance_op(x1, x2, *, p, eps, keepdim):
    y = pairwise_distance_forward(x1, x2, p=p, eps=eps, keepdim=keepdim)
    return y, (x1, x2), pairwise_distance_backward


def _broadcast_shape(function, x1, x2):
    check_tensors(function, x1=x1, x2=x2)
    try:
        return np.broadcast_shapes(x1.shape, x2.shape)
    except ValueError:
        raise ShapeError(
            f"{function}: x1 of shape {x1.shape} and x2 of shape {x2.shape} do not broadcast"
        ) from None


@public("fp F", autocast="sum")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between x1 and x2 along `dim`, after broadcasting; without that axis.

    eps: the smallest length by which is divided. The gradient of a vector of zeros is x2 / eps,
    which overflows in float16. Raises DTypeError for anything but a floating tensor, ShapeError
    where shapes do not fit, ArgumentError for an eps below 0.
    """
    shape = _broadcast_shape("cosine_similarity", x1, x2)
    check_range("cosine_similarity: eps", eps)
    axis = as_axis(dim, len(shape), "cosine_similarity: dim")
    return cosine_similarity_op(x1, x2, axis=axis, eps=float(eps))


@public("fp F", autocast="sum")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis, after broadcasting.

    p: a number above 0, or inf. Raises DTypeError for anything but a floating tensor, ShapeError
    where shapes do not fit, ArgumentError for other p and an eps below 0.
    """
    if not _broadcast_shape("pairwise_distance", x1, x2):
        raise ShapeError("pairwise_distance of tensors without dimensions: expected (..., D)")
    check_p("pairwise_distance: p", p)
    check_range("pairwise_distance: eps", eps)
    check_flag("pairwise_distance: keepdim", keepdim)
    return pairwise_distance_op(x1, x2, p=float(p), eps=float(eps), keepdim=bool(keepdim))
