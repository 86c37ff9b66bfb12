"""Files out of an archive that lies somewhere, unpacked once into the user's cache."""

import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from lzma import LZMAError
from pathlib import Path

from minifp.data import downloads
from minifp.errors import DataError

MOST, LARGEST, TOTAL = 10_000, 2**24, 2**28  # files of an archive; bytes of one, and of all
DAMAGED = (OSError, EOFError, LookupError, ValueError, tarfile.TarError, zipfile.BadZipFile)
DAMAGED += (zlib.error, LZMAError, RuntimeError, NotImplementedError)  # zipfile's, of what it knows


def kept(dataset: str, checksum: str) -> Path:
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


def unpacked(dataset: str, archive: Path, wanted: str, checksum: str | None = None) -> Path:
    """The folder in the user's cache with the files of an archive (.zip, or a compressed .tar).

    wanted: a regular expression for the names of files in it, whose first group is their name in
    the folder; others are left. checksum: its SHA-256, where that is known. What is there already,
    as it was unpacked, is not unpacked again. Raises DataError where the archive is damaged, has
    no such file, or the cache cannot be written.
    """
    folder = kept(dataset, checksum or downloads.sha256(archive))
    if downloads.is_whole(folder, None):
        return folder
    try:
        with ExitStack() as stack:
            files = opened(archive, re.compile(wanted), stack)
            if files:
                downloads.filled(folder, files, lambda aside: write(files, aside))
                return folder
    except DAMAGED as error:
        raise DataError(
            f"{dataset}: {str(archive)!r} could not be unpacked into {str(folder)!r}: {error}. "
            "Make room there, or download the archive again."
        ) from error
    raise DataError(f"{dataset}: {str(archive)!r} is another archive: it has no {wanted}")


def opened(archive: Path, wanted: re.Pattern, stack: ExitStack) -> dict[str, Callable]:
    """For each wanted file in an archive, by its name in the folder, a function that opens it."""
    files: dict[str, Callable] = {}
    if zipfile.is_zipfile(archive):
        zipped = stack.enter_context(zipfile.ZipFile(archive))
        sizes = {info.filename: info.file_size for info in zipped.infolist() if not info.is_dir()}
        openers: dict = dict.fromkeys(sizes, zipped.open)
    else:
        tar = stack.enter_context(tarfile.open(archive))
        sizes = {member.name: member.size for member in tar if member.isreg()}
        openers = dict.fromkeys(sizes, tar.extractfile)
    total = 0
    for name, size in sizes.items():
        if match := wanted.fullmatch(name):
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
