"""resize_ and resize_as_, in place: other sizes, and more memory where these need it."""

import numpy as np

from minifp.autograd.storage import Storage
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError, TapeError
from minifp.ops.dims import also_by_name, as_size
from minifp.ops.public import public
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
