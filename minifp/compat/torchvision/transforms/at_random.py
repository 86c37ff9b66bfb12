"""Transforms that draw numbers: from one stream of the process's seed, in torchvision's order.

`get_params` of each draws what one picture gets, for programs that change two alike.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.compat.torchvision.transforms import functional as F
from minifp.compat.torchvision.transforms.functional import InterpolationMode
from minifp.errors import ArgumentError
from minifp.runtime import random

PURPOSE = "torchvision.transforms"
ATTEMPTS = 10  # to draw a window that fits


def uniform(low: float, high: float) -> float:
    """A number from low to high."""
    return float(random.uniform((), low, high, purpose=PURPOSE))


def integer(low: int, high: int) -> int:
    """An integer from low to high - 1."""
    return int(random.integers(low, high, (), purpose=PURPOSE))


def order(count: int) -> list[int]:
    """The numbers from 0 to count - 1, in any order."""
    return random.permutation(count, purpose=PURPOSE).tolist()


def happens(p: float) -> bool:
    """Whether something of probability p happens."""
    return uniform(0, 1) < p


def check_probability(p: float) -> None:
    """Raise ArgumentError for what is none."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"p={p!r}: expected a probability, 0 to 1")


def angles(degrees: Any, counts: Sequence[int] = (2,)) -> list[float]:
    """A range, -d to d where it is one number d. Raises ArgumentError for other counts."""
    each = [-degrees, degrees] if isinstance(degrees, (int, float)) else [*degrees]
    if len(each) not in counts or each[0] > each[1]:
        raise ArgumentError(f"{degrees!r} degrees: expected a number of at least 0, or a range")
    return [float(angle) for angle in each]


@dataclass(eq=False)
class RandomHorizontalFlip:
    """Mirrored left to right, with probability p."""

    p: float = 0.5

    def __post_init__(self) -> None:
        check_probability(self.p)

    def __call__(self, img: Any) -> Any:
        return F.hflip(img) if happens(self.p) else img


@dataclass(eq=False)
class RandomVerticalFlip(RandomHorizontalFlip):
    """Mirrored top to bottom, with probability p."""

    def __call__(self, img: Any) -> Any:
        return F.vflip(img) if happens(self.p) else img


@dataclass(eq=False)
class RandomGrayscale(RandomHorizontalFlip):
    """In grey with as many channels as before, with probability p."""

    p: float = 0.1

    def __call__(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, F.get_dimensions(img)[0]) if happens(self.p) else img


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

    def __post_init__(self) -> None:
        self.size = F.pair(self.size)

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """(top, left, height, width) of the window."""
        _, rows, columns = F.get_dimensions(img)
        height, width = output_size
        if rows < height or columns < width:
            raise ArgumentError(
                f"RandomCrop: a window of {height} x {width} does not fit into {rows} x {columns}"
            )
        if (rows, columns) == (height, width):
            return 0, 0, height, width
        top = integer(0, rows - height + 1)
        return top, integer(0, columns - width + 1), height, width

    def __call__(self, img: Any) -> Any:
        how = self.fill, self.padding_mode
        if self.padding is not None:
            img = F.pad(img, self.padding, *how)
        _, rows, columns = F.get_dimensions(img)
        if self.pad_if_needed and columns < self.size[1]:
            img = F.pad(img, (self.size[1] - columns, 0), *how)
        if self.pad_if_needed and rows < self.size[0]:
            img = F.pad(img, (0, self.size[0] - rows), *how)
        return F.crop(img, *self.get_params(img, self.size))


def window(area: float, ratios: Sequence[float], scale: Sequence[float]) -> tuple[int, int]:
    """The (long, short) sides of a window: `scale` of an area, and their ratio, drawn."""
    part = area * uniform(scale[0], scale[1])
    ratio = math.exp(uniform(math.log(ratios[0]), math.log(ratios[1])))
    return round(math.sqrt(part * ratio)), round(math.sqrt(part / ratio))


@dataclass(eq=False)
class RandomResizedCrop:
    """A window of any size and place, resized. scale: of its area, as parts of the whole; ratio: of
    its width to its height. Where none fits, the largest in the middle."""

    size: Any
    scale: Sequence[float] = (0.08, 1.0)
    ratio: Sequence[float] = (3 / 4, 4 / 3)
    interpolation: Any = InterpolationMode.BILINEAR
    antialias: bool | None = True

    def __post_init__(self) -> None:
        self.size = F.pair(self.size)
        F.resampling(self.interpolation)

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """(top, left, height, width) of the window."""
        _, rows, columns = F.get_dimensions(img)
        for _ in range(ATTEMPTS):
            width, height = window(rows * columns, ratio, scale)
            if 0 < width <= columns and 0 < height <= rows:
                top = integer(0, rows - height + 1)
                return top, integer(0, columns - width + 1), height, width
        shape = min(max(columns / rows, min(ratio)), max(ratio))
        height, width = min(rows, round(columns / shape)), min(columns, round(rows * shape))
        return (rows - height) // 2, (columns - width) // 2, height, width

    def __call__(self, img: Any) -> Any:
        place = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *place, self.size, self.interpolation, self.antialias)


@dataclass(eq=False)
class RandomRotation:
    """A picture turned around its middle, or center, by -degrees to degrees, or a range of them."""

    degrees: Any
    interpolation: Any = InterpolationMode.NEAREST
    expand: bool = False
    center: Any = None
    fill: Any = 0

    def __post_init__(self) -> None:
        self.degrees = angles(self.degrees)
        F.resampling(self.interpolation)

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """The angle, counterclockwise."""
        return uniform(degrees[0], degrees[1])

    def __call__(self, img: Any) -> Any:
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)


@dataclass(eq=False)
class RandomAffine:
    """A picture turned, moved by at most translate, (x, y) as parts of its size, scaled by a range,
    and sheared by degrees: -shear to shear, a range, or one along x and one along y."""

    degrees: Any
    translate: Sequence[float] | None = None
    scale: Sequence[float] | None = None
    shear: Any = None
    interpolation: Any = InterpolationMode.NEAREST
    fill: Any = 0
    center: Any = None

    def __post_init__(self) -> None:
        self.degrees = angles(self.degrees)
        if self.translate is not None and not all(0 <= part <= 1 for part in self.translate):
            raise ArgumentError(f"translate={self.translate!r}: expected two parts, 0 to 1")
        if self.scale is not None and min(self.scale) <= 0:
            raise ArgumentError(f"scale={self.scale!r}: expected a range above 0")
        self.shear = None if self.shear is None else angles(self.shear, (2, 4))
        F.resampling(self.interpolation)

    @staticmethod
    def get_params(
        degrees: Any, translate: Any, scale_ranges: Any, shears: Any, img_size: Sequence[int]
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """(angle, (x, y) in pixels, scale, (shear along x, along y)). img_size: (width, height)."""
        angle, moved = uniform(degrees[0], degrees[1]), (0, 0)
        if translate is not None:
            most = [part * size for part, size in zip(translate, img_size)]
            moved = round(uniform(-most[0], most[0])), round(uniform(-most[1], most[1]))
        scale = 1.0 if scale_ranges is None else uniform(scale_ranges[0], scale_ranges[1])
        pairs = [] if shears is None else [shears[:2], shears[2:]]
        sheared = [uniform(*pair) if len(pair) else 0.0 for pair in pairs] or [0.0, 0.0]
        return angle, moved, scale, (sheared[0], sheared[1])

    def __call__(self, img: Any) -> Any:
        size = F.get_image_size(img)
        drawn = self.get_params(self.degrees, self.translate, self.scale, self.shear, size)
        return F.affine(img, *drawn, self.interpolation, self.fill, self.center)


@dataclass(eq=False)
class ColorJitter:
    """A picture with brightness, contrast and saturation (times 1 - value to 1 + value, or a range)
    and hue (moved by -value to value, or a range, of the circle) changed, in any order."""

    brightness: Any = 0
    contrast: Any = 0
    saturation: Any = 0
    hue: Any = 0

    def __post_init__(self) -> None:
        self.brightness = factors("brightness", self.brightness)
        self.contrast = factors("contrast", self.contrast)
        self.saturation = factors("saturation", self.saturation)
        self.hue = factors("hue", self.hue, 0.0, (-0.5, 0.5))

    @staticmethod
    def get_params(brightness: Any, contrast: Any, saturation: Any, hue: Any) -> tuple:
        """The order of the four changes, and how much of each; None for not."""
        every = order(4)
        ranges = brightness, contrast, saturation, hue
        return every, *(None if r is None else uniform(r[0], r[1]) for r in ranges)

    def __call__(self, img: Any) -> Any:
        changes = F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue
        every, *much = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        for i in every:
            img = img if much[i] is None else changes[i](img, much[i])
        return img


def factors(
    name: str, value: Any, middle: float = 1.0, bounds: tuple[float, float] = (0, math.inf)
) -> tuple[float, float] | None:
    """A range around the middle, or as it is given; None where nothing changes. Raises
    ArgumentError for one out of bounds."""
    if isinstance(value, (int, float)):
        low, high = middle - value, middle + value
        value = max(low, 0.0) if middle else low, high
    low, high = map(float, value)
    if not bounds[0] <= low <= high <= bounds[1]:
        raise ArgumentError(f"ColorJitter: {name} from {low} to {high}: expected within {bounds}")
    return None if low == high == middle else (low, high)


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

    def __post_init__(self) -> None:
        check_probability(self.p)
        if isinstance(self.value, str) and self.value != "random":
            raise ArgumentError(f'value={self.value!r}: expected numbers, or "random"')

    @staticmethod
    def get_params(
        img: Tensor, scale: Sequence[float], ratio: Sequence[float], value: Any = None
    ) -> tuple[int, int, int, int, Any]:
        """(top, left, height, width, numbers) of the window. value: None for random ones."""
        channels, rows, columns = F.get_dimensions(img)
        for _ in range(ATTEMPTS):
            height, width = window(rows * columns, ratio, scale)
            if height < rows and width < columns:
                shape = channels, height, width
                if value is None:
                    numbers = Tensor(random.normal(shape, purpose=PURPOSE))
                else:
                    numbers = Tensor(np.asarray(value, np.float32).reshape(-1, 1, 1))
                top = integer(0, rows - height + 1)
                return top, integer(0, columns - width + 1), height, width, numbers
        return 0, 0, rows, columns, img

    def __call__(self, img: Tensor) -> Tensor:
        F.need("RandomErasing", img, "tensor")
        if not happens(self.p):
            return img
        value = None if self.value == "random" else self.value
        place = self.get_params(img, self.scale, self.ratio, value)
        return F.erase(img, *place, self.inplace)
