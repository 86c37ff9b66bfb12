"""Where the files of data sets lie: inside the package, in a folder of the user, in a cache.

The order for what is not bundled: the folder that MINIFP_DATA names, or in it a folder with the
data set's name; then the user's cache, whose checksums are checked at every use; then a download
into that cache.
"""

import gzip
import hashlib
import io
import math
import os
import shutil
import tarfile
import tempfile
import zlib
from importlib import resources
from pathlib import Path

import numpy as np

from minifp.errors import DataError

IDX_BYTES = 0x08  # the third byte of an IDX file: its numbers are unsigned bytes


def bundled(name: str) -> bytes:
    """Return the contents of a file that comes with minifp."""
    return resources.files("minifp.data.bundled").joinpath(name).read_bytes()


def bundled_text(name: str) -> str:
    """Return a compressed text that comes with minifp. Raises DataError where it is damaged."""
    try:
        return gzip.decompress(bundled(name)).decode("ascii")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise _damaged(name, error) from error


def bundled_arrays(name: str, **shapes) -> list:
    """Return the arrays of an .npz file that comes with minifp, in the order of `shapes`.

    Raises DataError where it is damaged or an array has not the shape that is given for its name.
    """
    try:
        with np.load(io.BytesIO(bundled(name)), allow_pickle=False) as stored:
            arrays = [stored[field] for field in shapes]
    except Exception as error:  # NumPy and zipfile have one for each way to be damaged
        raise _damaged(name, error) from error
    found = {field: array.shape for field, array in zip(shapes, arrays)}
    if found != shapes or any(array.dtype != np.uint8 for array in arrays):
        raise _damaged(name, f"expected bytes in the shapes {shapes}, got {found}")
    return arrays


def _damaged(name, error):
    return DataError(f"{name}, which comes with minifp, is damaged: {error}. Install minifp again.")


def local(dataset: str, names, inside=()) -> dict | None:
    """Find the files in the folder that MINIFP_DATA names, compressed (.gz) or not.

    inside: further folders in which they may lie, in that one or in the data set's inside it.
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
    own = (folder, folder / dataset)
    for place in (*own, *(place / name for place in own for name in inside)):
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
    by_hand = _by_hand([f"{name}.gz" for name in checksums])
    pooch = _pooch(dataset, by_hand)
    folder = Path(pooch.os_cache("minifp")) / dataset
    return {
        name: _retrieve(pooch, dataset, folder, f"{name}.gz", checksum, mirrors, by_hand)
        for name, checksum in checksums.items()
    }


def unpacked(dataset: str, archive: str, checksum: str, inside: str, sums: dict, mirrors) -> dict:
    """Return the paths of files from a compressed tar archive in the user's cache, by name.

    What is missing or damaged is unpacked again, from an archive that is in the cache or is
    downloaded into it, and removed afterwards. Nothing but these files is taken out of it. checksum
    is the archive's SHA-256; `inside` the folder in it and in the cache; sums the files' published
    MD5, which here tell damage and nothing else. Raises DataError as `cached` does.
    """
    by_hand = _by_hand(sums)
    pooch = _pooch(dataset, by_hand)
    folder = Path(pooch.os_cache("minifp")) / dataset
    paths = {name: folder / inside / name for name in sums}
    if not all(path.is_file() and _md5(path) == sums[name] for name, path in paths.items()):
        packed = _retrieve(pooch, dataset, folder, archive, checksum, mirrors, by_hand)
        try:
            _unpack(packed, folder / inside, sums)
        except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error) as error:
            raise DataError(
                f"{dataset}: {str(packed)!r} could not be unpacked: {error}. Make room or remove "
                f"it, and try again. {by_hand}"
            ) from error
        packed.unlink()
    return paths


def _unpack(packed, folder, sums):
    # Aside first: whoever reads the folder meanwhile finds whole files, old or new.
    with tempfile.TemporaryDirectory(dir=packed.parent) as aside, tarfile.open(packed) as tar:
        for name, md5 in sums.items():
            member, path = tar.getmember(f"{folder.name}/{name}"), Path(aside, name)
            inside = tar.extractfile(member) if member.isreg() else None
            if inside is None:
                raise tarfile.TarError(f"{member.name} is no file")
            with inside as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target)
            if _md5(path) != md5:
                raise tarfile.TarError(f"{member.name} has another checksum")
        folder.mkdir(exist_ok=True)
        for name in sums:
            os.replace(Path(aside, name), folder / name)


def _md5(path):
    total = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while part := file.read(2**20):
            total.update(part)
    return total.hexdigest()


def _by_hand(names):
    return (
        f"Or put {', '.join(names)} into a folder of your own and set MINIFP_DATA to that folder."
    )


def _pooch(dataset, by_hand):
    try:
        import pooch
    except ImportError as error:
        raise DataError(
            f"{dataset} is not bundled, and pooch, which downloads it, is not installed: "
            f"pip install pooch. {by_hand}"
        ) from error
    return pooch


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


def read(path: Path, at_most: int) -> bytes:
    """Return what a file holds, decompressed if its name ends in .gz, cut after at_most + 1 bytes.

    So a longer one is seen to be longer and yet fills no memory. Raises DataError where it cannot
    be read or decompressed.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as file:
            return file.read(at_most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be read: {error}. It is damaged or cut off: get it again."
        ) from error


def read_idx(path: Path, shape) -> np.ndarray:
    """Read an IDX file of unsigned bytes, compressed if its name ends in .gz.

    The format is LeCun's: two zero bytes, 8 for unsigned bytes, the number of dimensions, each
    dimension as 32 bits (big end first), then the numbers. Raises DataError where the file is
    damaged or cut off, or its shape is another.
    """
    path, head = Path(path), 4 + 4 * len(shape)
    size = head + math.prod(shape)
    content = read(path, size)
    if content[:4] != bytes([0, 0, IDX_BYTES, len(shape)]):
        raise DataError(
            f"{path} is no IDX file of bytes with {len(shape)} dimensions: it begins with "
            f"{content[:4].hex(' ') or 'nothing'}, expected 00 00 08 {len(shape):02x}."
        )
    found = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, head, 4))
    if found != tuple(shape) or len(content) != size:
        more = " or more" * (len(content) > size)
        raise DataError(
            f"{path}: expected shape {tuple(shape)} in {size} bytes, got {found} in {len(content)} "
            f"bytes{more}. It is cut off or another file: get it again."
        )
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)
