"""Files out of an archive that lies somewhere, unpacked once into the user's cache."""

import bz2
import gzip
import lzma
import math
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from minifp.data import downloads
from minifp.errors import DataError
from minifp.runtime import untrusted

MOST, LARGEST, TOTAL = 10_000, 2**24, 2**28  # files of an archive; bytes of one, and of all
DAMAGED = (OSError, EOFError, LookupError, ValueError, tarfile.TarError, zipfile.BadZipFile)
DAMAGED += (zlib.error, lzma.LZMAError, RuntimeError, NotImplementedError)  # the last two: zip


def folder_in_cache(dataset: str, checksum: str) -> Path:
    """The folder in the user's cache for the files of the archive with this SHA-256.

    Raises DataError where no library is there to say where the cache is.
    """
    cache = downloads.cache(dataset)
    if cache is None:
        raise DataError(
            f"{dataset}: pooch is not installed, which finds the cache: pip install pooch. Or "
            "unpack the archive, and set MINIFP_DATA to its folder."
        )
    return cache / f"from-{checksum[:16]}"


def unpacked(dataset: str, archive: Path, pattern: str, checksum: str | None = None) -> Path:
    """The folder in the user's cache with the files of an archive (.zip, or a compressed .tar).

    pattern: a regular expression for the names of files in it, whose first group is their name in
    the folder; others are left. checksum: its SHA-256, where that is known. What is there already,
    as it was unpacked, is not unpacked again. Raises DataError where the archive is damaged, has
    no such file, or the cache cannot be written.
    """
    folder = folder_in_cache(dataset, checksum or downloads.sha256(archive))
    if downloads.is_whole(folder, None):
        return folder
    try:
        with ExitStack() as stack:
            files = opened(archive, re.compile(pattern), stack)
            if files:
                downloads.filled(folder, files, lambda aside: write(files, aside))
                return folder
    except DAMAGED as error:
        raise DataError(
            f"{dataset}: {str(archive)!r} could not be unpacked into {str(folder)!r}: {error}. "
            "Make room there, or download the archive again."
        ) from error
    raise DataError(f"{dataset}: {str(archive)!r} is another archive: it has no {pattern}")


def opened(archive: Path, pattern: re.Pattern, stack: ExitStack) -> dict[str, Callable]:
    """For each file of a pattern in an archive, by its name in the folder, what opens it."""
    files: dict[str, Callable] = {}
    if zipfile.is_zipfile(archive):
        zipped = stack.enter_context(zipfile.ZipFile(archive))
        sizes = {info.filename: info.file_size for info in zipped.infolist() if not info.is_dir()}
        openers: dict = dict.fromkeys(sizes, zipped.open)
    else:
        tar = stack.enter_context(tar_of(archive))
        sizes = {member.name: member.size for member in tar if member.isreg()}
        openers = dict.fromkeys(sizes, tar.extractfile)
    total = 0
    for name, size in sizes.items():
        if match := pattern.fullmatch(name):
            total += size
            if size > LARGEST or len(files) >= MOST or total > TOTAL:
                raise ValueError(
                    f"{name} has {size} bytes, and is file {len(files) + 1}, with {total} bytes in "
                    "all: too many"
                )
            files[match[1]] = lambda name=name: openers[name](name)
    return files


def write(files: dict[str, Callable], folder: Path) -> None:
    """Write files into a folder."""
    for name, open_it in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with open_it() as source, open(folder / name, "wb") as target:
            shutil.copyfileobj(source, target)


# ---- bounded -------------------------------------------------------------------------------------


class Limited:
    """A stream of bytes, which refuses to give very many at once, or in all."""

    def __init__(self, file: Any, in_all: int = 2**35, at_once: int = untrusted.LARGEST) -> None:
        self.file, self.in_all, self.at_once = file, in_all, at_once

    def read(self, count: int) -> bytes:
        """The next bytes. Raises ValueError for too many."""
        self.check(self.tell() + count if 0 <= count <= self.at_once else math.inf)
        return self.file.read(count)

    def seek(self, place: int) -> int:
        """Go on at another place. Raises ValueError for one too far away."""
        self.check(place)
        return self.file.seek(place)

    def tell(self) -> int:
        """Where it is."""
        return self.file.tell()

    def check(self, place: float) -> None:
        """Raise ValueError for a place that is too far away."""
        if place > self.in_all:
            raise ValueError(f"it has more than {self.in_all:,} bytes, or a part is too large")


@contextmanager
def tar_of(path: Path) -> Iterator[tarfile.TarFile]:
    """An archive, compressed or not. Raises what tarfile and the decompressors raise, ValueError
    for one that unpacks into very many bytes, and DataError for what is no ordinary file."""
    untrusted.check_ordinary(path)
    with open(path, "rb") as file:
        head = file.read(6)
    opener = next((o for magic, o in COMPRESSED.items() if head.startswith(magic)), open)
    with opener(path, "rb") as plain:
        limited: Any = Limited(plain)
        with tarfile.open(fileobj=limited, mode="r:") as tar:
            yield tar


COMPRESSED: dict[bytes, Callable]
COMPRESSED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
