"""Pictures of any sizes as one batch, and boxes from the pictures to the batch and back."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.nn import functional as F
from minifp.nn.detection.coordinates import beside, coordinate_format
from minifp.nn.detection.targets import Objects
from minifp.numerics.formats import is_float
from minifp.ops import cat, stack

Size = tuple[int, int]  # height, width


def size_of(images: Tensor) -> Size:
    """(height, width) of pictures or maps (..., H, W)."""
    return images.shape[-2], images.shape[-1]


class ImageBatch(NamedTuple):
    """images: (N, C, H, W). sizes: of each picture in it, without the zeros beside it. original:
    their sizes before."""

    images: Tensor
    sizes: list[Size]
    original: list[Size]


class DetectionTransform:
    """Normalises pictures channel by channel, (x - mean) / std, and makes them as large as wanted.

    mean, std: of each channel. size: (height, width) of all; or else each picture keeps its shape,
    becomes min_size pixels wide or high, whichever is less, and at most max_size (None: it stays as
    large as it is), and stands at the upper left of a batch whose sides are multiples of
    `multiple`, with zeros beside it. As torchvision's GeneralizedRCNNTransform. Raises
    ArgumentError for sizes that are no positive integers, and unless there are as many numbers in
    mean as in std, none of them 0 there.
    """

    def __init__(
        self,
        mean: Sequence[float],
        std: Sequence[float],
        size: Size | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        multiple: int = 1,
    ) -> None:
        if len(mean) != len(std) or 0 in std:
            raise ArgumentError(
                f"image_mean={tuple(mean)} and image_std={tuple(std)}: expected one number per "
                "channel in both, and no 0 in image_std"
            )
        for name, n in (("min_size", min_size), ("max_size", max_size), ("multiple", multiple)):
            if n is not None:
                check_count(name, n)
        self.mean, self.std = tuple(mean), tuple(std)
        self.size, self.min_size, self.max_size, self.multiple = size, min_size, max_size, multiple

    def __call__(self, images: Any) -> ImageBatch:
        """images: a list of pictures (C, H, W) of floating numbers, or a batch (N, C, H, W).

        Raises DTypeError for anything but floating tensors, ShapeError for other shapes and other
        numbers of channels than there are means.
        """
        parts = [images] if isinstance(images, Tensor) else self._as_parts(images)
        for part in parts:
            self._check(part)
        resized = [self._resized(part) for part in parts]
        counts = [len(part) for part in parts]
        original, sizes = (
            [size_of(part) for part, n in zip(some, counts) for _ in range(n)]
            for some in (parts, resized)
        )
        return ImageBatch(self._padded(resized, sizes), sizes, original)

    def _as_parts(self, images):
        """A list of pictures as batches of one size."""
        if not isinstance(images, (list, tuple)) or not images:
            what = "an empty list" if isinstance(images, (list, tuple)) else type(images).__name__
            raise DTypeError(
                f"images: {what}: expected a list of pictures (C, H, W), or a batch (N, C, H, W)"
            )
        shapes = {getattr(image, "shape", None) for image in images}
        if len(shapes) == 1 and isinstance(images[0], Tensor):
            return [stack(list(images))]
        return [image[None] if isinstance(image, Tensor) else image for image in images]

    def _check(self, part):
        if not isinstance(part, Tensor) or not is_float(part.dtype):
            kind = part.dtype if isinstance(part, Tensor) else f"a {type(part).__name__}"
            raise DTypeError(
                f"images: pictures are {kind}: expected tensors of floating numbers from 0 to 1; "
                "convert bytes with x.float() / 255"
            )
        if part.ndim != 4 or part.shape[1] != len(self.mean):
            shape = part.shape[1:] if part.ndim == 4 else part.shape
            raise ShapeError(
                f"images: pictures of shape {shape}: expected a list of (C, H, W), or a batch "
                f"(N, C, H, W), with C = {len(self.mean)} channels, as many as image_mean has"
            )

    def _resized(self, images):
        """(N, C, H, W), normalised, in the wanted size."""
        mean, std = (
            beside(np.array(v, coordinate_format()).reshape(-1, 1, 1), images)
            for v in (self.mean, self.std)
        )
        images = (images - mean) / std
        wanted = self.size or self._size_of(*size_of(images))
        if wanted == size_of(images):
            return images
        return F.interpolate(images, wanted, mode="bilinear", align_corners=False)

    def _size_of(self, height, width):
        scale = 1.0 if self.min_size is None else self.min_size / min(height, width)
        if self.max_size is not None:
            scale = min(scale, self.max_size / max(height, width))
        return int(height * scale), int(width * scale)

    def _padded(self, parts, sizes):
        """Batches as one, with zeros to the right of pictures and below."""
        multiple = 1 if self.size else self.multiple
        height, width = (-(-max(n) // multiple) * multiple for n in zip(*sizes))
        padding = [(0, width - p.shape[3], 0, height - p.shape[2]) for p in parts]
        padded = [F.pad(p, around) if any(around) else p for p, around in zip(parts, padding)]
        return padded[0] if len(padded) == 1 else cat(padded)


def rescaled(boxes: np.ndarray, before: Size, after: Size) -> np.ndarray:
    """Boxes (K, 4) of a picture of one size (height, width) in the picture of another."""
    if before == after:
        return boxes
    (height, width), (new_height, new_width) = before, after
    ratios = np.array([new_width, new_height], boxes.dtype) / np.array([width, height], boxes.dtype)
    return boxes * np.tile(ratios, 2)


def rescaled_objects(objects: Sequence[Objects], batch: ImageBatch) -> list[Objects]:
    """The objects of pictures as they stand in a batch."""
    sizes = zip(batch.original, batch.sizes)
    return [o._replace(boxes=rescaled(o.boxes, *pair)) for o, pair in zip(objects, sizes)]
