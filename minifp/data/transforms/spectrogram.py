"""Spectrograms of sounds: how strong each frequency is, frame after frame, as logarithms.

A frame of n samples, times a window, becomes the n / 2 + 1 coefficients of its Fourier transform;
the next one begins `hop_length` samples later. Frames, windows and padding are those of PyTorch's
`stft`, mel filters those of torchaudio. All is computed in float64 and rounded once.
"""

from collections.abc import Callable

import numpy as np

from minifp.checks import check_choice, check_count, check_flag, check_range
from minifp.data.dataset import Fields
from minifp.data.transforms.draws import Draws
from minifp.data.utterances import padded
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.runtime.callers import warn_once

PAD_MODES = ("reflect", "constant")
SCALES = ("htk", "slaney")
NORMS = (None, "slaney")


def hann_window(n: int) -> np.ndarray:
    """The periodic Hann window (n), float64: 0.5 - 0.5 cos(2 pi k / n)."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def stft(
    input: np.ndarray,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: np.ndarray | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
) -> np.ndarray:
    """The short-time Fourier transform of samples (..., T): (..., n_fft // 2 + 1, frames), complex.

    The names, defaults and results are those of PyTorch's, of real input (onesided=True,
    return_complex=True). hop_length: n_fft // 4 by default. win_length: n_fft by default; window:
    its numbers (win_length), 1 by default, with zeros on both sides up to n_fft. center: frame t is
    around sample t hop_length, for which n_fft // 2 samples are put before and behind, by pad_mode
    "reflect" or "constant" (zeros); else it begins there. normalized: divided by the root of n_fft.
    complex64 for float32, complex128 for float64. Raises DTypeError for what is no floating array,
    ArgumentError for settings that cannot be, and ShapeError for too few samples.
    """
    x = np.asarray(input)
    if x.dtype.kind != "f" or x.ndim == 0:
        raise DTypeError(f"stft: input is {x.dtype}{list(x.shape)}: expected floats (..., T)")
    framing = Framing("stft", n_fft, hop_length, win_length, window, center, pad_mode, normalized)
    return framing.transform(x).astype(np.complex128 if x.dtype == np.float64 else np.complex64)


class Framing:
    """The settings of `stft`, checked."""

    def __init__(
        self, asked, n_fft, hop_length, win_length, window, center, pad_mode, normalized=False
    ) -> None:
        self.asked, self.n_fft = asked, check_count(f"{asked}: n_fft", n_fft)
        self.hop_length = max(1, n_fft // 4) if hop_length is None else hop_length
        self.win_length = n_fft if win_length is None else win_length
        check_count(f"{asked}: hop_length", self.hop_length)
        check_count(f"{asked}: win_length", self.win_length)
        check_flag(f"{asked}: center", center)
        check_flag(f"{asked}: normalized", normalized)
        check_choice(f"{asked}: pad_mode", pad_mode, PAD_MODES)
        if self.win_length > n_fft:
            raise ArgumentError(f"{asked}: win_length={win_length}: expected at most n_fft={n_fft}")
        window = np.ones(self.win_length) if window is None else np.asarray(window, np.float64)
        if window.shape != (self.win_length,):
            length = self.win_length
            raise ShapeError(f"{asked}: window of shape {window.shape}: expected ({length},)")
        left = (n_fft - self.win_length) // 2
        self.window = np.pad(window, (left, n_fft - self.win_length - left))
        self.center, self.pad_mode, self.normalized = center, pad_mode, normalized

    def frames(self, samples: int) -> int:
        """How many frames so many samples have."""
        inside = samples + 2 * (self.n_fft // 2) * self.center - self.n_fft
        return inside // self.hop_length + 1

    def transform(self, x):
        """The coefficients (..., n_fft // 2 + 1, frames), complex128."""
        samples, half = x.shape[-1], self.n_fft // 2
        least = 1 if self.pad_mode == "constant" else half + 1
        least = least if self.center else self.n_fft
        if samples < least:
            raise ShapeError(
                f"{self.asked}: {samples} samples: expected at least {least} with "
                f"n_fft={self.n_fft}, center={self.center}, pad_mode={self.pad_mode!r}"
            )
        if self.center:
            edges = [(0, 0)] * (x.ndim - 1) + [(half, half)]
            x = np.pad(x, edges, mode=self.pad_mode)
        framed = np.lib.stride_tricks.sliding_window_view(x, self.n_fft, axis=-1)
        framed = framed[..., :: self.hop_length, :].astype(np.float64)
        y = np.fft.rfft(framed * self.window)
        return np.moveaxis(y / np.sqrt(self.n_fft) if self.normalized else y, -1, -2)


# ---- mel filters --------------------------------------------------------------------------------

STEP, KNEE = 200 / 3, 1000.0  # hertz a mel of Slaney's scale below its knee
ABOVE = np.log(6.4) / 27  # and the logarithm of the ratio of two above it


def mel_of(hertz, scale: str):
    """Frequencies as mels, of O'Shaughnessy's formula as in HTK, or of Slaney's toolbox."""
    hertz = np.asarray(hertz, np.float64)
    if scale == "htk":
        return 2595 * np.log10(1 + hertz / 700)
    above = KNEE / STEP + np.log(np.maximum(hertz, KNEE) / KNEE) / ABOVE
    return np.where(hertz < KNEE, hertz / STEP, above)


def hertz_of(mel, scale: str):
    """Mels as frequencies."""
    mel = np.asarray(mel, np.float64)
    if scale == "htk":
        return 700 * (10 ** (mel / 2595) - 1)
    above = KNEE * np.exp(ABOVE * (mel - KNEE / STEP))
    return np.where(mel < KNEE / STEP, mel * STEP, above)


def mel_filters(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: str | None = None,
    mel_scale: str = "htk",
) -> np.ndarray:
    """Triangles over frequencies, (n_freqs, n_mels) float64, with which a spectrum is summed.

    The names and results are those of torchaudio's `melscale_fbanks`: n_freqs frequencies from 0 to
    sample_rate // 2; the tops of triangles are equally far apart in mels, and each goes down to 0
    at its neighbours'. norm="slaney" gives all the same area. Raises ArgumentError for settings
    that cannot be; warns once where a triangle is so narrow that it holds no frequency.
    """
    for name, count in (("n_freqs", n_freqs), ("n_mels", n_mels), ("sample_rate", sample_rate)):
        check_count(f"mel_filters: {name}", count)
    check_choice("mel_filters: mel_scale", mel_scale, SCALES)
    if norm not in NORMS:
        raise ArgumentError(f"mel_filters: norm={norm!r}: expected None or 'slaney'")
    check_range("mel_filters: f_min", f_min)
    check_range("mel_filters: f_max", f_max, f_min, sample_rate / 2)
    if f_min == f_max:
        raise ArgumentError(f"mel_filters: f_max={f_max!r}: expected more than f_min={f_min!r}")
    at = np.linspace(0, sample_rate // 2, n_freqs)
    low, high = mel_of([f_min, f_max], mel_scale)
    points = hertz_of(np.linspace(low, high, n_mels + 2), mel_scale)
    gaps, slopes = np.diff(points), points - at[:, None]
    filters = np.maximum(0, np.minimum(-slopes[:, :-2] / gaps[:-1], slopes[:, 2:] / gaps[1:]))
    if not filters.any(0).all():
        empty = np.flatnonzero(~filters.any(0))
        warn_once(
            f"mel filters {n_freqs} {n_mels}",
            f"mel_filters: {len(empty)} of {n_mels} filters, filter {empty[0]} first, contain none "
            f"of the {n_freqs} frequencies: their features are constant. Use fewer filters, or a "
            "larger n_fft",
        )
    return filters * 2 / (points[2:] - points[:-2]) if norm == "slaney" else filters


# ---- features -----------------------------------------------------------------------------------


class LogSpectrogram:
    """The logarithm of how strong each frequency is: log(|stft|^2 + offset), (frames, n_fft/2 + 1).

    `features(samples)` computes it of one sound (T): of a data set by `strings.map(...)`. As a
    transform of a loader it makes of a batch (samples (n, T), lengths (n), ...) the features
    (n, frames, bands), 0 behind each sound's own end, their lengths, and the rest as it is.

    window: a function of win_length, `hann_window` by default. power: 2, or 1 for magnitudes.
    normalize: less their mean, divided by their standard deviation, both of the whole utterance.
    The others are those of `stft`. float32. Raises ArgumentError for settings that cannot be, and
    ShapeError for sounds that are too short.
    """

    def __init__(
        self,
        n_fft: int = 400,
        *,
        win_length: int | None = None,
        hop_length: int | None = None,
        window: Callable[[int], np.ndarray] = hann_window,
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        offset: float = 1e-6,
        normalize: bool = False,
    ) -> None:
        asked = type(self).__name__
        win_length = n_fft if win_length is None else win_length
        check_count(f"{asked}: win_length", win_length)
        hop_length = max(1, win_length // 2) if hop_length is None else hop_length
        sizes = n_fft, hop_length, win_length
        self.framing = Framing(asked, *sizes, window(win_length), center, pad_mode)
        check_range(f"{asked}: power", power)
        check_range(f"{asked}: offset", offset)
        if power == 0 or offset == 0:
            raise ArgumentError(f"{asked}: power={power!r}, offset={offset!r}: expected above 0")
        check_flag(f"{asked}: normalize", normalize)
        self.power, self.offset, self.normalize = power, offset, normalize

    def features(self, samples: np.ndarray) -> np.ndarray:
        """Return those of one sound (T): (frames, bands), float32."""
        x = np.asarray(samples)
        if x.dtype.kind != "f" or x.ndim != 1:
            raise DTypeError(
                f"{self.framing.asked}: {x.dtype}{list(x.shape)}: expected floats (T), the samples "
                "of one sound"
            )
        spectrum = np.abs(self.framing.transform(x)) ** self.power
        y = np.log(self.bands(spectrum.T) + self.offset)
        if self.normalize:
            y = (y - y.mean()) / max(y.std(), np.finfo(np.float32).eps)
        return y.astype(np.float32)

    def bands(self, spectrum: np.ndarray) -> np.ndarray:
        """What the logarithm is taken of, of (frames, n_fft // 2 + 1)."""
        return spectrum

    def __call__(self, fields: Fields, indices: np.ndarray, draws: Draws) -> Fields:
        x, lengths, *others = fields
        rows = [self.features(samples[:n]) for samples, n in zip(x, lengths.tolist())]
        counts = np.array([len(row) for row in rows], np.int64)
        return (padded("features", rows), counts, *others)

    def __repr__(self):
        settings = vars(self.framing) | vars(self)
        names = "n_fft", "win_length", "hop_length", "normalize"
        return f"{type(self).__name__}({', '.join(f'{n}={settings[n]}' for n in names)})"


class LogMelSpectrogram(LogSpectrogram):
    """The logarithm of how strong each band of the mel scale is, (frames, n_mels).

    sample_rate: samples a second. f_min, f_max: hertz, up to half of that by default. norm,
    mel_scale: see `mel_filters`. The defaults are those of torchaudio's MelSpectrogram; the others
    are those of LogSpectrogram.
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_fft: int = 400,
        *,
        n_mels: int = 128,
        f_min: float = 0.0,
        f_max: float | None = None,
        norm: str | None = None,
        mel_scale: str = "htk",
        **settings,
    ) -> None:
        super().__init__(n_fft, **settings)
        f_max = sample_rate // 2 if f_max is None else f_max
        frequencies = n_fft // 2 + 1
        self.filters = mel_filters(frequencies, f_min, f_max, n_mels, sample_rate, norm, mel_scale)

    def bands(self, spectrum: np.ndarray) -> np.ndarray:
        """Sums under triangles, without BLAS, whose threads wake slower than they compute."""
        return np.einsum("tf,fm->tm", spectrum, self.filters)
