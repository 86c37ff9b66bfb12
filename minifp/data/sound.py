"""WAV files, by the standard library: plain samples (PCM) of 8, 16, 24 or 32 bits."""

import io
import os
import wave
from pathlib import Path

import numpy as np

from minifp.errors import DataError

WIDTHS = (1, 2, 3, 4)  # bytes of a sample


def read_wav(file: str | os.PathLike | bytes) -> tuple[np.ndarray, int]:
    """Return the samples of a WAV file, (channels, n) float32 from -1 to 1, and how many a second.

    file: its path, or what it holds. A sample of b bits is divided by 2^(b - 1) (of 8 bits, where
    128 stands for silence, after subtracting that), and rounded once. Raises DataError for what is
    no such file, is cut off, or holds anything but plain samples (floating or compressed ones).
    """
    name = "the WAV file" if isinstance(file, bytes) else str(file)
    try:
        content = file if isinstance(file, bytes) else Path(file).read_bytes()
        with wave.open(io.BytesIO(content)) as sound:
            channels, width, rate, count = sound.getparams()[:4]
            data = sound.readframes(count)
    except (OSError, EOFError, wave.Error, ValueError) as error:
        raise DataError(
            f"{name} cannot be read: {error or 'it ends too soon'}. Expected a WAV file of plain "
            "samples (PCM): get it again, or convert it"
        ) from error
    if width not in WIDTHS or len(data) != count * channels * width:
        raise DataError(
            f"{name} is damaged: expected {count} samples of {width} bytes in {channels} channels, "
            f"got {len(data)} bytes. Get it again"
        )
    return as_floats(data, width).reshape(-1, channels).T, rate


def as_floats(data: bytes, width: int) -> np.ndarray:
    """Samples of so many bytes each, little end first, as float32 from -1 to 1."""
    if width == 1:
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
    whole = np.zeros((len(data) // width, 4), np.uint8)
    whole[:, 4 - width :] = np.frombuffer(data, np.uint8).reshape(-1, width)
    return (whole.view("<i4")[:, 0] * 2.0**-31).astype(np.float32)
