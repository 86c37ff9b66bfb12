"""CIFAR-10 and CIFAR-100: small colour pictures, from their publications as plain bytes.

A file is a row of records: the labels, a byte each (CIFAR-10: one; CIFAR-100: the coarse and the
fine one), and 3,072 bytes of pixels, red, green and blue, each row by row. The names of classes are
lines of a text beside them. Source: Krizhevsky, "Learning multiple layers of features from tiny
images", 2009, and https://www.cs.toronto.edu/~kriz/cifar.html.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from minifp.data import downloads, files, packed
from minifp.data.dataset import TensorDataset
from minifp.data.images import from_no_path
from minifp.data.pictures import Pictures, pixel_levels
from minifp.errors import ArgumentError, DataError

PIXELS = 3 * 32 * 32
LARGEST = 2**28  # bytes of one file; the canonical ones have up to 154 million


class Publication(NamedTuple):
    """Where the files of one of the two are, and what is in them."""

    name: str  # in messages and reports
    dataset: str  # the name of its folder
    archive: str
    checksum: str  # the archive's SHA-256
    folder: str  # in the archive
    train: list[str]
    test: list[str]
    labels: dict[str, int]  # for each byte of labels in a record: the text of names, how many
    pickled: tuple[str, str]  # the folder of the publication for Python, and a file in it

    @property
    def files(self):
        """The names of all that is read."""
        return [*self.train, *self.test, *self.labels]


# The author publishes MD5 sums of the archives, c32a1d4ab5d03f1284b67883e8d87530 and
# 03b5dce01913d631647c71ecec9e9cb8; the SHA-256 are those of TensorFlow Datasets. Of the files in
# them he publishes none.
MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)
CIFAR10 = Publication(
    name="CIFAR-10",
    dataset="cifar10",
    archive="cifar-10-binary.tar.gz",
    checksum="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    folder="cifar-10-batches-bin",
    train=[f"data_batch_{i}.bin" for i in range(1, 6)],
    test=["test_batch.bin"],
    labels={"batches.meta.txt": 10},
    pickled=("cifar-10-batches-py", "data_batch_1"),
)
CIFAR100 = Publication(
    name="CIFAR-100",
    dataset="cifar100",
    archive="cifar-100-binary.tar.gz",
    checksum="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    folder="cifar-100-binary",
    train=["train.bin"],
    test=["test.bin"],
    labels={"coarse_label_names.txt": 20, "fine_label_names.txt": 100},
    pickled=("cifar-100-python", "train"),
)
# Of the training pixels in [0, 1], for red, green and blue, as is customary.
CIFAR10_MEAN, CIFAR10_DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
CIFAR100_MEAN, CIFAR100_DEVIATION = (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)


@from_no_path
def cifar10(*, normalize: bool = True) -> tuple[TensorDataset, TensorDataset]:
    """Return CIFAR-10, 50,000 pictures to train with and 10,000 to test with.

    Each item is a picture (3, 32, 32), float32, channels in the order red, green, blue, and its
    class, int64; `.classes` names the ten. Pixels are (p / 255 - mean) / deviation of their
    channel, or p, 0 to 255, with normalize=False; they are kept as bytes, 184 MB in all.

    The files of its publication as plain bytes (data_batch_1.bin to data_batch_5.bin,
    test_batch.bin, batches.meta.txt) are looked for in the folder that MINIFP_DATA names or in
    cifar10 or cifar-10-batches-bin inside it, where they may hold fewer pictures. So are train.npz
    and test.npz, pictures packed as JPEG (`packed` says how), which Pillow decodes, once, into the
    user's cache: these are other pixels, and their sets are called "CIFAR-10 (JPEG)". Else the
    publication is looked for there, and then downloaded (170 MB; the archive's checksum is known,
    of its files the sizes and those of when it was unpacked). A plan, to which pixels are nothing,
    downloads nothing, and has as many black pictures. Raises DataError where files are damaged
    or incomplete, or cannot be had.
    """
    publication = CIFAR10
    paths = files.local(publication.dataset, publication.files, inside=[publication.folder])
    if paths is None and (jpegs := packed.local(publication.dataset)):
        arrays = packed.records(publication, jpegs)
        classes, publication = packed.NAMES, publication._replace(name=packed.NAME)
    else:
        try:
            arrays, [classes] = _read(publication, paths or _cached(publication))
        except downloads.NotHere:  # a plan asks how many pictures, not which
            arrays = [np.zeros((n, 1 + PIXELS), np.uint8) for n in (50_000, 10_000)]
            classes = packed.NAMES
            publication = publication._replace(name="A stand-in for CIFAR-10")
    levels = pixel_levels(CIFAR10_MEAN, CIFAR10_DEVIATION, normalize)
    return _parts(publication, arrays, 0, levels, classes)


@from_no_path
def cifar100(
    *, labels: str = "fine", normalize: bool = True
) -> tuple[TensorDataset, TensorDataset]:
    """Return CIFAR-100, 50,000 pictures to train with and 10,000 to test with.

    labels: "fine" for 100 classes, or "coarse" for the 20 groups that they belong to.

    Items are as those of `cifar10`, and the files are looked for in the same places: train.bin,
    test.bin, fine_label_names.txt, coarse_label_names.txt in the folder that MINIFP_DATA names, or
    in cifar100 or cifar-100-binary inside it; then in the user's cache; then they are downloaded
    (169 MB; the archive's checksum is known). Raises ArgumentError for other labels, and DataError
    where files are damaged, incomplete or cannot be had.
    """
    kinds = ["coarse", "fine"]
    if labels not in kinds:
        raise ArgumentError(f'cifar100: labels must be "fine" or "coarse", got {labels!r}')
    publication, which = CIFAR100, kinds.index(labels)
    paths = files.local(publication.dataset, publication.files, inside=[publication.folder])
    arrays, classes = _read(publication, paths or _cached(publication))
    levels = pixel_levels(CIFAR100_MEAN, CIFAR100_DEVIATION, normalize)
    return _parts(publication, arrays, which, levels, classes[which])


def _cached(publication):
    """The paths of the files in the cache, downloaded if need be."""
    folder, name = publication.pickled
    for place in files.places(publication.dataset, [folder]):
        if (place / name).is_file():
            raise DataError(
                f"{publication.dataset}: {str(place)!r}, from MINIFP_DATA, holds the Python "
                "version, whose files are pickles and can run code; minifp reads only the binary "
                f"version. Put the files of {publication.archive} there (from {MIRRORS[0]}), or "
                "unset MINIFP_DATA to download it."
            )
    archive = publication.archive, publication.checksum, publication.folder
    return downloads.unpacked(publication.dataset, *archive, publication.files, MIRRORS)


def _read(publication, paths):
    """The records of both parts, (n, labels + 3072) uint8, and the classes of each label."""
    counts = [*publication.labels.values()]
    arrays = [
        np.concatenate([read_records(Path(paths[name]), counts) for name in names])
        for names in (publication.train, publication.test)
    ]
    return arrays, [read_names(paths[name], n) for name, n in publication.labels.items()]


def _parts(publication, arrays, label, levels, classes):
    parts = []
    for part, records in zip(("train", "test"), arrays):
        name = f"{publication.name}, {part}"
        if not len(records):
            raise DataError(f"{publication.dataset}: no picture to {part} with: download it again")
        pixels = records[:, len(publication.labels) :].reshape(-1, 3, 32, 32)
        parts.append(Pictures(pixels, records[:, label], levels, name=name, classes=classes))
    return parts[0], parts[1]


def read_records(path: Path, counts: list[int]) -> np.ndarray:
    """The records of a file, (n, labels + 3072) uint8. counts: of the classes of each label.

    Raises DataError where it is cut off, or a label is no class.
    """
    size = len(counts) + PIXELS
    content = files.read(path, LARGEST)
    if len(content) > LARGEST or len(content) % size:
        more = " or more" * (len(content) > LARGEST)
        raise DataError(
            f"{path} has {len(content)} bytes{more}, expected records of {size} bytes each. It is "
            "cut off, or another file: download it again."
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, size)
    for label, count in enumerate(counts):
        wrong = records[:, label] >= count
        if wrong.any():
            raise DataError(
                f"{path}: label {label} of picture {wrong.argmax()} is "
                f"{records[wrong.argmax(), label]}, expected a class from 0 to {count - 1}. It is "
                "damaged, or another file: download it again."
            )
    return records


def read_names(path: Path, count: int) -> list[str]:
    """The names of so many classes, a line each. Raises DataError for others."""
    text = files.read(Path(path), 2**16).decode("utf-8", errors="replace")
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if not len(names) == len(set(names)) == count:
        raise DataError(
            f"{path}: expected {count} different names, one a line, got {len(names)} lines. It is "
            "damaged, or another file: download it again."
        )
    return names
