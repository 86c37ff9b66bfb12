"""torch._utils: tensors in one, and back."""

from typing import Any

from minifp.autograd.tape import Tensor
from minifp.ops import cat

__all__ = ["_flatten_dense_tensors", "_unflatten_dense_tensors"]


def _flatten_dense_tensors(tensors: Any) -> Tensor:
    """All numbers, of one tensor after the other."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Any) -> tuple[Tensor, ...]:
    """The parts of a flat tensor, in the shapes of these."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.reshape(tensor.shape) for part, tensor in zip(parts, tensors))
