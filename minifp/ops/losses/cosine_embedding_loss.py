"""A loss of pairs of vectors, alike (t = 1) or not (t = -1).

y = sum x1 x2 / sqrt((sum x1^2 + e) (sum x2^2 + e)), e = 1e-12, along the last axis
l = 1 - y where t = 1, max(0, y - margin) where t = -1
dx1 = s (x2 / d2 - y x1 / d1) / d1 dl,   d^2 = sum x^2 + e,   s = -1; 1 where y >= margin, else 0

x1, x2: (N, D) or (D), stored;  t: (N) or (). "none": l, in the inputs' format; "sum", "mean":
float32. The sums are in `reduce`. An e of 1e-12 is 0 in float16: it is added in float32.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.losses.loss import check_reduction, divisor_of
from minifp.ops.normalization.batch_norm import as_array
from minifp.ops.public import public
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import is_array_like

EPSILON = 1e-12


def _unit(x, sum):
    d = np.sqrt(sum(x * x, axis=-1, keepdims=True) + EPSILON)
    return x / d, d


@kernel("loss", "x1 x2")
def cosine_embedding_loss_each(x1, x2, t, *, margin, sum):
    y = sum(_unit(x1, sum)[0] * _unit(x2, sum)[0], axis=-1)
    return np.where(t == 1, 1 - y, np.maximum(y - margin, 0))


@kernel("loss", COMPUTE)
def cosine_embedding_loss_total(x1, x2, t, *, margin, divisor, sum):
    return sum(cosine_embedding_loss_each.reference(x1, x2, t, margin=margin, sum=sum)) / divisor


@kernel("loss", GIVEN)
def cosine_embedding_loss_dx(dl, x1, x2, t, *, margin, divisor, sum):
    """The gradient of x1; x2's is the same with both exchanged."""
    (u1, d1), u2 = _unit(x1, sum), _unit(x2, sum)[0]
    y = sum(u1 * u2, axis=-1)
    dl = np.broadcast_to(dl / divisor, y.shape)
    dy = np.where(t == 1, -dl, np.where(y < margin, 0, dl))
    return dy[..., None] * (u2 - y[..., None] * u1) / d1


def cosine_embedding_loss_backward(dl, x1, x2, t, to, margin, divisor):
    settings = {"margin": margin, "divisor": divisor or 1}
    gradients = (
        None if format is None else cosine_embedding_loss_dx(dl, a, b, t, to=format, **settings)
        for format, a, b in zip(to, (x1, x2), (x2, x1))
    )
    return *gradients, None


@op
def cosine_embedding_loss_op(x1, x2, t, *, margin, divisor):
    if divisor is None:
        losses = cosine_embedding_loss_each(x1, x2, t, margin=margin)
    else:
        losses = cosine_embedding_loss_total(x1, x2, t, margin=margin, divisor=divisor)
    return losses, (x1, x2, t), cosine_embedding_loss_backward


@public("fp F", autocast="loss")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """1 - cosine of the pairs whose target is 1; the cosine above `margin` of those with -1.

    input1, input2: (N, D) or (D)  target: 1 or -1, (N) or (). A float32 scalar unless "none".
    Raises DTypeError for anything but floating tensors (as target, any tensor), ShapeError where
    shapes do not fit, ArgumentError for a margin outside of -1 to 1 and for other targets (not
    checked on a GPU, which would have to wait for them).
    """
    check_reduction("cosine_embedding_loss", reduction)
    check_range("cosine_embedding_loss: margin", margin, -1.0, 1.0)
    check_tensors("cosine_embedding_loss", input1=input1, input2=input2)
    if not is_array_like(target):
        kind = type(target).__name__
        raise DTypeError(f"cosine_embedding_loss: target is a {kind}: expected a tensor")
    shape = input1.shape
    if not 1 <= len(shape) <= 2 or input2.shape != shape or target.shape != shape[:-1]:
        raise ShapeError(
            f"cosine_embedding_loss: inputs of shapes {shape} and {input2.shape}, target of shape "
            f"{target.shape}: expected (N, D), (N, D) and (N), or (D), (D) and ()"
        )
    t = as_array(target)
    if not is_on_device(t) and not ((t == 1) | (t == -1)).all():
        raise ArgumentError("cosine_embedding_loss: target: expected only 1 and -1")
    divisor = divisor_of(reduction, t.shape)
    return cosine_embedding_loss_op(input1, input2, t, margin=float(margin), divisor=divisor)
