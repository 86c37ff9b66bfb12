"""Other sizes and other axes, in place.

resize_ and resize_as_ take more memory where they need it. unsqueeze_, squeeze_, transpose_ and t_
let a tensor be a view of what it was: other tensors on its memory stay as they are.
"""

import numpy as np

from minifp.autograd.grad_mode import is_recording
from minifp.autograd.storage import Storage
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError, TapeError
from minifp.ops.arguments import also_by_name, as_size
from minifp.ops.binding import become, refuse
from minifp.ops.public import public
from minifp.ops.shaping.shape import squeeze, t, transpose, unsqueeze
from minifp.runtime.device import full
from minifp.typing import Ints


@public("Tensor")
@also_by_name("sizes")
def resize_(input: Tensor, *sizes: Ints) -> Tensor:
    """Give a tensor other sizes: its elements stay in their order, those that are added are 0.

    With no more elements it stays on its memory. Raises TapeError for a tensor with a gradient, one
    whose memory a parameter or an optimizer knows, and one that is not contiguous.
    """
    if not isinstance(input, Tensor):
        raise DTypeError(f"resize_ of a {type(input).__name__}: expected a tensor")
    size = as_size(sizes, "resize_")
    if any(t.requires_grad or t.precision for t in [input, *input.storage.sharers()]):
        raise TapeError("resize_ of a tensor that requires a gradient, or is a parameter's")
    if not input.array.flags.c_contiguous:
        raise TapeError("resize_ of a tensor that is not contiguous: write x.contiguous() first")
    count, before = int(np.prod(size, dtype=np.int64)), input.array.reshape(-1)
    if count > before.size:
        larger = full((count,), 0, before.dtype, like=before)
        larger[: before.size] = before
        before, input.storage = larger, Storage()
    input.array = before[:count].reshape(size)
    return input


@public("Tensor")
def resize_as_(input: Tensor, other: Tensor) -> Tensor:
    """resize_ to the sizes of another tensor."""
    if not isinstance(other, Tensor):
        raise DTypeError(f"resize_as_: other is a {type(other).__name__}: expected a tensor")
    return resize_(input, *other.shape)


def _with_other_axes(x: Tensor, y: Tensor, name: str) -> Tensor:
    """x, as the view y of it. Raises TapeError where a parameter or a gradient has x's shape."""
    if x.precision is not None or (x.is_leaf and x.grad is not None):
        raise TapeError(f"{name} of a parameter, or of a tensor with .grad, which has its shape")
    if x.is_leaf and x.requires_grad and is_recording():
        refuse(name)
    if y is not x:
        become(x, y, y.array, y.storage)
    return x


@public("Tensor")
def unsqueeze_(input: Tensor, dim: int) -> Tensor:
    """As `unsqueeze`, of this tensor. Raises TapeError for a parameter, or a leaf that records."""
    return _with_other_axes(input, unsqueeze(input, dim), "unsqueeze_")


@public("Tensor")
def squeeze_(input: Tensor, dim: Ints | None = None) -> Tensor:
    """As `squeeze`, of this tensor. Raises TapeError for a parameter, or a leaf that records."""
    return _with_other_axes(input, squeeze(input, dim), "squeeze_")


@public("Tensor")
def transpose_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """As `transpose`, of this tensor. Raises TapeError for a parameter, or a leaf that records."""
    return _with_other_axes(input, transpose(input, dim0, dim1), "transpose_")


@public("Tensor")
def t_(input: Tensor) -> Tensor:
    """As `t`, of this tensor. Raises TapeError for a parameter, or a leaf that records."""
    return _with_other_axes(input, t(input), "t_")
