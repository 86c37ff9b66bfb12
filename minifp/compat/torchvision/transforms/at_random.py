"""Transforms that draw numbers: from one stream of the process's seed, in torchvision's order.

`get_params` of each draws what one picture gets, for programs that change two alike.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.compat.torchvision.transforms import functional as F
from minifp.compat.torchvision.transforms.functional import InterpolationMode
from minifp.errors import ArgumentError
from minifp.runtime import random

__all__ = ["ColorJitter", "RandomAffine", "RandomApply", "RandomCrop", "RandomErasing"]
__all__ += ["RandomGrayscale", "RandomHorizontalFlip", "RandomResizedCrop", "RandomRotation"]
__all__ += ["RandomVerticalFlip"]
PURPOSE = "torchvision.transforms"
ATTEMPTS = 10  # to draw a window that fits
Window = tuple[int, int, int, int]  # top, left, height, width


def uniform(low: float, high: float) -> float:
    """A number from low to high."""
    return float(random.uniform((), low, high, purpose=PURPOSE))


def happens(p: float) -> bool:
    """Whether what has the probability p does. Raises ArgumentError for none from 0 to 1."""
    check_range("p", p, 0, 1)
    return uniform(0, 1) < p


def integer(low: int, high: int) -> int:
    """An integer from low to high - 1."""
    return int(random.integers(low, high, (), purpose=PURPOSE))


def order(count: int) -> list[int]:
    """The numbers from 0 to count - 1, in any order."""
    return random.permutation(count, purpose=PURPOSE).tolist()


def placed(height: int, width: int, rows: int, columns: int) -> Window:
    """A window of this size anywhere in so many rows and columns."""
    top = integer(0, rows - height + 1)
    return top, integer(0, columns - width + 1), height, width


def sides(area: float, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int]:
    """Two sides: their product is a part of an area, from `scale`, their ratio from a range."""
    part = area * uniform(scale[0], scale[1])
    drawn = math.exp(uniform(math.log(ratio[0]), math.log(ratio[1])))
    return round(math.sqrt(part * drawn)), round(math.sqrt(part / drawn))


@dataclass(eq=False)
class RandomHorizontalFlip:
    """Mirrored left to right, with probability p."""

    p: float = 0.5
    change = staticmethod(F.hflip)

    def __call__(self, img: Any) -> Any:
        return self.change(img) if happens(self.p) else img


class RandomVerticalFlip(RandomHorizontalFlip):
    """Mirrored top to bottom, with probability p."""

    change = staticmethod(F.vflip)


@dataclass(eq=False)
class RandomGrayscale(RandomHorizontalFlip):
    """In grey with as many channels as before, with probability p."""

    p: float = 0.1
    change = staticmethod(lambda img: F.rgb_to_grayscale(img, F.get_dimensions(img)[0]))


@dataclass(eq=False)
class RandomApply:
    """All of some transforms, or, with probability 1 - p, none."""

    transforms: Sequence[Callable[[Any], Any]]
    p: float = 0.5

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms if happens(self.p) else ():
            img = transform(img)
        return img


@dataclass(eq=False)
class RandomCrop:
    """A window of this size from anywhere, of what is padded before (functional.pad), also, with
    pad_if_needed, by what is too small. Raises ArgumentError for what is still too small."""

    size: Any
    padding: Any = None
    pad_if_needed: bool = False
    fill: Any = 0
    padding_mode: str = "constant"

    @staticmethod
    def get_params(img: Any, output_size: Any) -> Window:
        """The window."""
        (_, rows, columns), (height, width) = F.get_dimensions(img), F.pair(output_size)
        if rows < height or columns < width:
            raise ArgumentError(
                f"RandomCrop: a window of {height} x {width} in {rows} x {columns} pixels: give "
                "a smaller one, padding, or pad_if_needed=True"
            )
        if (rows, columns) == (height, width):
            return 0, 0, height, width
        return placed(height, width, rows, columns)

    def __call__(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            (_, rows, columns), (height, width) = F.get_dimensions(img), F.pair(self.size)
            for around in ((max(width - columns, 0), 0), (0, max(height - rows, 0))):
                img = F.pad(img, around, self.fill, self.padding_mode) if any(around) else img
        return F.crop(img, *self.get_params(img, self.size))


@dataclass(eq=False)
class RandomResizedCrop:
    """A window of any size and place, resized. scale: of its area, as parts of the whole; ratio: of
    its width to its height. Where none fits, the largest in the middle."""

    size: Any
    scale: Sequence[float] = (0.08, 1.0)
    ratio: Sequence[float] = (3 / 4, 4 / 3)
    interpolation: Any = InterpolationMode.BILINEAR
    antialias: bool | None = True

    @staticmethod
    def get_params(img: Any, scale: Sequence[float], ratio: Sequence[float]) -> Window:
        """The window."""
        _, rows, columns = F.get_dimensions(img)
        for _ in range(ATTEMPTS):
            width, height = sides(rows * columns, scale, ratio)
            if 0 < width <= columns and 0 < height <= rows:
                return placed(height, width, rows, columns)
        shape = min(max(columns / rows, min(ratio)), max(ratio))
        height, width = min(rows, round(columns / shape)), min(columns, round(rows * shape))
        return (rows - height) // 2, (columns - width) // 2, height, width

    def __call__(self, img: Any) -> Any:
        window = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *window, self.size, self.interpolation, self.antialias)


@dataclass(eq=False)
class RandomRotation:
    """A picture turned around its middle, or center, by -degrees to degrees, or a range of them."""

    degrees: Any
    interpolation: Any = InterpolationMode.NEAREST
    expand: bool = False
    center: Any = None
    fill: Any = 0

    @staticmethod
    def get_params(degrees: Any) -> float:
        """The angle, counterclockwise."""
        low, high = F.span("degrees", degrees)
        return uniform(low, high)

    def __call__(self, img: Any) -> Any:
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)


@dataclass(eq=False)
class RandomAffine:
    """A picture turned (by -degrees to degrees, or a range), moved by up to translate (parts of its
    width and height), scaled by a range, and sheared by degrees along x: -shear to shear, or a
    range, or two ranges, along x and y."""

    degrees: Any
    translate: Any = None
    scale: Any = None
    shear: Any = None
    interpolation: Any = InterpolationMode.NEAREST
    fill: Any = 0
    center: Any = None

    @staticmethod
    def get_params(
        degrees: Any, translate: Any, scale_ranges: Any, shears: Any, img_size: Sequence[int]
    ) -> tuple[float, tuple[int, int], float, tuple[float, ...]]:
        """(angle, translation, scale, shears) of a picture (width, height)."""
        angle = uniform(*F.span("degrees", degrees))
        most = [part * size for part, size in zip(translate or (), img_size)]
        right, down = [round(uniform(-far, far)) for far in most] or (0, 0)
        factor = 1.0 if scale_ranges is None else uniform(*F.span("scale", scale_ranges))
        is_both = isinstance(shears, Sequence) and len(shears) == 4
        ranges = [] if shears is None else [shears[:2], shears[2:]] if is_both else [shears]
        sheared = *[uniform(*F.span("shear", each)) for each in ranges], 0.0, 0.0
        return angle, (right, down), factor, sheared[:2]

    def __call__(self, img: Any) -> Any:
        _, height, width = F.get_dimensions(img)
        ranges = self.degrees, self.translate, self.scale, self.shear
        change = self.get_params(*ranges, (width, height))
        return F.affine(img, *change, self.interpolation, self.fill, self.center)


@dataclass(eq=False)
class ColorJitter:
    """A picture with brightness, contrast and saturation (times 1 - value to 1 + value, or a range)
    and hue (moved by -value to value, or a range, of the circle) changed, in any order."""

    brightness: Any = 0
    contrast: Any = 0
    saturation: Any = 0
    hue: Any = 0

    @staticmethod
    def get_params(brightness: Any, contrast: Any, saturation: Any, hue: Any) -> tuple:
        """The order of the four changes, and how much of each; None for not."""
        values = {"brightness": brightness, "contrast": contrast, "saturation": saturation}
        ranges = [[max(n, 0.0) for n in F.span(name, v, 1.0)] for name, v in values.items()]
        ranges.append([*F.span("hue", hue, most=0.5)])
        drawn, middles = order(4), (1, 1, 1, 0)
        much = (None if {*r} == {m} else uniform(*r) for r, m in zip(ranges, middles))
        return drawn, *much

    def __call__(self, img: Any) -> Any:
        changes = F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue
        drawn, *much = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        for i in drawn:
            img = img if much[i] is None else changes[i](img, much[i])
        return img


@dataclass(eq=False)
class RandomErasing:
    """A tensor (C, H, W) with a window erased, with probability p. scale: of its area, as parts of
    the whole; ratio: of its height to its width; value: a number, one for each channel, or
    "random". Where no window fits, nothing is."""

    p: float = 0.5
    scale: Sequence[float] = (0.02, 0.33)
    ratio: Sequence[float] = (0.3, 3.3)
    value: Any = 0
    inplace: bool = False

    @staticmethod
    def get_params(
        img: Tensor, scale: Sequence[float], ratio: Sequence[float], value: Any = None
    ) -> tuple[int, int, int, int, Any]:
        """(top, left, height, width, numbers) of the window. value: None for random ones."""
        channels, rows, columns = F.get_dimensions(img)
        for _ in range(ATTEMPTS):
            height, width = sides(rows * columns, scale, ratio)
            if height < rows and width < columns:
                if value is None:
                    numbers = random.normal((channels, height, width), purpose=PURPOSE)
                else:
                    numbers = np.asarray(value, np.float32).reshape(-1, 1, 1)
                return *placed(height, width, rows, columns), Tensor(numbers)
        return 0, 0, rows, columns, img

    def __call__(self, img: Tensor) -> Tensor:
        if not happens(self.p):
            return img
        value = None if self.value == "random" else self.value
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), self.inplace)
