"""CIFAR-10 packed as JPEG pictures in two .npz files, a third as large as its publication.

Each of train.npz and test.npz has three arrays: `jpeg`, the bytes of all pictures one after the
other, uint8; `offset`, n + 1 integers, where picture i has the bytes offset[i] to offset[i + 1];
and `label`, n classes. JPEG is lossy: pixels differ a little from the published ones. Decoding
takes seconds, so what comes out is kept in the user's cache in the layout of the publication, under
a checksum of what it was made from; where that cannot be written, it is decoded each time.
"""

import hashlib
import io
from pathlib import Path

import numpy as np

from minifp.data import downloads, files
from minifp.data.pillow import need_pillow
from minifp.data.progress import with_bar
from minifp.errors import DataError
from minifp.runtime import untrusted

NAME = "CIFAR-10 (JPEG)"  # in reports: the pixels are not the published ones
NAMES = "airplane automobile bird cat deer dog frog horse ship truck".split()
PARTS = ("train.npz", "test.npz")
SHAPE = (32, 32)
LARGEST = 2**28  # bytes of the arrays of one file
FIELDS = ("jpeg", "offset", "label")


def local(dataset: str) -> list[Path] | None:
    """The two files in one of the places of a data set, or None."""
    for place in files.places(dataset):
        paths = [place / name for name in PARTS]
        if all(path.is_file() for path in paths):
            return paths
    return None


def records(publication, paths: list[Path]) -> list[np.ndarray]:
    """The records of the pictures to train and to test with, as in the publication.

    Raises DataError where a file is damaged, or no Pillow is there to decode it.
    """
    names = [*publication.train, *publication.test]
    cache = downloads.cache(publication.dataset)
    if cache is None:
        return [decoded(path) for path in paths]
    digest = hashlib.sha256(" ".join(map(downloads.sha256, paths)).encode()).hexdigest()
    folder = cache / f"from-jpeg-{digest[:16]}"
    if downloads.is_whole(folder, names):
        read = {name: np.fromfile(folder / name, np.uint8).reshape(-1, 3073) for name in names}
        parts = publication.train, publication.test
        return [np.concatenate([read[name] for name in part]) for part in parts]
    arrays = [decoded(path) for path in paths]
    parts = [*np.array_split(arrays[0], len(publication.train)), arrays[1]]

    def write(aside):
        for name, part in zip(names, parts):
            part.tofile(aside / name)

    try:
        downloads.filled(folder, names, write)
    except OSError:
        pass  # read-only, or full: it is only slower
    return arrays


def decoded(path: Path) -> np.ndarray:
    """The records (n, 3073), uint8, of a packed file."""
    jpeg, offset, label = unpack(path)
    image = need_pillow(f"{path} holds JPEG pictures")
    out = np.empty((len(label), 1 + 3 * SHAPE[0] * SHAPE[1]), np.uint8)
    out[:, 0] = label
    pictures = out[:, 1:].reshape(-1, 3, *SHAPE)
    for i in with_bar(range(len(label)), f"decoding {path.name}"):
        try:
            with image.open(io.BytesIO(jpeg[offset[i] : offset[i + 1]]), formats=["JPEG"]) as one:
                pixels = np.asarray(one.convert("RGB"))
        except MemoryError:
            raise
        except Exception as error:  # Pillow has one for each way in which a file can be damaged
            raise DataError(f"{path}: picture {i} cannot be read: {error}") from error
        if pixels.shape[:2] != SHAPE:
            raise DataError(f"{path}: picture {i} has {pixels.shape[:2]} pixels, expected {SHAPE}")
        pictures[i] = pixels.transpose(2, 0, 1)
    return out


def unpack(path: Path) -> tuple[bytes, list, np.ndarray]:
    """The bytes of all pictures, their bounds and labels. Raises DataError for other contents."""
    try:
        stored = untrusted.arrays_of(untrusted.content(path, LARGEST), path, LARGEST)
        jpeg, offset, label = (stored[name] for name in FIELDS)
    except MemoryError:
        raise
    except Exception as error:  # NumPy and zipfile have one for each way to be damaged
        raise DataError(
            f"{path}: expected the arrays {', '.join(FIELDS)} of packed pictures: {error}. It is "
            "damaged, or another file: download it again, or move it out of the cifar10 folder."
        ) from error
    kinds = [a.dtype.kind for a in (offset, label)]
    if jpeg.dtype != np.uint8 or jpeg.ndim != 1 or {*kinds} - {*"iu"}:
        raise DataError(f"{path}: expected bytes in jpeg, integers in offset and label")
    bounds = offset.astype(np.int64) if offset.shape == (len(label) + 1,) else np.array([-1])
    if label.ndim != 1 or bounds[0] != 0 or bounds[-1] != len(jpeg) or (np.diff(bounds) < 0).any():
        raise DataError(
            f"{path}: its {label.size} labels, {offset.size} bounds and {jpeg.size} bytes do not "
            "fit together: expected one more bound than labels, from 0 to the number of bytes"
        )
    if len(label) and not 0 <= label.min() <= label.max() < len(NAMES):
        raise DataError(f"{path}: labels from {label.min()} to {label.max()}, expected 0 to 9")
    return jpeg.tobytes(), bounds.tolist(), label
