"""Transforms of each picture by itself: cutting, mirroring, standardising."""

import operator
from typing import Any

import numpy as np

from minifp.checks import check_count
from minifp.data.detection.targets import FIXED, Target, check_target, is_target, mirrored, windowed
from minifp.data.transforms.draws import Draws
from minifp.errors import ArgumentError, ShapeError
from minifp.ops.creation import Data
from minifp.typing import Ints


class PictureTransform:
    """What changes the first field: a subclass has `change(x, indices, draws)`.

    The field is one array, or, where there is a collate_fn, a list of pictures; then the second may
    be a list of targets with boxes. One that moves what is in a picture has `move` as well, and
    says so by `moves`.
    """

    moves = False

    def __call__(self, fields: Any, indices: np.ndarray, draws: Draws) -> Any:
        x, *others = fields
        name = type(self).__name__
        if isinstance(x, list):
            targets = others[0] if others else [None] * len(x)
            pairs = []
            for i, (picture, target) in enumerate(zip(x, targets)):
                check_pictures(name, picture, "(C, H, W)")
                self._check_target(target, picture, indices[i])
                pairs.append(self.change_one(picture, target, indices[i : i + 1], draws))
            pictures, targets = ([pair[k] for pair in pairs] for k in (0, 1))
            return (pictures, targets, *others[1:]) if others else (pictures,)
        check_pictures(name, x)
        return (self.change(x, indices, draws), *others)

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return these pictures changed, as another array."""
        raise NotImplementedError(f"{type(self).__name__} needs a change(x, indices, draws)")

    def change_one(self, picture: np.ndarray, target: Any, index: np.ndarray, draws: Draws) -> Any:
        """Return a picture (C, H, W) changed, and its target: boxes move with what they are of.

        index: (1,), that of the item. target: a target with boxes, or anything else, which stays.
        """
        (changed,) = self.change(picture[None], index, draws)
        if is_target(target):
            target = self.move(target, picture.shape[1:], index, draws)
        return changed, target

    def move(self, target: Target, size: tuple, index: np.ndarray, draws: Draws) -> Target:
        """Return the target of a picture of this size, (height, width), after the change."""
        return target

    def _check_target(self, target, picture, index):
        if not is_target(target):
            return
        asked = f"{type(self).__name__}: item {index}"
        check_target(asked, target, picture.shape[1:])
        fixed = [key for key in FIXED if key in target]
        if self.moves and fixed:
            raise ArgumentError(
                f"{asked}: boxes would move, but {' and '.join(fixed)} would not: remove these "
                "from the targets, or leave the transform out"
            )


class RandomCrop(PictureTransform):
    """Cut a window of `size`, a number or (height, width), from anywhere in each picture.

    Before, `padding` rows and columns of zeros are put around it: the mean grey where pictures are
    normalized, black where they are not. Of boxes those stay whose middle is in the window, and
    lose what is not. Raises ShapeError for pictures that are too small.
    """

    moves = True

    def __init__(self, size: Ints, padding: int = 0) -> None:
        self.size = as_size("RandomCrop", size)
        self.padding = check_count("RandomCrop: padding", padding, least=0)

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return windows (n, C, *size)."""
        p = self.padding
        top, left = self._corners(x.shape[-2:], indices, draws)
        padded = np.pad(x, [(0, 0), (0, 0), (p, p), (p, p)])
        shape = 1, 1, *self.size
        windows = np.lib.stride_tricks.sliding_window_view(padded, shape)[..., 0, 0, :, :]
        return windows[np.arange(len(x)), :, top, left]

    def move(self, target: Target, size: tuple, index: np.ndarray, draws: Draws) -> Target:
        """Return what is in the window."""
        top, left = (int(at[0]) - self.padding for at in self._corners(size, index, draws))
        return windowed(target, (left, top, left + self.size[1], top + self.size[0]))

    def _corners(self, sizes, indices, draws):
        """The first rows and columns of the windows, in padded pictures."""
        p = self.padding
        room = [size + 2 * p - window + 1 for size, window in zip(sizes, self.size)]
        if min(room) < 1:
            raise ShapeError(
                f"RandomCrop: a window of {self.size} does not fit into pictures of "
                f"{tuple(sizes)} with padding={p}"
            )
        top = draws.integers(room[0], indices, "crop: top")
        return top, draws.integers(room[1], indices, "crop: left")

    def __repr__(self):
        return f"RandomCrop({self.size}, padding={self.padding})"


class RandomHorizontalFlip(PictureTransform):
    """Mirror each picture, left to right, and its boxes, with probability p."""

    moves = True

    def __init__(self, p: float = 0.5) -> None:
        if not is_number(p) or not 0 <= p <= 1:
            raise ArgumentError(f"RandomHorizontalFlip: p must be a probability, 0 to 1, got {p!r}")
        self.p = float(p)

    def change(self, x: np.ndarray, indices: np.ndarray, draws: Draws) -> np.ndarray:
        """Return pictures of the same shape."""
        flipped = draws.uniform(indices, "flip") < self.p
        return np.where(flipped[:, None, None, None], x[..., ::-1], x)

    def move(self, target: Target, size: tuple, index: np.ndarray, draws: Draws) -> Target:
        """Return the boxes where the mirror shows them."""
        flipped = draws.uniform(index, "flip")[0] < self.p
        return mirrored(target, size[1]) if flipped else target

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


def check_pictures(asked: str, x: np.ndarray, axes: str = "(n, C, H, W)") -> None:
    """Raise ShapeError, which `asked` begins, for what are no pictures of these axes."""
    if not isinstance(x, np.ndarray) or x.ndim != axes.count(",") + 1:
        got = f"shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
        raise ShapeError(f"{asked}: expected pictures {axes} as the first field, got {got}")


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


def is_number(value: Any) -> bool:
    """Whether it is a number, which may be NaN."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def interval(asked: str, pair: Any, least: float = 0.0, most: float = np.inf) -> tuple:
    """Return two finite numbers that do not fall, from `least`, itself excluded, to `most`.

    Raises ArgumentError, which `asked` begins, for others.
    """
    values = [*pair] if isinstance(pair, (tuple, list)) else []
    if len(values) != 2 or not all(map(is_number, values)):
        raise ArgumentError(f"{asked} must be two numbers, got {pair!r}")
    if not least < values[0] <= values[1] <= most or not np.isfinite(values[1]):
        end = "" if most == np.inf else f" to at most {most}"
        raise ArgumentError(f"{asked} must rise, from above {least:g}{end}, got {pair!r}")
    return float(values[0]), float(values[1])


def channels(asked, values):
    """A number for each channel, or one for all, as (C,) float64."""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    row = list(values) if isinstance(values, (tuple, list)) else [values]
    if not row or not all(is_number(v) and np.isfinite(v) for v in row):
        expected = "a number or one for each channel"
        raise ArgumentError(f"{asked} must be finite, {expected}, got {values!r}")
    return np.array(row, np.float64)
