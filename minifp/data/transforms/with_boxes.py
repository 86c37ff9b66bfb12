"""Transforms that change how large pictures are, and so where their boxes lie.

Source: Liu and others, "SSD: single shot multibox detector", arXiv 1512.02325, sections 2.2 and
3.6. Names and arguments are torchvision's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifp.checks import check_count, check_range
from minifp.data.detection.targets import (
    Target,
    is_target,
    middles_inside,
    scaled,
    shifted,
    windowed,
)
from minifp.data.pillow import need_pillow
from minifp.data.transforms.draws import Draws
from minifp.data.transforms.one_picture import (
    PictureTransform,
    as_size,
    channels,
    interval,
    is_number,
)
from minifp.errors import ArgumentError, ShapeError
from minifp.ops.creation import Data
from minifp.typing import Ints

OPTIONS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # of SSD's sampling; 1: the whole picture
ROUNDS = 50  # of options that are drawn, before the whole picture is taken


class OneByOne(PictureTransform):
    """What makes pictures of several sizes, and takes a list of them only."""

    moves = True

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Raise ShapeError: several pictures in one array have one size."""
        raise ShapeError(
            f"{type(self).__name__}: the resulting pictures have several sizes, which one array "
            "cannot hold: give the loader a collate_fn, such as fp.data.detection_collate; or, to "
            "give them one size, put Resize after this transform"
        )


class Resize(PictureTransform):
    """Scale each picture to `size`, a number or (height, width), and its boxes with it.

    Bilinearly, and over all pixels that a smaller one covers. Pictures become float32. Raises
    DataError where there is no Pillow.
    """

    moves = True

    def __init__(self, size: Ints) -> None:
        self.size = as_size("Resize", size)
        need_pillow("Resize")

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return pictures (n, C, *size)."""
        image, (height, width) = need_pillow("Resize"), self.size
        bilinear = getattr(image, "Resampling", image).BILINEAR  # where Pillow before 9.1 has it
        out = np.empty((*x.shape[:2], height, width), np.float32)
        for picture, small in zip(x.astype(np.float32, copy=False), out):
            for channel, values in enumerate(picture):
                plane = image.fromarray(np.ascontiguousarray(values))
                small[channel] = plane.resize((width, height), bilinear)
        return out

    def move(self, target: Target, size: tuple, index: np.ndarray, draws: Draws) -> Target:
        """Return the boxes, scaled."""
        return scaled(target, (self.size[0] / size[0], self.size[1] / size[1]))

    def __repr__(self):
        return f"Resize({self.size})"


class RandomZoomOut(OneByOne):
    """Put each picture with probability p somewhere on a larger one: what is in it is small then.

    The larger one's sides are so many times those of the picture: a number that is equally likely
    in side_range. fill: what stands around it, a number or one for each channel.
    """

    def __init__(
        self, fill: Data = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5
    ) -> None:
        check_range("RandomZoomOut: p", p, high=1.0)
        self.fill, self.p = channels("RandomZoomOut: fill", fill), float(p)
        self.side_range = interval("RandomZoomOut: side_range", side_range)
        if self.side_range[0] < 1:
            raise ArgumentError(f"RandomZoomOut: side_range={side_range!r}: expected 1 or more")

    def change_one(self, picture: np.ndarray, target: Any, index: np.ndarray, draws: Draws) -> Any:
        """Return a picture that is as large, or larger."""
        is_drawn, ratio, down, right = draws.many(int(index[0]), (4,), "zoom out").astype(float)
        if len(self.fill) not in (1, len(picture)):
            raise ShapeError(
                f"RandomZoomOut: {len(self.fill)} channels in fill, {len(picture)} in a picture of "
                f"shape {picture.shape}"
            )
        if is_drawn >= self.p:
            return picture, target
        low, high = self.side_range
        sides = [int(side * (low + (high - low) * ratio)) for side in picture.shape[1:]]
        top, left = (
            int(share * (side - inner + 1))
            for share, side, inner in zip((down, right), sides, picture.shape[1:])
        )
        larger = np.empty((len(picture), *sides), picture.dtype)
        larger[:] = self.fill.astype(picture.dtype)[:, None, None]
        larger[:, top : top + picture.shape[1], left : left + picture.shape[2]] = picture
        return larger, shifted(target, left, top) if is_target(target) else target

    def __repr__(self):
        return f"RandomZoomOut({self.fill.tolist()}, side_range={self.side_range}, p={self.p})"


class RandomIoUCrop(OneByOne):
    """Cut a window out of each picture that has some of its boxes: SSD's sampling.

    One of sampler_options is drawn, each as likely: 1 or more leaves the picture; less is how much
    (intersection over union) the window must at least have in common with one of the boxes whose
    middle is in it. Then up to `trials` windows are drawn: height and width are shares of the
    picture's from min_scale to max_scale, width by height is from min_aspect_ratio to
    max_aspect_ratio. Where none will do, an option is drawn anew, 50 times at most. Boxes whose
    middle is in the window stay, and lose what is not in it. Pictures without boxes stay whole.

    Raises ArgumentError for items without a target: what is to be in the window is not known.
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: Sequence[float] | None = None,
        trials: int = 40,
    ) -> None:
        self.scales = interval("RandomIoUCrop: scales", (min_scale, max_scale), most=1.0)
        self.ratios = interval("RandomIoUCrop: aspect ratios", (min_aspect_ratio, max_aspect_ratio))
        options = OPTIONS if sampler_options is None else sampler_options
        right = isinstance(options, (tuple, list)) and options and all(map(is_number, options))
        if not right or min(options) < 0 or not np.isfinite(max(options)):
            value = f"sampler_options={options!r}"
            raise ArgumentError(f"RandomIoUCrop: {value}: expected numbers of at least 0")
        self.options = tuple(float(option) for option in options)
        self.trials = check_count("RandomIoUCrop: trials", trials)

    def change_one(self, picture: np.ndarray, target: Any, index: np.ndarray, draws: Draws) -> Any:
        """Return a window of the picture, or the picture."""
        if not is_target(target):
            raise ArgumentError(
                f"RandomIoUCrop: expected items (picture, target) with boxes, got "
                f"{type(target).__name__} for item {index[0]}"
            )
        window = self._window(target["boxes"], picture.shape[1:], int(index[0]), draws)
        if window is None:
            return picture, target
        left, top, right, bottom = window
        cut = np.ascontiguousarray(picture[:, top:bottom, left:right])
        return cut, windowed(target, (left, top, right, bottom))

    def _window(self, boxes, size, index, draws):
        """(left, top, right, bottom), or None for the whole picture."""
        if not len(boxes):
            return None
        drawn = draws.many(index, (ROUNDS,), "iou crop: options")
        for turn, option in enumerate(np.floor(drawn * len(self.options)).astype(int).tolist()):
            if self.options[option] >= 1:
                return None
            shares = draws.many(index, (self.trials, 4), f"iou crop: windows {turn}")
            windows = self._windows(shares.astype(np.float64), size)
            right = self._holds(windows, boxes, self.options[option])
            if right.any():
                return windows[right.argmax()].tolist()
        return None

    def _windows(self, shares, size):
        """Windows (n, 4), int64, some of which may be empty."""
        whole = np.array(size)[::-1]
        low, high = self.scales
        inner = np.floor(whole * (low + (high - low) * shares[:, :2])).astype(np.int64)
        first = np.floor((whole - inner) * shares[:, 2:]).astype(np.int64)
        return np.concatenate([first, first + inner], 1)

    def _holds(self, windows, boxes, least):
        """Which windows will do."""
        width, height = (windows[:, 2:] - windows[:, :2]).T
        shaped = (height > 0) & (width > 0)
        ratio = width / np.maximum(height, 1)
        shaped &= (ratio >= self.ratios[0]) & (ratio <= self.ratios[1])
        inside = middles_inside(boxes, windows[:, None])
        low = np.maximum(windows[:, None, :2], boxes[:, :2])
        high = np.minimum(windows[:, None, 2:], boxes[:, 2:])
        common = np.maximum(high - low, 0).astype(np.float64).prod(-1)
        areas = (boxes[:, 2:] - boxes[:, :2]).astype(np.float64).prod(-1)
        overlap = common / np.maximum((width * height)[:, None] + areas - common, 1e-12)
        return shaped & (inside & (overlap >= least)).any(1)

    def __repr__(self):
        return (
            f"RandomIoUCrop({', '.join(f'{s:g}' for s in (*self.scales, *self.ratios))}, "
            f"sampler_options={self.options}, trials={self.trials})"
        )
