"""Data sets: items by index, several at a time."""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.data.structure import fingerprint_of_items
from minifp.errors import ArgumentError, DataError, DTypeError, MinifpError, ShapeError
from minifp.ops.creation import Data

Fields: TypeAlias = tuple[np.ndarray, ...]  # of n items: for each field an array of n rows


class AnyDataset(Protocol):
    """What counts as a data set: a Dataset, or any object of yours with these two methods."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class Dataset:
    """What a data set is: a length, and items by index.

    A subclass, or any object of yours, has `__len__` and `__getitem__`, which takes an (n,) array
    of indices and returns a tuple of arrays, one for each field, with n rows each. `name` is how
    reports call it; `classes` are the names of the classes that its targets number, if it has any.
    """

    name: str = "data"
    classes: Sequence[str] | None = None

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} needs a __len__")

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} needs a __getitem__")

    def fingerprint(self) -> str:
        """Return the SHA-256, in hexadecimal, of everything this data set holds."""
        return fingerprint(self)


class TensorDataset(Dataset):
    """A data set of arrays that have one row for each item.

    The arrays are kept as they are, not copied: numbers or booleans in any format, and
    `.arrays` has them. classes: what the targets' numbers stand for, if they are classes.
    Raises ShapeError where the arrays' lengths differ.
    """

    def __init__(
        self, *arrays: Data, name: str = "data", classes: Sequence[str] | None = None
    ) -> None:
        self.held = tuple(np.asarray(a.data if isinstance(a, Tensor) else a) for a in arrays)
        self.name, self.classes = name, classes
        for i, a in enumerate(self.held):
            if a.dtype.kind not in "fiub":
                raise DTypeError(
                    f"TensorDataset: array {i} must hold numbers or booleans, not {a.dtype}"
                )
        lengths = [a.shape[0] if a.ndim else None for a in self.held]
        if None in lengths or len(set(lengths)) != 1:
            raise ShapeError(
                "TensorDataset: expected one or more arrays with the same number of rows, got "
                f"shapes {[a.shape for a in self.held]}"
            )

    def __len__(self) -> int:
        return len(self.held[0])

    def __getitem__(self, index: Any) -> Fields:
        return tuple(np.asarray(a[index]) for a in self.held)

    @property
    def arrays(self) -> Fields:
        """The arrays, with a row for each item."""
        return self.held

    def __repr__(self):
        fields = ", ".join(f"{a.dtype}{list(a.shape)}" for a in self.held)
        return f"TensorDataset({fields}, name={self.name!r})"


def as_dataset(asked: str, dataset: Any) -> AnyDataset:
    """Return what is a data set. Raises ArgumentError, which `asked` begins, for anything else."""
    if isinstance(dataset, (list, tuple, np.ndarray)) or not (
        hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
    ):
        raise ArgumentError(
            f"{asked}: expected a data set, with a length and items by an array of indices, "
            f"got {type(dataset).__name__}. For arrays: {asked}(TensorDataset(x, t))."
        )
    return dataset


def take(dataset: AnyDataset, indices: Any) -> Fields:
    """Return the fields of these items, a tuple of arrays; one bare array counts as one field.

    Raises DataError where the data set returns anything but arrays with a row for each index, and
    where an object of yours raises an error of Python's for them.
    """
    asked = f"data set {name_of(dataset)}: asked for {len(indices)} items by an array of indices"
    hint = "If its __getitem__ takes one index at a time, give collate_fn=fp.data.default_collate."
    try:
        fields = dataset[indices]
    except MinifpError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise DataError(f"{asked}, it raised {type(error).__name__}: {error}. {hint}") from error
    return rows(fields, len(indices), asked, hint)


def rows(fields: Any, n: int, asked: str, hint: str) -> tuple:
    """Return these fields as a tuple of arrays. Raises DataError where one has not n rows."""
    fields = fields if isinstance(fields, tuple) else (fields,)
    try:
        fields = tuple(np.asarray(f) for f in fields)
        if all(f.ndim and len(f) == n and f.dtype.kind in "fiub" for f in fields):
            return fields
        got = [f"{f.dtype}{list(f.shape)}" for f in fields]
    except ValueError:  # a list of arrays of several shapes
        got = [type(f).__name__ for f in fields]
    raise DataError(f"{asked}, expected arrays of numbers with {n} rows, got {got}. {hint}")


def as_indices(asked: str, indices, size: int) -> np.ndarray:
    """Return indices of a data set of this size as an array, (n,) int64.

    Raises ArgumentError, which `asked` begins, where they are not integers from 0 to size - 1.
    """
    try:
        array = np.asarray(indices)
    except ValueError as error:
        raise ArgumentError(f"{asked}: expected indices in one row: {error}") from error
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        hint = " For a mask, give np.flatnonzero(mask)." * (array.dtype.kind == "b")
        raise ArgumentError(
            f"{asked}: expected integers in one row, one index for each item, got "
            f"{array.dtype}{list(array.shape)}.{hint}"
        )
    wrong = (array < 0) | (array >= size)
    if wrong.any():
        raise ArgumentError(
            f"{asked}: expected indices from 0 to {size - 1}, got {array[wrong.argmax()]} at "
            f"position {wrong.argmax()}"
        )
    return array.astype(np.int64)


def fingerprint(dataset: AnyDataset, by_item: bool = False) -> str:
    """Return the SHA-256, in hexadecimal, of all items of any data set, field by field.

    Two data sets with equal numbers in equal formats have equal fingerprints, whatever their class.
    by_item: its items are taken one at a time, and are of any structure (see `default_collate`).
    """
    if by_item:
        return fingerprint_of_items(dataset)
    hashes: list[Any] = []
    for start in range(0, len(dataset), 4096):
        fields = take(dataset, np.arange(start, min(start + 4096, len(dataset))))
        if not hashes:
            heads = [f"{f.dtype.kind}{f.dtype.itemsize} {f.shape[1:]} " for f in fields]
            hashes = [hashlib.sha256(head.encode()) for head in heads]
        for h, f in zip(hashes, fields):
            h.update(np.ascontiguousarray(f, f.dtype.newbyteorder("<")))
    return hashlib.sha256(b"".join(h.digest() for h in hashes)).hexdigest()


def name_of(dataset: Any) -> str:
    """Return how messages call a data set: its name in quotes, or its class."""
    return repr(getattr(dataset, "name", type(dataset).__name__))
