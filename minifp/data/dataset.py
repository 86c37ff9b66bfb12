"""Data sets: items by index, several at a time."""

import hashlib

import numpy as np

from minifp.errors import DataError, DTypeError, ShapeError
from minifp.tape import Tensor


class Dataset:
    """What a data set is: a length, and items by index.

    A subclass, or any object of yours, has `__len__` and `__getitem__`, which takes an (n,) array
    of indices and returns a tuple of arrays, one for each field, with n rows each. `name` is how
    reports call it.
    """

    name = "data"

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} needs a __len__")

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} needs a __getitem__")

    def fingerprint(self) -> str:
        """Return the SHA-256, in hexadecimal, of everything this data set holds."""
        return fingerprint(self)


class TensorDataset(Dataset):
    """A data set of arrays that have one row for each item.

    The arrays are kept as they are, not copied: numbers or booleans in any format, and
    `.arrays` has them. Raises ShapeError where their lengths differ.
    """

    def __init__(self, *arrays, name: str = "data"):
        self.arrays = tuple(np.asarray(a.data if isinstance(a, Tensor) else a) for a in arrays)
        self.name = name
        for i, a in enumerate(self.arrays):
            if a.dtype.kind not in "fiub":
                raise DTypeError(
                    f"TensorDataset: array {i} must hold numbers or booleans, not {a.dtype}"
                )
        lengths = [a.shape[0] if a.ndim else None for a in self.arrays]
        if None in lengths or len(set(lengths)) != 1:
            raise ShapeError(
                "TensorDataset: expected one or more arrays with the same number of rows, got "
                f"shapes {[a.shape for a in self.arrays]}"
            )

    def __len__(self):
        return len(self.arrays[0])

    def __getitem__(self, index):
        return tuple(np.asarray(a[index]) for a in self.arrays)

    def __repr__(self):
        fields = ", ".join(f"{a.dtype}{list(a.shape)}" for a in self.arrays)
        return f"TensorDataset({fields}, name={self.name!r})"


def take(dataset, indices):
    """Return the fields of these items, a tuple of arrays; one bare array counts as one field.

    Raises DataError where the data set returns anything but arrays with a row for each index.
    """
    fields = dataset[indices]
    fields = tuple(np.asarray(f) for f in (fields if isinstance(fields, tuple) else (fields,)))
    if all(f.ndim and len(f) == len(indices) and f.dtype.kind in "fiub" for f in fields):
        return fields
    raise DataError(
        f"data set {name_of(dataset)}: asked for {len(indices)} items by an array of indices, "
        f"expected arrays of numbers with {len(indices)} rows, got "
        f"{[f'{f.dtype}{list(f.shape)}' for f in fields]}. "
        "If its __getitem__ takes one index at a time, stack the items into a TensorDataset."
    )


def fingerprint(dataset) -> str:
    """Return the SHA-256, in hexadecimal, of all items of any data set, field by field.

    Two data sets with equal numbers in equal formats have equal fingerprints, whatever their class.
    """
    hashes = []
    for start in range(0, len(dataset), 4096):
        fields = take(dataset, np.arange(start, min(start + 4096, len(dataset))))
        if not hashes:
            heads = [f"{f.dtype.kind}{f.dtype.itemsize} {f.shape[1:]} " for f in fields]
            hashes = [hashlib.sha256(head.encode()) for head in heads]
        for h, f in zip(hashes, fields):
            h.update(np.ascontiguousarray(f, f.dtype.newbyteorder("<")))
    return hashlib.sha256(b"".join(h.digest() for h in hashes)).hexdigest()


def name_of(dataset) -> str:
    """Return how messages call a data set: its name in quotes, or its class."""
    return repr(getattr(dataset, "name", type(dataset).__name__))
