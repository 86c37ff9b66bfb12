"""Row convolution: each feature of a sequence, from its own next steps.

    y_t,h = sum over j < C of w_h,j x_t+j,h        x_t is 0 behind the last step

x: (T, N, H)  w: (H, C)  y: (T, N, H). It is what lets a layer look some steps ahead without a
direction that begins at the end: Amodei et al. 2015 (arXiv:1512.02595, section 3.7). Made of a
convolution along time in as many groups as there are features, whose rounding is that of products.
"""

from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ShapeError
from minifp.ops.arguments import check_tensors
from minifp.ops.convolution.conv import conv1d
from minifp.ops.public import public
from minifp.ops.shaping.padding import pad
from minifp.ops.shaping.shape import permute


@public("F")
@takes_tensor
def row_conv(input: Tensor, weight: Tensor) -> Tensor:
    """The weighted sum of each feature over its own step and the next ones.

    input: (T, N, H), or (T, H) of one sequence; weight: (H, C), where weight[:, 0] is for the step
    itself; result: the input's shape. Behind the last step there are zeros. Raises DTypeError for
    anything but floating tensors, and ShapeError where shapes do not fit.
    """
    check_tensors("row_conv", input=input, weight=weight)
    fits = weight.ndim == 2 and input.ndim in (2, 3) and input.shape[-1] == weight.shape[0]
    if not fits or 0 in weight.shape:
        raise ShapeError(
            f"row_conv: input of shape {input.shape}, weight of shape {weight.shape}: expected "
            "(T, N, H) or (T, H), and (H, C)"
        )
    H, C = weight.shape
    x = input if input.ndim == 3 else input.reshape(len(input), 1, H)
    if 0 in x.shape:
        return input * 1
    along = pad(permute(x, (1, 2, 0)), (0, C - 1))
    y = permute(conv1d(along, weight.reshape(H, 1, C), groups=H), (2, 0, 1))
    return y if input.ndim == 3 else y.reshape(input.shape)
