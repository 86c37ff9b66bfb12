"""torchvision.transforms.v2: transforms of one picture or tensor, as in torchvision.transforms, and
those by which pictures become tensors there."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.compat.torchvision.transforms import functional as F
from minifp.errors import DTypeError
from minifp.numerics.dtypes import float32
from minifp.numerics.formats import as_dtype, is_float

__all__ = ["ConvertImageDtype", "Identity", "ToDtype", "ToImage"]


def to_dtype(tensor: Tensor, dtype: Any, scale: bool) -> Tensor:
    """A tensor in another dtype; scale: floats stand for 0 to 1 where integers stand for 0 to their
    largest. Raises DTypeError for what is no tensor, and for scaling integers to other integers."""
    F.need("to_dtype", tensor, "tensor")
    before, after = as_dtype(tensor.dtype), as_dtype(dtype)
    if not scale or before == after or (is_float(before) and is_float(after)):
        return tensor.to(dtype)
    if is_float(after):
        return tensor.to(dtype) / np.iinfo(before).max
    if not is_float(before):
        raise DTypeError(f"to_dtype: {before} to {after} with scale: expected floats in between")
    return (tensor * (np.iinfo(after).max + 1 - 1e-3)).to(dtype)


class ToImage:
    """A picture, or an array (H, W) or (H, W, C), as a tensor (C, H, W) of its own numbers."""

    def __call__(self, img: Any) -> Tensor:
        if isinstance(img, np.ndarray) and img.ndim in (2, 3):
            return Tensor(F.channels_first(img))
        return img if isinstance(img, Tensor) else F.pil_to_tensor(img)


@dataclass(eq=False)
class ToDtype:
    """A tensor in another dtype: see `to_dtype`."""

    dtype: Any
    scale: bool = False

    def __call__(self, img: Tensor) -> Tensor:
        return to_dtype(img, self.dtype, self.scale)


@dataclass(eq=False)
class ConvertImageDtype(ToDtype):
    """As ToDtype with scale."""

    dtype: Any = float32
    scale: bool = True


class Identity:
    """What it is given."""

    def __call__(self, img: Any) -> Any:
        return img
