"""SpecAugment: stripes of features are hidden, and time is stretched here and pressed there.

Park and others 2019, arXiv 1904.08779. Time is warped along each line of time as a whole, piecewise
linearly, as common implementations do, where the paper moves one point of a picture.
"""

import numpy as np

from minifp.checks import check_count, check_range
from minifp.data.dataset import Fields
from minifp.data.transforms.draws import Draws
from minifp.errors import DTypeError


class SpecAugment:
    """Change features (n, T, bands) of utterances: a batch (features, lengths, ...).

    freq_mask: F, the most bands of a mask of frequencies, and freq_masks of them. time_mask: T, the
    most frames of a mask of time, time_masks of them, each at most `time_share` of the utterance.
    How wide a mask is, from 0 on, and where it lies, is equally likely. time_warp: W, the most
    frames that a point of the utterance at least W from its ends is moved by; 0 for none. Masks
    never go beyond an utterance's end. value: what is put there: 0, the mean of normalized
    features. The paper's policy LB has F = 27 and T = 100; the
    defaults, 8 and 20, are for fewer bands and utterances of some seconds. Raises
    ArgumentError for other settings, and DTypeError for what are no floating features.
    """

    def __init__(
        self,
        freq_mask: int = 8,
        freq_masks: int = 1,
        time_mask: int = 20,
        time_masks: int = 1,
        time_share: float = 0.2,
        time_warp: int = 0,
        value: float = 0.0,
    ) -> None:
        self.freq_mask, self.freq_masks, self.time_warp = freq_mask, freq_masks, time_warp
        self.time_mask, self.time_masks = time_mask, time_masks
        for name, count in vars(self).items():
            vars(self)[name] = check_count(f"SpecAugment: {name}", count, least=0)
        check_range("SpecAugment: time_share", time_share, high=1.0)
        check_range("SpecAugment: value", value, low=-np.inf)
        self.time_share, self.value = float(time_share), float(value)

    def __call__(self, fields: Fields, indices: np.ndarray, draws: Draws) -> Fields:
        x, lengths, *others = fields
        if x.dtype.kind != "f" or x.ndim != 3:
            raise DTypeError(
                f"SpecAugment: {x.dtype}{list(x.shape)}: expected floating features (n, T, bands); "
                "put LogMelSpectrogram before it"
            )
        x = self.warped(x, lengths, indices, draws) if self.time_warp else x
        bands = np.full(len(x), x.shape[2])
        is_masked = np.zeros(x.shape, bool)
        for k in range(self.freq_masks):
            most = np.minimum(self.freq_mask, bands)
            is_masked |= stripe(x.shape[2], bands, most, indices, draws, f"freq {k}")[:, None, :]
        for k in range(self.time_masks):
            share = np.floor(lengths * self.time_share).astype(np.int64)
            most = np.minimum(self.time_mask, share)
            is_masked |= stripe(x.shape[1], lengths, most, indices, draws, f"time {k}")[:, :, None]
        inside = np.arange(x.shape[1]) < lengths[:, None]
        changed = np.where(is_masked & inside[:, :, None], np.asarray(self.value, x.dtype), x)
        return (changed, lengths, *others)

    def warped(
        self, x: np.ndarray, lengths: np.ndarray, indices: np.ndarray, draws: Draws
    ) -> np.ndarray:
        """Return each utterance with a point of it moved in time, its ends left where they are."""
        where, by = (draws.uniform(indices, f"warp: {what}") for what in ("where", "by"))
        out = x.copy()
        for i, n in enumerate(lengths.tolist()):
            reach = min(self.time_warp, (n - 1) // 2)
            if reach < 1:
                continue
            point = reach + where[i].astype(np.float64) * (n - 1 - 2 * reach)
            moved = point + (2 * by[i].astype(np.float64) - 1) * (reach - 0.5)
            at = np.interp(np.arange(n), [0, moved, n - 1], [0, point, n - 1])
            first = np.minimum(at.astype(np.int64), n - 2)
            part = (at - first)[:, None]
            out[i, :n] = (1 - part) * x[i, first] + part * x[i, first + 1]
        return out

    def __repr__(self):
        names = ("freq_mask", "freq_masks", "time_mask", "time_masks", "time_share", "time_warp")
        return f"SpecAugment({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


def stripe(size, lengths, most, indices, draws, purpose):
    """Which of `size` places a mask of each item hides, (n, size): at most `most`, below its
    length."""
    share, place = (draws.uniform(indices, f"mask {purpose}: {what}") for what in ("size", "at"))
    width = np.floor(share.astype(np.float64) * (most + 1)).astype(np.int64)
    first = np.floor(place.astype(np.float64) * (lengths - width + 1)).astype(np.int64)
    at = np.arange(size)
    return (at >= first[:, None]) & (at < (first + width)[:, None])
