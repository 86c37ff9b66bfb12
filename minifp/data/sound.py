"""WAV files: plain samples (PCM) of 8 to 32 bits, floats, and telephones' logarithms; all other
sounds by the library soundfile, where it is installed."""

import io
import os
import struct
from importlib import import_module
from pathlib import Path

import numpy as np

from minifp.errors import DataError
from minifp.runtime import untrusted
from minifp.runtime.file_kinds import HEAD, WAV, kind_of

LARGEST, LONGEST = 2**32, 2**28  # bytes of a file; samples that soundfile unpacks
PCM, FLOAT, A_LAW, MU_LAW, EXTENSIBLE = 1, 3, 6, 7, 0xFFFE  # formats, as the file's head says them
WIDTHS = {PCM: (1, 2, 3, 4), FLOAT: (4, 8), A_LAW: (1,), MU_LAW: (1,)}  # bytes of a sample
FORMAT = struct.Struct("<HHIIHH")  # format, channels, rate, bytes a second, of a row; bits


def read_wav(file: str | os.PathLike | bytes) -> tuple[np.ndarray, int]:
    """Return the samples of a WAV file, (channels, n) float32 from -1 to 1, and how many a second.

    file: its path, or what it holds. A sample of b bits is divided by 2^(b - 1) (of 8 bits, where
    128 stands for silence, after subtracting that), and rounded once; floats are as they are, and
    may be beyond 1; A-law and mu-law are taken out of their logarithms. Other sounds, such as FLAC,
    Ogg, or compressed WAV, are read by soundfile, where that is installed. Raises DataError for
    what is no sound, or is cut off, and for what soundfile would read, if it is not there.
    """
    name = "the WAV file" if isinstance(file, bytes) else str(file)
    try:
        content = file if isinstance(file, bytes) else untrusted.content(Path(file), LARGEST)
    except (OSError, ValueError) as error:
        raise DataError(f"{name} cannot be read: {error}") from error
    try:
        chunks = chunks_of(content)
        form, channels, rate, width = form_of(chunks[b"fmt "])
        data = chunks[b"data"]
    except (KeyError, struct.error) as error:
        return by_soundfile(name, content, f"it ends too soon, or is no WAV file ({error})")
    if width not in WIDTHS.get(form, ()) or not channels:
        reason = f"it is a WAV file of format {form} with {8 * width} bits"
        return by_soundfile(name, content, reason)
    is_whole = len(data) % (channels * width) == 0 or not chunks[b"size"]
    if not is_whole or len(data) < chunks[b"size"]:
        raise DataError(
            f"{name} is damaged: expected {chunks[b'size']} bytes of samples, of {width} bytes in "
            f"{channels} channels, got {len(data)}. Download it again"
        )
    data = data[: len(data) // (channels * width) * channels * width]
    return as_floats(data, form, width).reshape(-1, channels).T, rate


def chunks_of(content: bytes) -> dict:
    """The chunks of a WAV file by their names, the first of each; "size" is that of its data.

    Raises KeyError where it is none.
    """
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise KeyError("RIFF WAVE")
    chunks: dict = {}
    at = 12
    while at + 8 <= len(content) and b"data" not in chunks:
        name, size = content[at : at + 4], int.from_bytes(content[at + 4 : at + 8], "little")
        chunks.setdefault(name, content[at + 8 : at + 8 + size])
        at += 8 + size + size % 2
    # A size that was not known as it was written, into a pipe, is the largest: all that is there.
    chunks[b"size"] = size if b"data" in chunks and size < 2**32 - 1 else 0
    return chunks


def form_of(head: bytes) -> tuple[int, int, int, int]:
    """(format, channels, rate, bytes of a sample) of a file's head. Raises struct.error."""
    form, channels, rate, _, _, bits = FORMAT.unpack_from(head)
    if form == EXTENSIBLE:  # the format is the first of another 16 bytes
        (form,) = struct.unpack_from("<H", head, 24)
    return form, channels, rate, (bits + 7) // 8


def as_floats(data: bytes, form: int, width: int) -> np.ndarray:
    """Samples of so many bytes each, little end first, as float32: integers from -1 to 1."""
    if form == FLOAT:
        return np.frombuffer(data, f"<f{width}").astype(np.float32)
    if form in (A_LAW, MU_LAW):
        codes = np.frombuffer(data, np.uint8)
        return (logarithms(form)[codes] / np.float32(2**15)).astype(np.float32)
    if width == 1:
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
    whole = np.zeros((len(data) // width, 4), np.uint8)
    whole[:, 4 - width :] = np.frombuffer(data, np.uint8).reshape(-1, width)
    return (whole.view("<i4")[:, 0] * 2.0**-31).astype(np.float32)


def logarithms(form: int) -> np.ndarray:
    """The sample (of 16 bits) that each byte stands for in A-law or mu-law: ITU-T G.711."""
    code = np.arange(256) ^ (0x55 if form == A_LAW else 0xFF)
    exponent, mantissa = code >> 4 & 7, code & 15
    if form == A_LAW:
        size = 2 * mantissa + np.where(exponent, 33, 1) << np.maximum(exponent - 1, 0)
        return np.where(code & 0x80, 8, -8) * size
    size = ((2 * mantissa + 33) << exponent) - 33
    return np.where(code & 0x80, -4, 4) * size


def by_soundfile(name: str, content: bytes, problem: str) -> tuple[np.ndarray, int]:
    """What `read_wav` returns, of a sound that it leaves to soundfile. Raises DataError."""
    kind = kind_of(content[:HEAD])
    damage = f"{name} cannot be read: {f'it is {kind}' if kind and kind != WAV else problem}"
    try:
        soundfile = import_module("soundfile")
    except (ImportError, OSError) as error:
        raise DataError(
            f"{damage}. Expected a WAV file of plain samples or floats: download it again, convert "
            "it, or pip install soundfile, which reads most sounds"
        ) from error
    try:
        head = soundfile.info(io.BytesIO(content))
        if head.frames * head.channels > LONGEST:
            raise ValueError(f"{head.frames:,} samples in {head.channels} channels are too many")
        samples, rate = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
    except MemoryError:
        raise
    except Exception as error:  # soundfile's own
        raise DataError(f"{damage}: {error}. Download it again, or convert it to WAV") from error
    return np.ascontiguousarray(samples.T), rate
