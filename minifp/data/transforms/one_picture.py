"""Transforms of each picture by itself: cutting, mirroring, standardising, erasing."""

import operator
from collections.abc import Sequence

import numpy as np

from minifp.checks import check_range
from minifp.data.dataset import Fields
from minifp.data.transforms.draws import Draws
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.creation import Data
from minifp.typing import Ints

ATTEMPTS = 10  # to find a rectangle that fits, as in the paper's program


class PictureTransform:
    """What changes the first field: a subclass has `change(x, indices, draws)`."""

    def __call__(self, fields: Fields, indices: np.ndarray, draws: Draws) -> Fields:
        x, *others = fields
        check_pictures(type(self).__name__, x)
        return (self.change(x, indices, draws), *others)

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return these pictures changed, as another array."""
        raise NotImplementedError(f"{type(self).__name__} needs a change(x, indices, draws)")


class RandomCrop(PictureTransform):
    """Cut a window of `size`, a number or (height, width), from anywhere in each picture.

    Before, `padding` rows and columns of zeros are put around it: the mean grey where pictures are
    normalized, black where they are not. Raises ShapeError for pictures that are too small.
    """

    def __init__(self, size: Ints, padding: int = 0) -> None:
        self.size = as_size("RandomCrop", size)
        if isinstance(padding, bool) or not hasattr(padding, "__index__") or padding < 0:
            raise ArgumentError(
                f"RandomCrop: padding must be an integer of at least 0, got {padding!r}"
            )
        self.padding = operator.index(padding)

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return windows (n, C, *size)."""
        p = self.padding
        n, _, *sizes = x.shape
        room = [size + 2 * p - wanted + 1 for size, wanted in zip(sizes, self.size)]
        if min(room) < 1:
            raise ShapeError(
                f"RandomCrop: a window of {self.size} does not fit into pictures of "
                f"{tuple(sizes)} with padding={p}"
            )
        top = draws.integers(room[0], indices, "crop: top")
        left = draws.integers(room[1], indices, "crop: left")
        padded = np.pad(x, [(0, 0), (0, 0), (p, p), (p, p)])
        shape = 1, 1, *self.size
        windows = np.lib.stride_tricks.sliding_window_view(padded, shape)[..., 0, 0, :, :]
        return windows[np.arange(n), :, top, left]

    def __repr__(self):
        return f"RandomCrop({self.size}, padding={self.padding})"


class RandomHorizontalFlip(PictureTransform):
    """Mirror each picture, left to right, with probability p."""

    def __init__(self, p: float = 0.5) -> None:
        if not _is_number(p) or not 0 <= p <= 1:
            raise ArgumentError(f"RandomHorizontalFlip: p must be a probability, 0 to 1, got {p!r}")
        self.p = float(p)

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return pictures of the same shape."""
        flipped = draws.uniform(indices, "flip") < self.p
        return np.where(flipped[:, None, None, None], x[..., ::-1], x)

    def __repr__(self):
        return f"RandomHorizontalFlip(p={self.p})"


class Normalize(PictureTransform):
    """Make pixels (p - mean) / std, float32, in whatever units they have: a number for each channel
    or one for all.

    Raises ArgumentError where they are not finite or a std is not above 0, and ShapeError for
    pictures with another number of channels.
    """

    def __init__(self, mean: Data, std: Data) -> None:
        self.mean, self.std = channels("Normalize: mean", mean), channels("Normalize: std", std)
        if not (self.std > 0).all():
            raise ArgumentError(f"Normalize: std must be above 0, got {std!r}")

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return pictures of the same shape, float32 (float64 where they are that)."""
        counts = {len(self.mean), len(self.std)} - {1}
        if not counts <= {x.shape[1]}:
            raise ShapeError(
                f"Normalize: {max(counts)} channels in mean or std, {x.shape[1]} in pictures of "
                f"shape {x.shape}"
            )
        dtype = np.float64 if x.dtype == np.float64 else np.float32
        mean, std = (a.astype(dtype)[:, None, None] for a in (self.mean, self.std))
        return (x.astype(dtype) - mean) / std

    def __repr__(self):
        return f"Normalize({self.mean.tolist()}, {self.std.tolist()})"


class RandomErasing(PictureTransform):
    """Erase a rectangle in each picture with probability p.

    Its area is a share of the picture's, equally likely in `scale`; its height through its width is
    in `ratio`, equally likely on a scale of logarithms; where it does not fit, others are drawn,
    and after ten the picture stays. value: what stands there then, a number, one for each channel,
    or "random": numbers of the standard normal distribution, for normalized pictures. Raises
    ShapeError for another number of channels. Source: Zhong and others, arXiv 1708.04896.
    """

    def __init__(
        self, p: float = 0.5, scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3), value: Data | str = 0,
    ) -> None:  # fmt: skip
        check_range("RandomErasing: p", p, high=1.0)
        self.p = float(p)
        self.scale = _interval("scale", scale, 1.0)
        self.ratio = _interval("ratio", ratio, np.inf)
        is_random = isinstance(value, str) and value == "random"
        self.value = None if is_random else channels("RandomErasing: value", value)

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return pictures of the same shape."""
        n, c, *sizes = x.shape
        waiting = draws.uniform(indices, "erase") < self.p
        inside = np.zeros((n, 1, *sizes), bool)
        for attempt in range(ATTEMPTS):
            if not waiting.any():
                break
            share, log_ratio, *places = (
                draws.uniform(indices, f"erase: {what} {attempt}").astype(np.float64)
                for what in ("area", "ratio", "top", "left")
            )
            low, high = self.scale
            area = (low + (high - low) * share) * sizes[0] * sizes[1]
            low, high = np.log(self.ratio)
            ratio = np.exp(low + (high - low) * log_ratio)
            height, width = np.rint(np.sqrt([area * ratio, area / ratio])).astype(np.int64)
            fits = waiting & (height < sizes[0]) & (width < sizes[1])
            rectangle = np.ones((n, 1, 1), bool)
            for axis, size, length, place in zip((1, 2), sizes, (height, width), places):
                first, at = np.floor(place * (size - length + 1))[:, None], np.arange(size)
                line = (at >= first) & (at < first + length[:, None])
                rectangle = rectangle & np.expand_dims(line, 3 - axis)
            inside[fits, 0] = rectangle[fits]
            waiting &= ~fits
        return np.where(inside, self._values(x, inside, indices, draws), x)

    def _values(self, x, inside, indices, draws):
        """What stands where pictures are erased."""
        if self.value is not None:
            if len(self.value) not in (1, x.shape[1]):
                raise ShapeError(
                    f"RandomErasing: {len(self.value)} channels in value, {x.shape[1]} in pictures "
                    f"of shape {x.shape}"
                )
            return self.value.astype(x.dtype)[:, None, None]
        if x.dtype.kind != "f":
            raise DTypeError(
                f'RandomErasing: value="random" in pictures of {x.dtype}: put Normalize before it'
            )
        values = np.zeros_like(x)
        for i in np.flatnonzero(inside.any((1, 2, 3))).tolist():
            rows, columns = (np.flatnonzero(inside[i, 0].any(axis)) for axis in (1, 0))
            shape = x.shape[1], len(rows), len(columns)
            noise = draws.normal(int(indices[i]), shape, "erase: value")
            values[i, :, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = noise
        return values

    def __repr__(self):
        value = "random" if self.value is None else self.value.tolist()
        return f"RandomErasing(p={self.p}, scale={self.scale}, ratio={self.ratio}, value={value!r})"


def check_pictures(asked: str, x: np.ndarray) -> None:
    """Raise ShapeError, which `asked` begins, for what are no pictures."""
    if x.ndim != 4:
        raise ShapeError(
            f"{asked}: expected pictures (n, C, H, W) as the first field, got shape {x.shape}"
        )


def as_size(asked: str, size: Ints) -> tuple:
    """Return (height, width) of a size, one number or two. Raises ArgumentError for others."""
    pair = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    right = [hasattr(n, "__index__") and not isinstance(n, bool) and n >= 1 for n in pair]
    if len(pair) != 2 or not all(right):
        raise ArgumentError(
            f"{asked}: size must be an integer of at least 1, or two of them (height, width), "
            f"got {size!r}"
        )
    return tuple(operator.index(n) for n in pair)


def _is_number(value):
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _interval(name, pair, most):
    values = [*pair] if isinstance(pair, (tuple, list)) else []
    if len(values) != 2 or not all(map(_is_number, values)):
        raise ArgumentError(f"RandomErasing: {name} must be two numbers, got {pair!r}")
    if not 0 < values[0] <= values[1] <= most or not np.isfinite(values[1]):
        raise ArgumentError(
            f"RandomErasing: {name} must rise, from above 0 to at most {most}, got {pair!r}"
        )
    return float(values[0]), float(values[1])


def channels(asked, values):
    """A number for each channel, or one for all, as (C,) float64."""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    row = list(values) if isinstance(values, (tuple, list)) else [values]
    if not row or not all(_is_number(v) and np.isfinite(v) for v in row):
        raise ArgumentError(
            f"{asked} must be finite, a number or one for each channel, got {values!r}"
        )
    return np.array(row, np.float64)
