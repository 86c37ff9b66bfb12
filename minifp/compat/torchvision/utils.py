"""torchvision.utils: pictures beside each other, and files of them."""

import io
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.compat.torch.files import write
from minifp.data.pillow import need_pillow
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops import stack

__all__ = ["make_grid", "save_image"]


def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """One tensor (3, H, W) of pictures (N, C, H, W), or a list of them, nrow in a row; of one that
    one. Grey ones get three channels.

    normalize: whether the smallest number (or value_range's) becomes 0 and the largest 1, of all or
    (scale_each) of each. Raises DTypeError for what is no tensor, ShapeError for several shapes.
    """
    whole = stack(tensor) if isinstance(tensor, (list, tuple)) else tensor
    if not isinstance(whole, Tensor) or whole.ndim not in (2, 3, 4):
        raise DTypeError(f"make_grid of a {type(tensor).__name__}: expected tensors (C, H, W)")
    check_count("nrow", nrow)
    if not whole.shape[0]:
        raise ShapeError("make_grid of no pictures: expected at least one")
    x = whole.detach().cpu().numpy()
    x = x.reshape(-1, 1 if x.ndim == 2 else x.shape[-3], *x.shape[-2:])
    x = np.repeat(x, 3, 1) if x.shape[1] == 1 else x
    if normalize:
        parts = [x[i : i + 1] for i in range(len(x))] if scale_each else [x]
        x = np.concatenate([between_0_and_1(part, value_range) for part in parts])
    return Tensor(x[0] if len(x) == 1 else grid(x, nrow, padding, pad_value))


def between_0_and_1(x: np.ndarray, value_range: tuple[float, float] | None) -> np.ndarray:
    """x, clamped to a range or its own, and scaled."""
    low, high = value_range or (float(x.min()), float(x.max()))
    return (np.clip(x, low, high) - low) / max(high - low, 1e-5)


def grid(x: np.ndarray, nrow: int, padding: int, pad_value: float) -> np.ndarray:
    """Pictures (N, C, H, W) in rows, with a border around each."""
    count, channels, *inside = x.shape
    columns, (height, width) = min(nrow, count), (n + padding for n in inside)
    shape = channels, math.ceil(count / columns) * height + padding, columns * width + padding
    out = np.full(shape, pad_value, x.dtype)
    for i, picture in enumerate(x):
        top, left = i // columns * height + padding, i % columns * width + padding
        out[:, top : top + inside[0], left : left + inside[1]] = picture
    return out


def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write the grid of pictures, 0 to 1, as a file. fp: a path, or an open file with a `format`.

    kwargs: of make_grid. Raises what that raises, ArgumentError for a path without a format, and
    FileError for a disk that is full or protected.
    """
    image, is_path = need_pillow("save_image"), isinstance(fp, (str, os.PathLike))
    pixels = np.clip(make_grid(tensor, **kwargs).numpy() * 255 + 0.5, 0, 255).astype(np.uint8)
    ending = Path(fp).suffix.lower() if is_path else ""
    kind, content = format or image.registered_extensions().get(ending), io.BytesIO()
    if kind is None:
        raise ArgumentError(f"save_image({fp}): expected a name that ends in .png, or a format")
    image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0))).save(content, kind)
    if is_path:
        write(fp, content.getvalue())
    else:
        fp.write(content.getvalue())
