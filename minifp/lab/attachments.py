"""What is kept with a run beside numbers: arrays, texts, pictures and sounds, each in its file."""

import io
import re
import wave
from dataclasses import dataclass
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.numerics.formats import is_float


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels (H, W) or (H, W, 3): integers 0 to 255, or floating numbers from 0 to 1, which are cut
    off outside. It becomes a PNG where Pillow is installed, else an array. Raises ArgumentError."""

    pixels: Any

    def __post_init__(self):
        pixels = as_array(self.pixels)
        if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] != 3):
            raise ArgumentError(f"Picture: pixels {pixels.shape}, expected (H, W) or (H, W, 3)")
        if is_float(pixels.dtype):
            pixels = np.nan_to_num(pixels.astype(np.float32)).clip(0, 1) * 255 + 0.5
        object.__setattr__(self, "pixels", pixels.clip(0, 255).astype(np.uint8))


@dataclass(frozen=True, eq=False)
class Audio:
    """Sound: samples (n) from -1 to 1, `rate` of them a second. It becomes a WAV of 16 bits. Raises
    ArgumentError."""

    samples: Any
    rate: int

    def __post_init__(self):
        samples = as_array(self.samples)
        if samples.ndim != 1 or not is_float(samples.dtype):
            kind = f"{samples.dtype}{list(samples.shape)}"
            raise ArgumentError(f"Audio: samples are {kind}, expected floats (n)")
        whole = np.nan_to_num(samples.astype(np.float32)).clip(-1, 1) * 32767
        object.__setattr__(self, "samples", whole.round().astype("<i2"))


def as_array(value) -> np.ndarray:
    """The array of a Tensor, or of anything like one."""
    return value.numpy() if isinstance(value, Tensor) else np.asarray(value)


def contents(name: str, value) -> tuple[str, bytes]:
    """(file name, content) of what is kept by a name. Raises ArgumentError for what has no file."""
    stem = re.sub(r"[^\w.-]+", "_", name).strip(".") or "_"
    if isinstance(value, str):
        return f"{stem}.txt", value.encode()
    if isinstance(value, Audio):
        return f"{stem}.wav", of_audio(value)
    if isinstance(value, Picture):
        picture = of_picture(value)
        if picture is not None:
            return f"{stem}.png", picture
        value = value.pixels
    array = as_array(value)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(
            f"evaluate returned {name!r}, a {type(value).__name__}, which cannot be saved: "
            "expected a number, an array, a string, a Picture or Audio"
        )
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return f"{stem}.npy", out.getvalue()


def of_picture(picture: Picture) -> bytes | None:
    """A PNG; None where Pillow is not installed."""
    try:
        from PIL import Image
    except ImportError:
        return None
    file = io.BytesIO()
    Image.fromarray(picture.pixels).save(file, "PNG")
    return file.getvalue()


def of_audio(audio: Audio) -> bytes:
    """A WAV file."""
    file = io.BytesIO()
    with wave.Wave_write(file) as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(audio.rate)
        sound.writeframes(audio.samples.tobytes())
    return file.getvalue()
