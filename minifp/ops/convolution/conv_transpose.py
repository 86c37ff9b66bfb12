"""Transposed convolutions: the gradient of a convolution for its input, as a layer.

    y[n,o,s p + d i - pad] = b[o] + the sum of w[c,o,i] x[n,c,p] over c, and over the p and i there

x: (N, C, L)  w: (C, O/groups, K)  b: (O)  y: (N, O, M), all stored, and with two axes likewise;
M = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1. Its own gradients are
convolutions: dx that of dy with w; dw as in conv.py, with x and dy exchanged (Dumoulin and Visin
2016, arXiv:1603.07285, section 4). Products are summed in `accumulate`, in one dot product.
"""

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.products import WGRAD
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import check_room
from minifp.ops.convolution import conv
from minifp.ops.missing_axes import AXES
from minifp.ops.public import public
from minifp.ops.windows import as_sizes
from minifp.typing import Ints


@kernel("dot", "x", operands={"x": conv.ALL_BUT_FIRST, "w": conv.ALL_BUT_SECOND})
def conv_transpose_forward(x, w, b, *, y_sizes, stride, padding, dilation, groups, dot, accumulate):
    y = conv.correlate_back(x, w, y_sizes, stride, padding, dilation, groups, dot)
    return conv.add_bias(y, b, accumulate)


@kernel("dot", GIVEN, operands={"w": conv.ALL_BUT_FIRST}, gradients={"dy": conv.ALL_BUT_FIRST})
def conv_transpose_dx(dy, w, *, counts, stride, padding, dilation, groups, dot):
    return conv.correlate(dy, w, stride, padding, dilation, counts, groups, dot)


@kernel("dot", GIVEN, product=WGRAD, **conv.WEIGHT_GRADIENT)
def conv_transpose_dw(x, dy, *, w_shape, stride, padding, dilation, groups, dot):
    return conv.correlate_weights(x, dy, w_shape, stride, padding, dilation, groups, dot)


def conv_transpose_backward(dy, x, w, to, y_sizes, **geometry):
    counts = x.shape[2:]
    return (
        None if to[0] is None else conv_transpose_dx(dy, w, counts=counts, to=to[0], **geometry),
        None if to[1] is None else conv_transpose_dw(x, dy, w_shape=w.shape, to=to[1], **geometry),
        None if to[2] is None else conv.conv_db(dy, to=to[2]),
    )


def convolved(x, w, b, **geometry):
    return conv_transpose_forward(x, w, b, **geometry), (x, w), conv_transpose_backward


OPERATIONS = {n: op(convolved, name=f"conv_transpose{n}d", weights=("w", "b")) for n in AXES}


def transposed(ndim, input, weight, bias, groups, **sizes):
    """Check the arguments of conv_transpose1d or conv_transpose2d, and do it."""
    name = f"conv_transpose{ndim}d"
    conv.check_shapes(name, ndim, input, weight, bias, groups, transposed=True)
    least = {"stride": 1, "dilation": 1, "padding": 0, "output_padding": 0}
    sizes = {k: as_sizes(v, f"{name}: {k}", least[k], ndim) for k, v in sizes.items()}
    added = sizes.pop("output_padding")
    if any(a >= max(s, d) for a, s, d in zip(added, sizes["stride"], sizes["dilation"])):
        raise ShapeError(
            f"{name}: output_padding={added} must be smaller than stride={sizes['stride']} "
            f"or dilation={sizes['dilation']}"
        )
    places = zip(input.shape[-ndim:], weight.shape[2:], added, *sizes.values())
    y_sizes = tuple((n - 1) * s + d * (k - 1) - 2 * p + a + 1 for n, k, a, s, p, d in places)
    if min(y_sizes) < 1:
        raise ShapeError(
            f"{name}: input of shape {input.shape} and padding {sizes['padding']} leave "
            f"a result of sizes {y_sizes}"
        )
    check_room(name, (*input.shape[: -1 - ndim], *y_sizes))
    strides = zip(sizes["stride"], input.shape[-ndim:])
    sizes["stride"] = tuple(s if n > 1 else 1 for s, n in strides)  # of one window there is none
    x, batched = conv.as_batch(input, ndim)
    y = OPERATIONS[ndim](x, weight, bias, y_sizes=y_sizes, groups=int(groups), **sizes)
    return y if batched else y.reshape(y.shape[1:])


@public("fp F", autocast="product")
@takes_tensor
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """The 1-D transposed convolution.

    input: (N, C, L) or (C, L)  weight: (C, O/groups, K)  bias: (O)  result: (N, O, M) or (O, M)
    with M = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1.
    """
    return transposed(1, **locals())


@public("fp F", autocast="product")
@takes_tensor
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """The 2-D transposed convolution; integers or pairs, each axis as in conv_transpose1d.

    input: (N, C, H, W) or (C, H, W)  weight: (C, O/groups, KH, KW)  bias: (O)
    result: (N, O, P, Q) or (O, P, Q).
    """
    return transposed(2, **locals())
