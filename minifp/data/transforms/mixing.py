"""Transforms that mix each picture with another one of the epoch, and their classes alike.

    x = m x + (1 - m) x',  q = m onehot(t) + (1 - m) onehot(t')

The partner x' is what the item's partner is at this place of the transforms, cropped and flipped as
it is in its own turn. Of the items of an epoch each is the partner of one, in an order that depends
on the seed and the epoch alone; items that a sampler leaves out are nobody's. So a picture is mixed
alike in every batch that it may be in, at the price of taking two items for each. (The papers'
programs mix a batch with itself, in another order, which is faster.)

The share m is a whole multiple of 2^-10: then m and 1 - m are exact in half precision too, and
probabilities are the same, and have the sum 1, in every format.
"""

import numpy as np

from minifp.checks import check_count, check_range
from minifp.data.dataset import Fields
from minifp.data.transforms.beta import symmetric_beta
from minifp.data.transforms.draws import Draws
from minifp.data.transforms.one_picture import check_pictures
from minifp.errors import ArgumentError, ShapeError

STEPS = 2**10  # of a share, from 0 to 1


class Mixing:
    """What mixes items in pairs: a subclass has `_mixed(x, other, share, indices, draws)`."""

    def __init__(self, *, num_classes: int, alpha: float = 1.0) -> None:
        name = type(self).__name__
        self.num_classes = check_count(f"{name}: num_classes", num_classes)
        check_range(f"{name}: alpha", alpha)
        if alpha == 0:
            raise ArgumentError(f"{name}: alpha=0 mixes nothing: leave the transform out")
        self.alpha = float(alpha)

    def __call__(self, fields: Fields, indices: np.ndarray, draws: Draws) -> Fields:
        name = type(self).__name__
        if len(fields) < 2:
            raise ShapeError(f"{name}: expected pictures and classes, got {len(fields)} field")
        x, t, *others = fields
        check_pictures(name, x)
        other, other_t, *_ = draws.items(draws.partners(indices, name))
        share = symmetric_beta(self.alpha, draws.uniform(indices, f"{name}: share"))
        y, share = self._mixed(x, other, share, indices, draws)
        m = in_steps(share).astype(np.float32)[:, None]
        q, other_q = (self.probabilities(classes) for classes in (t, other_t))
        return (y, m * q + (1 - m) * other_q, *others)

    def _mixed(self, x, other, share, indices, draws) -> tuple[np.ndarray, np.ndarray]:
        """Return pictures, and the share, (n,), that x has in them."""
        raise NotImplementedError(f"{type(self).__name__} needs a _mixed(...)")

    def probabilities(self, t: np.ndarray) -> np.ndarray:
        """Return the probabilities (n, num_classes), float32, of classes (n,); such, as they are.

        Raises ShapeError or ArgumentError for what are neither.
        """
        name, k = type(self).__name__, self.num_classes
        if t.dtype.kind == "f" and t.shape[1:] == (k,):
            return t.astype(np.float32)
        if t.dtype.kind not in "iu" or t.ndim != 1:
            raise ShapeError(
                f"{name}: expected as the second field classes, integers (n,), or probabilities "
                f"(n, {k}), got {t.dtype} of shape {t.shape}"
            )
        wrong = (t < 0) | (t >= k)
        if wrong.any():
            raise ArgumentError(f"{name}: class {t[wrong][0]}, expected 0 to {k - 1}")
        return np.eye(k, dtype=np.float32)[t]

    def __repr__(self):
        return f"{type(self).__name__}(num_classes={self.num_classes}, alpha={self.alpha})"


def in_steps(share: np.ndarray) -> np.ndarray:
    """Shares as whole multiples of 2^-10."""
    return np.round(share * STEPS) / STEPS


class MixUp(Mixing):
    """Replace each picture by m of it and 1 - m of another one, and its class by probabilities.

    m is drawn from Beta(alpha, alpha), each picture's own: mostly near 0 or 1 for an alpha near 0,
    equally likely for 1. The second field becomes (n, num_classes), float32, which `cross_entropy`
    takes; give it to a `DataLoader`, whose data set has the other pictures. Raises ArgumentError
    for a class that is none, and ShapeError for other fields. Source: Zhang and others, "mixup",
    arXiv 1710.09412.
    """

    def _mixed(self, x, other, share, indices, draws):
        """Return (n, C, H, W), float32 (float64 where x is that)."""
        dtype = np.float64 if x.dtype == np.float64 else np.float32
        m = in_steps(share).astype(dtype)[:, None, None, None]
        y = x.astype(dtype) * m
        y += other.astype(dtype, copy=False) * (1 - m)
        return y, share


class CutMix(Mixing):
    """Put a window of another picture into each, at its own place, and mix classes by areas.

    The window has the shape of the picture, a share of 1 - m of its area, where m is drawn from
    Beta(alpha, alpha), and its middle anywhere; what of it is outside is lost, and classes are
    mixed by what is inside. Otherwise as `MixUp`. Source: Yun and others, arXiv 1905.04899.
    """

    def _mixed(self, x, other, share, indices, draws):
        """Return pictures as they were, but for the windows."""
        height, width = x.shape[-2:]
        inside = np.ones((len(x), 1, 1), bool)
        for purpose, size, axis in (("top", height, 1), ("left", width, 2)):
            middle = draws.integers(size, indices, f"cutmix: {purpose}")[:, None]
            half = (0.5 * np.sqrt(1 - share) * size).astype(np.int64)[:, None]
            at = np.arange(size)
            line = (at >= middle - half) & (at < middle + half)
            inside = inside & np.expand_dims(line, 3 - axis)
        return np.where(inside[:, None], other, x), 1 - inside.mean((1, 2))
