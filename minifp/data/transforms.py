"""Changing pictures while they are loaded, at random but repeatably: augmentation.

A transform is given to the loader, `DataLoader(data, 64, shuffle=True, transform=...)`, which calls

    transform(fields, indices, draws) -> fields

with the arrays of a batch, the indices of its items in the data set, (n,), and `Draws`. All numbers
that are drawn for an item depend on the seed, the epoch's number and the item's index alone: so a
picture is changed alike in batches of another size, in another order, in every precision, with and
without `prefetch`, and after resuming in the middle of an epoch.

Those here change the first field, pictures (n, C, H, W), and leave the others; any function of the
same three arguments will do.
"""

import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from minifp.data.dataset import Fields
from minifp.errors import ArgumentError, ShapeError
from minifp.ops.creation import Data
from minifp.runtime import random
from minifp.typing import Ints

__all__ = ["Compose", "Draws", "Normalize", "RandomCrop", "RandomHorizontalFlip"]


class Draws:
    """The random numbers of one epoch: for each purpose one for each item of the data set.

    purpose: any text that names what the numbers are for; another gives other numbers.
    """

    def __init__(self, seed: int, epoch: int, size: int) -> None:
        self._streams, self._epoch, self._size = random.Streams(seed), epoch, size
        self._known: dict[str, np.ndarray] = {}
        self._prefix = "transform"

    def uniform(self, indices: np.ndarray, purpose: str) -> np.ndarray:
        """Return for the items of these indices float32 numbers, equally likely in [0, 1)."""
        purpose = f"{self._prefix} {purpose}"
        if purpose not in self._known:  # all of the epoch at once, which is cheaper
            self._known[purpose] = self._streams.uniform(
                self._size, purpose=purpose, call=self._epoch
            )
        return self._known[purpose][indices]

    def integers(self, high: int, indices: np.ndarray, purpose: str) -> np.ndarray:
        """Return for the items of these indices int64 numbers from 0 to high - 1.

        high: at most 2**16, so that none is likelier than another by more than 2^-8 of itself.
        """
        return np.floor(self.uniform(indices, purpose).astype(np.float64) * high).astype(np.int64)

    def again(self, turn: int) -> "Draws":
        """Return draws of the same items that are others than these, unless turn is 0."""
        other = Draws.__new__(Draws)
        vars(other).update(vars(self))
        other._prefix += f" {turn}" * (turn > 0)
        return other


Transform: TypeAlias = Callable[[Fields, np.ndarray, Draws], Fields]


class Compose:
    """Several transforms, one after the other. Raises ArgumentError for what is no function.

    The second one of a kind draws other numbers than the first.
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        if not isinstance(transforms, (list, tuple)) or not all(map(callable, transforms)):
            raise ArgumentError(f"Compose: expected a list of transforms, got {transforms!r}")
        self.transforms: list[Transform] = []
        for t in transforms:  # flat, so that all of a kind are counted
            self.transforms += t.transforms if isinstance(t, Compose) else [t]

    def __call__(self, fields: Fields, indices: np.ndarray, draws: Draws) -> Fields:
        turns: dict[type, int] = {}
        for transform in self.transforms:
            turn = turns[type(transform)] = turns.get(type(transform), -1) + 1
            fields = transform(fields, indices, draws.again(turn))
        return fields

    def __repr__(self):
        return f"Compose({self.transforms!r})"


class PictureTransform:
    """What changes the first field: a subclass has `change(x, indices, draws)`."""

    def __call__(self, fields: Fields, indices: np.ndarray, draws: Draws) -> Fields:
        x, *others = fields
        if x.ndim != 4:
            raise ShapeError(
                f"{type(self).__name__}: expected pictures (n, C, H, W) as the first field, got "
                f"shape {x.shape}"
            )
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
        self.mean, self.std = _channels("mean", mean), _channels("std", std)
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


def _channels(name, values):
    values = values.tolist() if isinstance(values, np.ndarray) else values
    row = list(values) if isinstance(values, (tuple, list)) else [values]
    if not row or not all(_is_number(v) and np.isfinite(v) for v in row):
        raise ArgumentError(
            f"Normalize: {name} must be finite, a number or one for each channel, got {values!r}"
        )
    return np.array(row, np.float64)
