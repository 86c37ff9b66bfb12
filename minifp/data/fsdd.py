"""The Free Spoken Digit Dataset: 3,000 recordings of the ten digits in English by six speakers.

Jackson and others, https://github.com/Jakobovski/free-spoken-digit-dataset (CC BY-SA 4.0). A
recording is a WAV file of 16 bits and 8,000 samples a second, called {digit}_{speaker}_{index}.wav;
by its authors' convention those with an index from 0 to 4 are to test with.
"""

import hashlib
import re
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from minifp.data import archives, downloads, files
from minifp.data.images import TEN, from_no_path
from minifp.data.sound import read_wav
from minifp.data.utterances import Utterances
from minifp.errors import ArgumentError, DataError
from minifp.runtime import untrusted

DATASET = "fsdd"
RATE = 8000
TESTED = 5  # recordings of each digit and speaker with an index below this are to test with
NAME = re.compile(r"(\d)_([A-Za-z]+)_(\d+)\.wav")
PACKED = "recordings.tar.xz"
FOLDER = "recordings"
LARGEST = 2**20  # bytes of one recording; the longest has 37 thousand

# Release 1.0.10. Its authors publish no checksum. That of GitHub's archive, and that of the
# recordings in it, one after the other by their names.
ARCHIVE = "v1.0.10.zip"
CHECKSUM = "c680098f5d2355ba7cc4bd8b0ca9e0a24c00ebe3b4c552208889a4d28d4fbc2b"
CONTENT = "ddb17656a0bca4c5ddace082be188ca630516dc2ef1110afe3c4e9cc71173de4"
MIRRORS = ("https://github.com/Jakobovski/free-spoken-digit-dataset/archive/refs/tags/",)


@from_no_path
def spoken_digits(*, held_out: str | None = None) -> tuple[Utterances, Utterances]:
    """Return the spoken digits, 2,700 recordings to train with and 300 to test with.

    Each item is a sound, its samples (T) from -1 to 1, float32, at 8,000 a second, and its digit;
    `.speakers` has who speaks. Indices 0 to 4 of each digit and speaker are the test set.
    held_out: a speaker, all of whose recordings are the test set, and those of all others the
    training set.

    Looked for in the folder that MINIFP_DATA names, in `fsdd` and in `recordings` inside it: WAV
    files, or recordings.tar.xz with them, which is read as it lies; there may be fewer. Then in the
    user's cache; then downloaded (16 MB, with known checksums). Raises DataError where they are
    damaged or cannot be had, and ArgumentError for a speaker who is not there.
    """
    contents = recordings()
    matches = filter(None, map(NAME.fullmatch, contents))
    rows = sorted((int(m[1]), m[2], int(m[3]), m[0]) for m in matches)
    speakers = sorted({speaker for _, speaker, _, _ in rows})
    if held_out is not None and held_out not in speakers:
        expected = f"expected one of {', '.join(speakers)}"
        raise ArgumentError(f"spoken_digits: held_out={held_out!r}: {expected}")
    parts: dict[str, list] = {"train": [], "test": []}
    for row in rows:
        _, speaker, index, _ = row
        is_tested = index < TESTED if held_out is None else speaker == held_out
        parts["test" if is_tested else "train"].append(row)
    apart = "" if held_out is None else f", {held_out} apart"
    train, test = (
        of_recordings(part, rows, contents, f"spoken digits{apart}, {part}")
        for part, rows in parts.items()
    )
    return train, test


def of_recordings(part, rows, contents, name) -> Utterances:
    """The data set of these rows (digit, speaker, index, file name). Raises DataError for none."""
    if not rows:
        raise DataError(f"spoken_digits: no recording to {part} with: download them again")
    digits, speakers, _, names = zip(*rows)
    sounds = [samples_of(file, contents[file]) for file in names]
    settings = {"name": name, "classes": TEN, "rate": RATE, "speakers": speakers}
    return Utterances(sounds, np.array(digits), **settings)


def samples_of(name: str, content: bytes) -> np.ndarray:
    """The samples of one recording. Raises DataError for another kind of sound."""
    try:
        channels, rate = read_wav(content)
    except DataError as error:
        raise DataError(f"spoken_digits: {name}: {error}") from error
    if rate != RATE or len(channels) != 1 or not channels.size:
        raise DataError(
            f"spoken_digits: {name} has {channels.shape[1]} samples in {len(channels)} channels, "
            f"{rate} a second: expected one channel, {RATE} a second. Download it again"
        )
    return np.ascontiguousarray(channels[0])


# ---- where they are ------------------------------------------------------------------------------


def recordings() -> dict[str, bytes]:
    """What is in each recording, by its file name: the user's own, or downloaded."""
    place = local()
    if place is not None:
        return from_folder(place) if place.is_dir() else from_archive(place)
    path = downloads.archive(DATASET, ARCHIVE, CHECKSUM, MIRRORS, [PACKED])
    contents = from_archive(path)
    digest = hashlib.sha256(b"".join(contents[name] for name in sorted(contents))).hexdigest()
    if digest != CONTENT:
        raise DataError(
            f"spoken_digits: {path} has other recordings than release 1.0.10: remove it, and try "
            "again"
        )
    return contents


def local() -> Path | None:
    """The folder with recordings, or the archive, that MINIFP_DATA leads to; None where none
    does."""
    for place in files.places(DATASET, inside=[FOLDER]):
        if (place / PACKED).is_file():
            return place / PACKED
        if place.is_dir() and any(NAME.fullmatch(path.name) for path in place.glob("*.wav")):
            return place
    return None


def from_folder(folder: Path) -> dict[str, bytes]:
    """The recordings of a folder, and no other file there."""
    return {
        path.name: untrusted.content(path)
        for path in sorted(folder.glob("*.wav"))
        if NAME.fullmatch(path.name)
    }


def from_archive(path: Path) -> dict[str, bytes]:
    """The recordings of an archive, of which nothing is unpacked. Raises DataError."""
    try:
        with ExitStack() as stack:
            files = archives.opened(path, re.compile(rf"(?:.*/)?({NAME.pattern})"), stack)
            contents = {name: open_it().read(LARGEST + 1) for name, open_it in files.items()}
    except archives.DAMAGED as error:
        if isinstance(error, DataError):
            raise
        raise damaged(path, error) from error
    if not contents:
        raise damaged(path, "it holds no file called as {digit}_{speaker}_{index}.wav")
    for name, content in contents.items():
        if len(content) > LARGEST:
            raise damaged(path, f"{name} is too long: expected at most {LARGEST} bytes")
    return contents


def damaged(path, error):
    """The error of an archive that cannot be used."""
    return DataError(f"spoken_digits: {path} cannot be read: {error}. Get it again")
