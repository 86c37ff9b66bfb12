"""Pictures that are kept as the bytes of their files, and become numbers batch by batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifp.data.dataset import Fields, TensorDataset, as_item


class Pictures(TensorDataset):
    """A data set of pictures and their classes, in a quarter of the memory of float32.

    pixels: (n, C, H, W) uint8; labels: (n,), kept as int64; levels: see `pixel_levels`. Items are
    (float32 pictures, int64 classes). `.arrays` makes the numbers of all pictures when it is asked.
    """

    def __init__(
        self,
        pixels: np.ndarray,
        labels: np.ndarray,
        levels: np.ndarray,
        *,
        name: str,
        classes: Sequence[str] | None,
    ) -> None:
        super().__init__(pixels, labels.astype(np.int64), name=name, classes=classes)
        self.levels = levels

    takes_arrays = True

    def __getitem__(self, index: Any) -> Any:
        pixels, labels = (np.asarray(a[index]) for a in self.held)
        return as_item(index, (leveled(pixels, self.levels), labels))

    @property
    def arrays(self) -> Fields:
        """The float32 pictures and int64 classes of the whole set."""
        return self[:]

    def __repr__(self):
        _, *shape = self.held[0].shape
        return f"Pictures(uint8{[len(self), *shape]}, name={self.name!r})"


def pixel_levels(mean, deviation, normalize) -> np.ndarray:
    """What each byte p of each channel becomes, (C, 256): (p / 255 - mean) / deviation, or p."""
    levels = np.tile(np.arange(256.0), (len(mean), 1))
    if normalize:
        levels = (levels / 255 - np.array(mean)[:, None]) / np.array(deviation)[:, None]
    return levels.astype(np.float32)


def leveled(pixels: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Pictures (..., C, H, W), float32, of bytes in that shape."""
    x = np.empty(pixels.shape, np.float32)
    flat, bytes_ = x.reshape(-1, *x.shape[-3:]), pixels.reshape(-1, *x.shape[-3:])
    # In parts, because NumPy makes 64-bit indices of the bytes first.
    for start in range(0, len(flat), 64):
        for channel, of_channel in enumerate(levels):
            part = bytes_[start : start + 64, channel]
            np.take(of_channel, part, out=flat[start : start + 64, channel], mode="clip")
    return x
