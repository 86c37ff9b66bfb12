"""torch.nn.functional: pictures read at places that are computed, with gradients of both."""

from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_choice
from minifp.compat.torch.distributions.base import as_floats
from minifp.errors import ShapeError
from minifp.ops import stack

__all__ = ["affine_grid", "grid_sample"]


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The places (N, H, W, 2), x and y, where theta (N, 2, 3) finds each pixel of pictures of size
    (N, C, H, W). -1 and 1 are the outer edges, or with align_corners the middles of the outer
    pixels. Raises ShapeError for other sizes, as of volumes."""
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (2, 3) or len(size) != 4:
        raise ShapeError(f"affine_grid of {theta.shape} and {tuple(size)}: expected (N, 2, 3)")
    theta = as_floats(theta)
    x, y = (middles(int(n), bool(align_corners)).to(theta.dtype) for n in (size[3], size[2]))
    x, y = x.reshape(1, 1, -1), y.reshape(1, -1, 1)
    a, b, c = theta.unsqueeze(-1).unsqueeze(-1).unbind(2)  # each (N, 2, 1, 1)
    return stack([a[:, k] * x + b[:, k] * y + c[:, k] for k in (0, 1)], -1)


def middles(count: int, align_corners: bool) -> Tensor:
    """Where the middles of so many pixels in a row are, from -1 to 1; of one pixel 0."""
    ends = (1.0 if align_corners else 1 - 1 / count) * (count > 1)
    return Tensor(np.linspace(-ends, ends, count))


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Pictures (N, C, H, W) read at places (N, h, w, 2), x and y: (N, C, h, w), by the four nearest
    pixels ("bilinear") or the nearest one. What lies outside is 0 ("zeros") or the nearest pixel
    ("border"). Raises ArgumentError for other modes, and ShapeError for volumes."""
    check_choice("grid_sample: mode", mode, ("bilinear", "nearest"))
    check_choice("grid_sample: padding_mode", padding_mode, ("zeros", "border"))
    if input.ndim != 4 or grid.ndim != 4 or grid.shape[3] != 2 or len(input) != len(grid):
        raise ShapeError(f"grid_sample of {input.shape} and {grid.shape}: expected (N, h, w, 2)")
    places = [
        pixels(as_floats(grid[..., k]), input.shape[3 - k], bool(align_corners), padding_mode)
        for k in (0, 1)
    ]
    if mode == "nearest":
        near = [p.detach().round() for p in places]
        return read(input, *near)
    (x, y), (left, top) = places, [p.detach().floor() for p in places]
    right, low = x - left, y - top  # parts of the pixels there
    rows = [(read(input, left, row), read(input, left + 1, row)) for row in (top, top + 1)]
    above, below = (between(a, b, right) for a, b in rows)
    return between(above, below, low)


def between(a: Tensor, b: Tensor, part: Tensor) -> Tensor:
    """Pixels (N, C, h, w) a where the part (N, h, w) is 0, and b where it is 1."""
    return a * (1 - part).unsqueeze(1) + b * part.unsqueeze(1)


def pixels(place: Tensor, count: int, align_corners: bool, padding_mode: str) -> Tensor:
    """Places from -1 to 1 as pixels, 0 to count - 1."""
    at = (place + 1) / 2 * (count - 1) if align_corners else ((place + 1) * count - 1) / 2
    return at.clamp(0, count - 1) if padding_mode == "border" else at


def read(input: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The pixels of whole numbers x and y, each (N, h, w), and 0 outside: (N, C, h, w)."""
    n, channels, height, width = input.shape
    is_inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    place = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)).long()
    index = place.reshape(n, 1, -1).expand(n, channels, place[0].numel())
    numbers = input.reshape(n, channels, height * width).gather(2, index)
    return numbers.reshape(n, channels, *x.shape[1:]) * is_inside.unsqueeze(1)
