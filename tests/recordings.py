"""Recordings of our own: a tone for each digit and speaker, in files called as the set's are."""

import io
import tarfile
import wave

import numpy as np

SPEAKERS = ("anna", "bert")
RATE = 8000


def tone(digit, speaker, index):
    """Samples of 16 bits: a length, a pitch and a loudness that depend on what they are of."""
    n = 400 + 16 * digit + 8 * index
    pitch, loudness = 300 + 150 * digit + 40 * SPEAKERS.index(speaker), 6000 + 100 * index
    wave = np.sin(2 * np.pi * pitch * np.arange(n) / RATE) * loudness
    return wave.round().astype("<i2")


def as_wav(samples, rate=RATE, channels=1, width=2):
    """What a WAV file of these samples holds: (n), or (n, channels), integers or bytes."""
    file = io.BytesIO()
    with wave.Wave_write(file) as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(width)
        sound.setframerate(rate)
        sound.writeframes(samples if isinstance(samples, bytes) else samples.tobytes())
    return file.getvalue()


def files(indices=(0, 4, 5, 6), digits=range(10)):
    return {
        f"{digit}_{speaker}_{index}.wav": as_wav(tone(digit, speaker, index))
        for digit in digits
        for speaker in SPEAKERS
        for index in indices
    }


def write_folder(folder, **which):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files(**which).items():
        (folder / name).write_bytes(content)
    return folder


def write_archive(path, held=None):
    """Write them, or other files, into a recordings.tar.xz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:xz") as tar:
        for name, content in (files() if held is None else held).items():
            member = tarfile.TarInfo(f"recordings/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path
