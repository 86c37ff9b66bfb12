"""CIFAR-10: small colour pictures of ten classes."""

import numpy as np

from minifp.data import files, plain_pickle
from minifp.data.dataset import TensorDataset
from minifp.data.images import from_no_path, leveled, pixel_levels
from minifp.errors import DataError

CIFAR10_MIRRORS = (
    "https://www.cs.toronto.edu/~kriz/",
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
)
CIFAR10_ARCHIVE = "cifar-10-python.tar.gz"
CIFAR10_CHECKSUM = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"
CIFAR10_FOLDER = "cifar-10-batches-py"
CIFAR10_SUMS = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
    "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
}
LARGEST = 2**28  # bytes of one file; the canonical ones have 31 million
# Of the training pixels in [0, 1], for red, green and blue, as is customary.
CIFAR10_MEAN, CIFAR10_DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


@from_no_path
def cifar10(*, normalize: bool = True) -> tuple[TensorDataset, TensorDataset]:
    """Return CIFAR-10, 50,000 pictures to train with and 10,000 to test with.

    Each item is a picture (3, 32, 32), float32, channels in the order red, green, blue, and its
    class, int64; `.classes` names the ten. Pixels are (p / 255 - mean) / deviation of their
    channel, or p, 0 to 255, with normalize=False; 740 MB in all. The canonical files
    (data_batch_1 to data_batch_5, test_batch, batches.meta) are looked for in the folder that
    MINIFP_DATA names or in cifar10 or cifar-10-batches-py inside it, where they may hold fewer
    pictures; then in the user's cache, then downloaded (170 MB). They are pickles, but none of what
    is in them is run: see `plain_pickle`. Raises DataError where they are damaged, incomplete, ask
    for anything but plain data, or cannot be had. Source: Krizhevsky, "Learning multiple layers of
    features from tiny images", 2009.
    """
    paths = files.local("cifar10", CIFAR10_SUMS, inside=[CIFAR10_FOLDER])
    if paths is None:
        paths = files.unpacked(
            "cifar10",
            CIFAR10_ARCHIVE,
            CIFAR10_CHECKSUM,
            CIFAR10_FOLDER,
            CIFAR10_SUMS,
            CIFAR10_MIRRORS,
        )
    classes = read_classes(paths["batches.meta"])
    levels = pixel_levels(CIFAR10_MEAN, CIFAR10_DEVIATION, normalize)
    parts = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
    return tuple(
        _part(part, [read_batch(paths[name]) for name in names], levels, classes)
        for part, names in parts.items()
    )


def _part(part, batches, levels, classes):
    t = np.concatenate([labels for _, labels in batches])
    if not len(t):
        raise DataError(f"cifar10: there is no picture to {part} with in its files: get them again")
    x = leveled([pixels for pixels, _ in batches], (3, 32, 32), levels)
    return TensorDataset(x, t, name=f"CIFAR-10, {part}", classes=classes)


def _read(path):
    content = files.read(path, LARGEST)
    if len(content) > LARGEST:
        raise DataError(f"{path} has more than {LARGEST} bytes: it is no file of CIFAR-10.")
    record = plain_pickle.loads(content, str(path))
    if not isinstance(record, dict):
        raise DataError(f"{path} holds a {type(record).__name__}, expected a dict: get it again.")
    # Keys are bytes as Python 2 wrote them, or text where Python 3 did.
    return {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in record.items()}


def read_batch(path):
    """The pixels of a batch, (n, 3072) uint8, channel by channel, and its labels, (n,) int64."""
    record = _read(path)
    pixels, labels = record.get("data"), record.get("labels")
    if getattr(pixels, "dtype", None) != np.uint8 or pixels.ndim != 2 or pixels.shape[1] != 3072:
        raise DataError(
            f"{path}: expected in 'data' an array uint8[n, 3072], got {_described(pixels)}. It is "
            "damaged or another file: get it again."
        )
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        labels = labels.tolist()
    if not isinstance(labels, list) or len(labels) != len(pixels):
        raise DataError(
            f"{path}: expected in 'labels' a list of {len(pixels)}, one for each picture, got "
            f"{_described(labels)}. It is damaged or another file: get it again."
        )
    for i, label in enumerate(labels):
        if type(label) is not int or not 0 <= label <= 9:
            what = label if type(label) is int else _described(label)
            raise DataError(f"{path}: label {i} is {what}, expected a class from 0 to 9.")
    return pixels, np.array(labels, np.int64)


def _described(value):
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}{list(value.shape)}"
    if value is None:
        return "nothing"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, list) else "")


def read_classes(path):
    """The names of the ten classes."""
    names = _read(path).get("label_names")
    texts = []
    if isinstance(names, list) and all(isinstance(name, (bytes, str)) for name in names):
        texts = [n.decode("latin1") if isinstance(n, bytes) else n for n in names]
    if not len(texts) == len(set(texts)) == 10:
        raise DataError(
            f"{path}: expected in 'label_names' a list of ten different names, got "
            f"{_described(names)}. It is damaged or another file: get it again."
        )
    return texts
