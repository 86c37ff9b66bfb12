"""Where the files of data sets lie, in the package or in a folder of the user, and reading them.

The order for what is not bundled: the folder that MINIFP_DATA names, or in it a folder with the
data set's name; then the user's cache, whose checksums are checked at every use; then a download
into that cache (see `downloads`).
"""

import gzip
import io
import math
import os
import zlib
from importlib import resources
from pathlib import Path

import numpy as np

from minifp.errors import DataError

DAMAGED = "It is damaged or cut off: download it again."
LARGEST = 2**28  # bytes of a file whose size nobody has said
IDX_BYTES = 0x08  # the third byte of an IDX file: its numbers are unsigned bytes
NAMED = {"fashion-mnist"}  # its files are called as another's: only a folder of this name has them


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
    except MemoryError:
        raise
    except Exception as error:  # NumPy and zipfile have one for each way to be damaged
        raise _damaged(name, error) from error
    stored_shapes = {field: array.shape for field, array in zip(shapes, arrays)}
    if stored_shapes != shapes or any(array.dtype != np.uint8 for array in arrays):
        raise _damaged(name, f"expected bytes in the shapes {shapes}, got {stored_shapes}")
    return arrays


def _damaged(name, error):
    return DataError(f"{name}, a part of minifp, is damaged: {error}. Install minifp again.")


def places(dataset: str, inside=()) -> list[Path]:
    """The folders in which a data set's files may lie: the one that MINIFP_DATA names, and more.

    That is, in it a folder with the data set's name, and in either of them those in `inside`. None
    where the variable is not set. Raises DataError where it names no folder.
    """
    text = os.environ.get("MINIFP_DATA")
    if not text:
        return []
    folder = Path(text).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"{dataset}: MINIFP_DATA names {text!r}, which is not a folder. Set it to the folder "
            f"with {dataset}'s files (or with a folder {dataset!r}), or unset it to download them."
        )
    name = folder.resolve().name
    is_anothers = name != dataset and bool(NAMED & {name, dataset})
    own = [folder, folder / dataset][is_anothers:]
    return [*own, *(place / more for place in own for more in inside)]


def local(dataset: str, names, inside=()) -> dict | None:
    """Find the files in one of the `places`, compressed (.gz) or not.

    Returns their paths by name, or None where no place has any of them. Raises DataError where one
    has some of the files and not all, or MINIFP_DATA names no folder.
    """
    for place in places(dataset, inside):
        paths = paths_in(place, names)
        missing = [name for name in names if name not in paths]
        if not missing:
            return paths
        if paths:
            raise DataError(
                f"{dataset}: the folder {str(place)!r}, from MINIFP_DATA, lacks "
                f"{', '.join(missing)} (each may end in .gz). Add these files, or unset "
                "MINIFP_DATA to download the data set."
            )
    return None


def paths_in(folder: Path, names) -> dict[str, Path]:
    """The paths of those of these files that a folder has, compressed (.gz) or not, by name."""
    both = [(name, folder / called) for name in names for called in (f"{name}.gz", name)]
    return {name: path for name, path in both if path.is_file()}


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
        raise DataError(f"{path} cannot be read: {error}. {DAMAGED}") from error


def read_idx(path: Path, shape) -> np.ndarray:
    """Read an IDX file of unsigned bytes, compressed if its name ends in .gz.

    The format is LeCun's: two zero bytes, 8 for unsigned bytes, the number of dimensions, each
    dimension as 32 bits (big end first), then the numbers. shape: None in it stands for any size.
    Raises DataError where the file is damaged or cut off, or its shape is another.
    """
    path, head = Path(path), 4 + 4 * len(shape)
    content = read(path, LARGEST if None in shape else head + math.prod(shape))
    if content[:4] != bytes([0, 0, IDX_BYTES, len(shape)]):
        raise DataError(
            f"{path} is not an IDX file of bytes with {len(shape)} dimensions: it begins with "
            f"{content[:4].hex(' ') or 'nothing'}, expected 00 00 08 {len(shape):02x}."
        )
    sizes = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, head, 4))
    shape = tuple(n if expected is None else expected for n, expected in zip(sizes, shape))
    size = head + math.prod(shape)
    if sizes != shape or len(content) != size:
        more = " or more" * (len(content) > size)
        raise DataError(
            f"{path}: expected shape {shape} in {size} bytes, got {sizes} in {len(content)} "
            f"bytes{more}. It is cut off, or another file: download it again."
        )
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)
