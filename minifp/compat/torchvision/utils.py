"""torchvision.utils: pictures beside each other, and files of them."""

import io
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.compat.torch.files import led
from minifp.data.pillow import need_pillow
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.saving import files

__all__ = ["make_grid", "save_image"]


def make_grid(
    tensor: Any, nrow: int = 8, padding: int = 2, normalize: bool = False,
    value_range: tuple[float, float] | None = None, scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:  # fmt: skip
    """One tensor (3, H, W) of pictures (N, C, H, W), or a list of them, nrow in a row; of one that
    one. Grey ones get three channels.

    normalize: whether the smallest number (or value_range's) becomes 0 and the largest 1, of all or
    (scale_each) of each. Raises DTypeError for other things than tensors, ShapeError for others.
    """
    every = tensor if isinstance(tensor, (list, tuple)) else [tensor]
    if not every or not all(isinstance(t, Tensor) for t in every):
        raise DTypeError(f"make_grid of a {type(tensor).__name__}: expected tensors (C, H, W)")
    arrays = [t.detach().cpu().numpy() for t in every]
    if isinstance(tensor, Tensor) and arrays[0].ndim == 4:
        arrays = [*arrays[0]]
    if {a.ndim for a in arrays} - {2, 3} or len({a.shape for a in arrays}) != 1:
        shown = ", ".join(str(a.shape) for a in arrays[:4])
        raise ShapeError(f"make_grid: {shown}: expected (N, C, H, W), or some (C, H, W) alike")
    x = np.stack(arrays).reshape(len(arrays), -1, *arrays[0].shape[-2:])
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
    count, channels, height, width = x.shape
    columns = min(nrow, count)
    rows, height, width = math.ceil(count / columns), height + padding, width + padding
    shape = channels, rows * height + padding, columns * width + padding
    out = np.full(shape, pad_value, x.dtype)
    for i, picture in enumerate(x):
        top, left = i // columns * height + padding, i % columns * width + padding
        out[:, top : top + height - padding, left : left + width - padding] = picture
    return out


@no_grad()
def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write the grid of pictures, 0 to 1, as a file. fp: a path, or an open file with a `format`.

    kwargs: of make_grid. Raises what make_grid raises, ArgumentError for a format that Pillow does
    not write, and FileError for a disk that is full or protected.
    """
    image = need_pillow("save_image")
    pixels = np.clip(make_grid(tensor, **kwargs).numpy() * 255 + 0.5, 0, 255).astype(np.uint8)
    is_path = isinstance(fp, (str, os.PathLike))
    ending = Path(fp).suffix.lower() if is_path else ""
    kind = format or image.registered_extensions().get(ending)
    if kind is None:
        raise ArgumentError(f"save_image({fp}): expected a name that ends in .png, or a format")
    content = io.BytesIO()
    image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0))).save(content, kind)
    if is_path:
        files.write(led(fp), content.getvalue())
    else:
        fp.write(content.getvalue())
