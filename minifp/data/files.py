"""Where the files of data sets lie: inside the package, in a folder of the user, in a cache.

The order for what is not bundled: the folder that MINIFP_DATA names, or in it a folder with the
data set's name; then the user's cache, whose checksums are checked at every use; then a download
into that cache.
"""

import gzip
import os
import zlib
from importlib import resources
from pathlib import Path

import numpy as np

from minifp.errors import DataError

IDX_BYTES = 0x08  # the third byte of an IDX file: its numbers are unsigned bytes


def bundled(name: str) -> bytes:
    """Return the contents of a file that comes with minifp."""
    return resources.files("minifp.data.bundled").joinpath(name).read_bytes()


def local(dataset: str, names) -> dict | None:
    """Find the files in the folder that MINIFP_DATA names, compressed (.gz) or not.

    Returns their paths by name, or None where the variable is not set or the folder has none of
    them. Raises DataError where there is no such folder, or it has some of the files and not all.
    """
    text = os.environ.get("MINIFP_DATA")
    if not text:
        return None
    folder = Path(text).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"{dataset}: MINIFP_DATA names {text!r}, which is no folder. Set it to the folder that "
            f"holds {dataset}'s files (or a folder {dataset!r} with them), or unset it to download "
            "them."
        )
    for place in (folder, folder / dataset):
        paths = {name: path for name in names for path in _either(place / name)}
        missing = [name for name in names if name not in paths]
        if not missing:
            return paths
        if paths:
            raise DataError(
                f"{dataset}: the folder {str(place)!r}, from MINIFP_DATA, lacks "
                f"{', '.join(missing)} (each may end in .gz). Add what is missing, or unset "
                "MINIFP_DATA to download the data set."
            )
    return None


def _either(path):
    both = (path.with_name(path.name + ".gz"), path)
    return [p for p in both if p.is_file()]


def cached(dataset: str, checksums: dict, mirrors) -> dict:
    """Return the paths of files in the user's cache by name, downloading what is not there yet.

    The files are compressed; their names are given without the .gz. checksums: for each name the
    SHA-256 of the compressed file. mirrors: addresses that end in "/", tried in order. Shows
    progress. Raises DataError where pooch is missing, every mirror fails, or what arrives has
    another checksum (nothing of it is kept).
    """
    names = ", ".join(f"{name}.gz" for name in checksums)
    by_hand = f"Or put {names} into a folder of your own and set MINIFP_DATA to that folder."
    try:
        import pooch
    except ImportError as error:
        raise DataError(
            f"{dataset} is not bundled, and pooch, which downloads it, is not installed: "
            f"pip install pooch. {by_hand}"
        ) from error
    folder = Path(pooch.os_cache("minifp")) / dataset
    return {
        name: _retrieve(pooch, dataset, folder, f"{name}.gz", checksum, mirrors, by_hand)
        for name, checksum in checksums.items()
    }


def _retrieve(pooch, dataset, folder, name, checksum, mirrors, by_hand):
    failures = []
    for mirror in mirrors:
        try:
            known = f"sha256:{checksum}"
            return Path(pooch.retrieve(mirror + name, known, name, folder, progressbar=True))
        # a wrong checksum is a ValueError, everything that goes wrong on the way an OSError
        except (OSError, ValueError) as error:
            failures.append(f"{mirror}: {error}")
    raise DataError(
        f"{dataset}: {name} could not be downloaded into {str(folder)!r}:\n  "
        + "\n  ".join(failures)
        + f"\nTry again when there is a connection. {by_hand}"
    )


def read_idx(path: Path, shape) -> np.ndarray:
    """Read an IDX file of unsigned bytes, compressed if its name ends in .gz.

    The format is LeCun's: two zero bytes, 8 for unsigned bytes, the number of dimensions, each
    dimension as 32 bits (big end first), then the numbers. Raises DataError where the file is
    damaged or cut off, or its shape is another.
    """
    path, head = Path(path), 4 + 4 * len(shape)
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be read: {error}. It is damaged or cut off: get it again."
        ) from error
    if content[:4] != bytes([0, 0, IDX_BYTES, len(shape)]):
        raise DataError(
            f"{path} is no IDX file of bytes with {len(shape)} dimensions: it begins with "
            f"{content[:4].hex(' ') or 'nothing'}, expected 00 00 08 {len(shape):02x}."
        )
    found = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, head, 4))
    size = head + int(np.prod(shape))
    if found != tuple(shape) or len(content) != size:
        raise DataError(
            f"{path}: expected shape {tuple(shape)} in {size} bytes, got {found} in {len(content)} "
            "bytes. It is cut off or another file: get it again."
        )
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)
