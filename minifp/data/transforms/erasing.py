"""Erasing a part of each picture."""

from collections.abc import Sequence

import numpy as np

from minifp.checks import check_range
from minifp.data.transforms.draws import Draws
from minifp.data.transforms.one_picture import PictureTransform, channels, interval
from minifp.errors import DTypeError, ShapeError
from minifp.ops.creation import Data

ATTEMPTS = 10  # to find a rectangle that fits, as in the paper's program


class RandomErasing(PictureTransform):
    """Erase a rectangle in each picture with probability p.

    Its area is a share of the picture's, equally likely in `scale`; its height through its width is
    in `ratio`, equally likely on a scale of logarithms; where it does not fit, others are drawn,
    and after ten the picture stays. value: what stands there then, a number, one for each channel,
    or "random": numbers of the standard normal distribution, for normalized pictures. Raises
    ShapeError for another number of channels. Source: Zhong and others, arXiv 1708.04896.
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Data | str = 0,
    ) -> None:
        check_range("RandomErasing: p", p, high=1.0)
        self.p = float(p)
        self.scale = interval("RandomErasing: scale", scale, most=1.0)
        self.ratio = interval("RandomErasing: ratio", ratio)
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
            pictures = f'value="random" in pictures of {x.dtype}'
            raise DTypeError(f"RandomErasing: {pictures}: put Normalize before it")
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
