"""Changing colours at random."""

from collections.abc import Sequence

import numpy as np

from minifp.checks import check_range
from minifp.data.transforms.draws import Draws
from minifp.data.transforms.one_picture import PictureTransform, interval
from minifp.errors import ArgumentError, DTypeError, ShapeError

GREY = (0.2989, 0.587, 0.114)  # of red, green, blue, as ITU-R BT.601 weighs them
# The orders of three channels; the first is as they are.
ORDERS = np.array([(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])


class RandomPhotometricDistort(PictureTransform):
    """Change brightness, contrast, saturation and hue of each picture, each with probability p.

    Pictures are (n, 3, H, W), red, green and blue, floats from 0 to 1, as they are before
    Normalize. brightness, contrast, saturation: intervals of factors, equally likely; contrast is
    about the mean grey of the picture, saturation about its own grey. hue: an interval of parts of
    a turn of the colour wheel, in [-0.5, 0.5]. Contrast comes before or after saturation and hue,
    as likely; then, with probability p, the channels are put into another order. What leaves 0 to 1
    is cut off. Boxes stay. Raises ShapeError for other channels, DTypeError for integers, and
    ArgumentError for other numbers. Source: Howard, arXiv 1312.5402, as in Liu and others, "SSD",
    arXiv 1512.02325; names and arguments are torchvision's.
    """

    def __init__(
        self,
        brightness: Sequence[float] = (0.875, 1.125),
        contrast: Sequence[float] = (0.5, 1.5),
        saturation: Sequence[float] = (0.5, 1.5),
        hue: Sequence[float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        name = "RandomPhotometricDistort"
        self.brightness = interval(f"{name}: brightness", brightness)
        self.contrast = interval(f"{name}: contrast", contrast)
        self.saturation = interval(f"{name}: saturation", saturation)
        self.hue = interval(f"{name}: hue", hue, least=-0.5 - 1e-9, most=0.5)
        check_range(f"{name}: p", p, high=1.0)
        self.p = float(p)

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return pictures of the same shape, float32 (float64 where they are that)."""
        check_colors(x)
        chosen = {  # for each picture a number, NaN where nothing is done
            name: self._drawn(name, indices, draws)
            for name in ("brightness", "contrast", "saturation", "hue")
        }
        before = draws.uniform(indices, "photometric: contrast first") < 0.5
        contrast, last = chosen["contrast"], np.where(before, np.nan, chosen["contrast"])
        x = applied(brightened, x, chosen["brightness"])
        x = applied(contrasted, x, np.where(before, contrast, np.nan))
        x = applied(saturated, x, chosen["saturation"])
        x = applied(turned, x, chosen["hue"])
        x = applied(contrasted, x, last)
        orders = draws.integers(len(ORDERS), indices, "photometric: order")
        orders[draws.uniform(indices, "photometric: reorder") >= self.p] = 0
        return np.take_along_axis(x, ORDERS[orders][:, :, None, None], axis=1)

    def _drawn(self, name, indices, draws):
        """A number of an interval for each picture, or NaN."""
        low, high = getattr(self, name)
        numbers = low + (high - low) * draws.uniform(indices, f"photometric: {name}").astype(float)
        is_changed = draws.uniform(indices, f"photometric: whether {name}") < self.p
        return np.where(is_changed, numbers, np.nan)

    def __repr__(self):
        return (
            f"RandomPhotometricDistort({self.brightness}, {self.contrast}, {self.saturation}, "
            f"{self.hue}, p={self.p})"
        )


def check_colors(x: np.ndarray) -> None:
    """Raise an error for what are no colours from 0 to 1."""
    asked = "RandomPhotometricDistort"
    if x.shape[1] != 3:
        raise ShapeError(f"{asked}: expected red, green and blue, got {x.shape[1]} channels")
    if x.dtype.kind != "f":
        raise DTypeError(f"{asked}: expected floats from 0 to 1, got {x.dtype}")
    low, high = (float(end) for end in (x.min(), x.max()))
    if not (0 <= low and high <= 1):
        raise ArgumentError(
            f"{asked}: expected numbers from 0 to 1, got {low:g} to {high:g}: put this transform "
            "before Normalize"
        )


def applied(change, x, numbers):
    """Pictures of which some are changed, those with a number that is not NaN."""
    which = np.flatnonzero(~np.isnan(numbers))
    if not len(which):
        return x
    x = x.copy()
    by = numbers[which].astype(x.dtype)[:, None, None, None]
    x[which] = change(x[which], by)
    return x


def brightened(x, factor):
    """Brighter, or darker."""
    return (x * factor).clip(0, 1)


def contrasted(x, factor):
    """Further from the mean grey of each picture, or nearer."""
    mean = grey(x).mean((1, 2, 3), keepdims=True)
    return (mean + (x - mean) * factor).clip(0, 1)


def saturated(x, factor):
    """Further from grey, or nearer."""
    base = grey(x)
    return (base + (x - base) * factor).clip(0, 1)


def grey(x):
    """Pictures (n, 1, H, W) without colours."""
    return sum(weight * x[:, i : i + 1] for i, weight in enumerate(GREY))


def turned(x, turn):
    """Colours further along the wheel, by parts of a turn.

    With the value v = max(r, g, b), the chroma c = v - min(r, g, b) and the hue h, in sixths of a
    turn, a channel is v - c max(0, min(k, 4 - k, 1)), k = (n + h) mod 6, n = 5, 3, 1 (Smith, "Color
    gamut transform pairs", SIGGRAPH 1978).
    """
    r, g, b = x[:, 0], x[:, 1], x[:, 2]
    value = x.max(1)
    chroma = value - x.min(1)
    by = np.where(chroma > 0, chroma, 1)
    h = np.where(value == r, (g - b) / by, np.where(value == g, 2 + (b - r) / by, 4 + (r - g) / by))
    h = h + 6 * turn[:, 0]
    k = (np.array([5, 3, 1], x.dtype)[:, None, None] + h[:, None]) % 6
    ramp = np.minimum(np.minimum(k, 4 - k), 1).clip(0, None)
    return (value[:, None] - chroma[:, None] * ramp).clip(0, 1)
