"""The user's cache: what is downloaded into it, unpacked or decoded, and checked at every use.

Who publishes checksums of files is asked for them (SHA-256, of what was downloaded). Files that are
made here, out of an archive or of packed pictures, get a list of theirs beside them, in SHA256SUMS
(as `sha256sum` writes it), so that a damaged one is seen and made again.
"""

import hashlib
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path

from minifp.data import files
from minifp.errors import DataError
from minifp.runtime import locks
from minifp.runtime.browser import IN_BROWSER

SUMS = "SHA256SUMS"
plans: ContextVar[bool] = ContextVar("plans", default=False)


class NotHere(DataError):
    """What is planned with is neither in a folder of the user nor in the cache."""


@contextmanager
def planned() -> Iterator[None]:
    """Within, or as a decorator, nothing is downloaded: what is not here raises NotHere. Only
    `cifar10` then has a stand-in."""
    before = plans.set(True)
    try:
        yield
    finally:
        plans.reset(before)


def cached(dataset: str, checksums: dict, mirrors) -> dict:
    """Return the paths of files in the user's cache by name, downloading what is not there yet.

    The files are compressed; their names are given without the .gz. checksums: for each name the
    SHA-256 of the compressed file. mirrors: addresses that end in "/", tried in order. Shows
    progress. Raises DataError where pooch is missing, every mirror fails, or what arrives has
    another checksum (nothing of it is kept).
    """
    cache = Cache(dataset, [f"{name}.gz" for name in checksums], mirrors)
    return {n: cache.retrieve(f"{n}.gz", checksum) for n, checksum in checksums.items()}


def local_or_cached(dataset: str, checksums: dict, mirrors) -> dict:
    """The same of files that may also lie where MINIFP_DATA says (see `files.local`)."""
    paths = files.local(dataset, checksums)
    return cached(dataset, checksums, mirrors) if paths is None else paths


def archive(dataset: str, name: str, checksum: str, mirrors, instead) -> Path:
    """Return the path of an archive in the user's cache, downloaded if it is not there yet.

    instead: the names of the files that people may put into a folder of their own. Raises DataError
    as `cached` does, and NotHere where only a plan is made.
    """
    return Cache(dataset, instead, mirrors).retrieve(name, checksum)


def unpacked(dataset: str, name: str, checksum: str, inside: str, names, mirrors) -> dict:
    """Return the paths of files from a compressed tar archive in the user's cache, by name.

    What is missing or damaged is unpacked again, from an archive that is in the cache or is
    downloaded into it, and removed afterwards. Nothing but these files is taken out of it. checksum
    is the archive's SHA-256; `inside` the folder in it and in the cache. Raises DataError as
    `cached` does.
    """
    cache = Cache(dataset, names, mirrors)
    folder = cache.folder
    with locks.alone(folder / locks.NAME, f"another program unpacks {dataset}"):
        if not is_whole(folder / inside, names):
            packed = cache.retrieve(name, checksum)
            try:
                filled(folder / inside, names, lambda aside: _unpack(packed, inside, names, aside))
            except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error) as error:
                raise DataError(
                    f"{dataset}: {str(packed)!r} could not be unpacked: {error}. Make room or "
                    f"remove it, and try again. {cache.by_hand}"
                ) from error
            packed.unlink()
    return {name: folder / inside / name for name in names}


def _unpack(packed, inside, names, aside):
    with tarfile.open(packed) as tar:
        for name in names:
            member = tar.getmember(f"{inside}/{name}")
            content = tar.extractfile(member) if member.isreg() else None
            if content is None:
                raise tarfile.TarError(f"{member.name} is not a file")
            with content as source, open(aside / name, "wb") as target:
                shutil.copyfileobj(source, target)


# ---- files that are made here -------------------------------------------------------------------


def cache(dataset: str) -> Path | None:
    """The data set's folder in the user's cache, or None where there is no pooch to say which."""
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("minifp")) / dataset


def filled(folder: Path, names, fill: Callable[[Path], None]) -> None:
    """Make the files of a folder anew: `fill(aside)` writes them into another one, first.

    Whoever reads the folder meanwhile finds whole files, old or new. Raises OSError where it cannot
    be written to.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as text:
        aside = Path(text)
        fill(aside)
        lines = "".join(f"{sha256(aside / name)}  {name}\n" for name in names)
        (aside / SUMS).write_text(lines, encoding="utf-8")
        folder.mkdir(exist_ok=True)
        for name in (*names, SUMS):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(aside / name, folder / name)


def is_whole(folder: Path, names) -> bool:
    """Whether a folder has these files, each with the checksum of when it was made.

    names: None for all that were made, which are some.
    """
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
        sums = dict(line.split("  ", 1)[::-1] for line in lines)
        names = sums if names is None else names
        return bool(sums) and all(sha256(folder / name) == sums.get(name) for name in names)
    except (OSError, ValueError):
        return False


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(2**20):
            total.update(part)
    return total.hexdigest()


# ---- pooch --------------------------------------------------------------------------------------


class Cache:
    """The folder of a data set in the user's cache, and its mirrors: addresses that end in "/".

    names: of the files that people may put into a folder of their own. Raises DataError where
    nothing can be downloaded.
    """

    def __init__(self, dataset: str, names, mirrors) -> None:
        self.dataset, self.mirrors = dataset, mirrors
        own = f"Or put {', '.join(names)} into a folder of your own"
        self.by_hand = f"{own} and set MINIFP_DATA to that folder."
        if IN_BROWSER:
            raise DataError(
                f"{dataset} is not bundled, and a web page cannot download it: fp.data.digits() is "
                f"bundled. {self.by_hand}"
            )
        folder = cache(dataset)
        if folder is None:
            raise DataError(
                f"{dataset} is not bundled, and downloading it needs pooch: pip install pooch. "
                f"{self.by_hand}"
            )
        self.folder = folder

    def retrieve(self, name: str, checksum: str) -> Path:
        """The path of a file, downloaded if it is not there. Raises DataError, and NotHere where
        only a plan is made."""
        if plans.get() and not (self.folder / name).is_file():
            raise NotHere(
                f"{self.dataset} is not here, and a plan downloads nothing: read it once. "
                f"{self.by_hand}"
            )
        failures = []
        for mirror in self.mirrors:
            known = f"sha256:{checksum}", name, self.folder
            try:
                retrieve = import_module("pooch").retrieve
                return Path(retrieve(mirror + name, *known, progressbar=True))
            # a wrong checksum is a ValueError, everything that goes wrong on the way an OSError
            except (OSError, ValueError) as error:
                failures.append(f"{mirror}: {error}")
        raise DataError(
            f"{self.dataset}: {name} could not be downloaded into {str(self.folder)!r}:\n  "
            + "\n  ".join(failures)
            + f"\nTry again when there is a connection. {self.by_hand}"
        )
