"""Data sets: items by index, one at a time, or several where their class says so."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.data.structure import default_collate, fingerprint_of_items
from minifp.errors import ArgumentError, DataError, DTypeError, MinifpError, ShapeError
from minifp.ops.creation import Data
from minifp.ops.plain_data import check_plain

Fields: TypeAlias = tuple[np.ndarray, ...]  # of n items: for each field an array of n rows


class AnyDataset(Protocol):
    """What counts as a data set: a Dataset, a list, or any object with these two methods."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class Dataset:
    """What a data set is: a length, and items by index.

    A subclass, or any object of yours, has `__len__`, and `__getitem__`, which takes one index, an
    int, and returns an item: a tuple of arrays, tensors or numbers, or any structure of them that
    `default_collate` makes batches of. `name` is how reports call it; `classes` are the names of
    the classes that its targets number, if it has any.

    takes_arrays: True, in the class whose `__getitem__` it tells of, where that takes an (n,) array
    of indices and returns a tuple of arrays, one for each field, with n rows each. That is faster.
    """

    name: str = "data"
    classes: Sequence[str] | None = None
    takes_arrays: Any = False

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
    `.arrays` has them. classes: what the targets' numbers stand for, if they are classes. An item
    `data[i]` is a tuple of tensors, in the arrays' formats; `data[indices]` and `data[i:j]` are
    tuples of arrays. Raises ShapeError where the arrays' lengths differ.
    """

    takes_arrays = True

    def __init__(
        self, *arrays: Data, name: str = "data", classes: Sequence[str] | None = None
    ) -> None:
        try:
            self.held = tuple(map(self._held, arrays))
        except ValueError as error:
            raise DTypeError(f"TensorDataset: expected arrays of numbers: {error}") from None
        self.name, self.classes = name, classes
        for i, a in enumerate(self.held):
            if a.dtype.kind not in "fiub":
                kind = f"array {i} must hold numbers or booleans, not {a.dtype}"
                raise DTypeError(f"TensorDataset: {kind}")
        lengths = [a.shape[0] if a.ndim else None for a in self.held]
        if None in lengths or len(set(lengths)) != 1:
            raise ShapeError(
                "TensorDataset: expected one or more arrays with the same number of rows, got "
                f"shapes {[a.shape for a in self.held]}"
            )

    @staticmethod
    def _held(data):
        """An array, as it is. Raises DTypeError for what is more than one, or a path of it."""
        if isinstance(data, Tensor):
            return np.asarray(data.detach().cpu())
        check_plain(data)
        return np.asarray(data)

    def __len__(self) -> int:
        return len(self.held[0])

    def __getitem__(self, index: Any) -> Any:
        return as_item(index, tuple(np.asarray(a[index]) for a in self.held))

    @property
    def arrays(self) -> Fields:
        """The arrays, with a row for each item."""
        return self.held

    def __repr__(self):
        fields = ", ".join(f"{a.dtype}{list(a.shape)}" for a in self.held)
        return f"TensorDataset({fields}, name={self.name!r})"


class IterableDataset:
    """What gives its items one after the other, by `__iter__`, each epoch anew: a stream.

    So does any object with `__iter__` and no `__getitem__`. `len()` need not be known.
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} needs an __iter__")


def is_stream(dataset: Any) -> bool:
    """Whether it gives items one after the other, and not by index."""
    indexed = hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
    return hasattr(dataset, "__iter__") and (isinstance(dataset, IterableDataset) or not indexed)


def as_dataset(asked: str, dataset: Any) -> AnyDataset:
    """Return what is a data set with items by index. Raises ArgumentError, which `asked` begins,
    for anything else."""
    is_table, columns = hasattr(dataset, "iloc"), is_columns(dataset)
    indexed = hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
    none = is_table or columns or isinstance(dataset, (str, bytes, tuple, Mapping))
    if none or not indexed or is_stream(dataset):
        what = "a table" if is_table else f"{type(dataset).__name__}{' of arrays' * columns}"
        hint = ", where table[names].to_numpy() takes columns" * is_table
        hint += "; for a tuple of items give list(items)" * isinstance(dataset, tuple)
        raise ArgumentError(
            f"{asked}: expected a data set, with a length and items by index, got {what}. For "
            f"arrays with a row for each item give TensorDataset(x, t){hint}"
        )
    return dataset


def is_columns(dataset: Any) -> bool:
    """Whether it is [x, t], a few arrays with a row for each item, and no list of items; or a
    number as an array."""
    if isinstance(dataset, (np.ndarray, Tensor)):
        return dataset.ndim == 0
    if not isinstance(dataset, list) or not 0 < len(dataset) < 6:
        return False
    if not all(isinstance(a, (np.ndarray, Tensor)) and a.ndim for a in dataset):
        return False
    return len({len(a) for a in dataset}) == 1 < len({a.ndim for a in dataset})


def takes_arrays(dataset: Any) -> bool:
    """Whether a data set's `__getitem__` takes an array of indices, as its class says.

    What a class says is of its own `__getitem__` and not of one that overrides it.
    """
    for kind in type(dataset).__mro__:
        if "takes_arrays" in vars(kind):
            return bool(dataset.takes_arrays)
        if "__getitem__" in vars(kind):
            return False
    return False


def as_item(index: Any, fields: Fields) -> Any:
    """The fields of one index as tensors, in their own formats; of several as they are."""
    if not is_one(index):
        return fields
    return tuple(Tensor(f.astype(f.dtype.newbyteorder("="), copy=False)) for f in fields)


def is_one(index: Any) -> bool:
    """Whether an index is that of one item."""
    return isinstance(index, int) or (hasattr(index, "__index__") and np.ndim(index) == 0)


def items_of(dataset: AnyDataset, indices: np.ndarray) -> list:
    """The items of these indices, taken one by one, in order.

    Raises DataError where an object of yours raises an error of Python's for one.
    """
    items, index = [], None
    try:
        for index in indices.tolist():
            items.append(dataset[index])
    except MinifpError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise DataError(
            f"data set {name_of(dataset)}: asked for item {index}, it raised "
            f"{type(error).__name__}: {error}. If its __getitem__ takes an array of indices, set "
            "takes_arrays = True in its class"
        ) from error
    return items


def take(dataset: AnyDataset, indices: Any) -> Fields:
    """Return the fields of these items, a tuple of arrays; one bare array counts as one field.

    Items that are taken one by one are stacked by `default_collate`. Raises DataError where that
    gives anything but arrays of numbers with a row for each index, and where an object of yours
    raises an error of Python's.
    """
    asked = f"data set {name_of(dataset)}: asked for {len(indices)} items"
    hint = "For other structures, or items of several shapes, give a collate_fn."
    if not takes_arrays(dataset):
        fields = default_collate(items_of(dataset, np.asarray(indices)))
        return rows(fields, len(indices), asked, hint)
    asked += " by an array of indices"
    hint = "Its class sets takes_arrays = True: if it takes one index at a time, remove that."
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
    if by_item or not (takes_arrays(dataset) or has_fields(dataset)):
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


def has_fields(dataset: AnyDataset) -> bool:
    """Whether the first item of a data set is numbers, or a tuple of them."""
    item = items_of(dataset, np.arange(1))[0]
    fields = item if isinstance(item, (tuple, list)) else (item,)
    return all(isinstance(f, (Tensor, np.ndarray, np.generic, int, float)) for f in fields)


def name_of(dataset: Any) -> str:
    """Return how messages call a data set: its name in quotes, or its class."""
    return repr(getattr(dataset, "name", type(dataset).__name__))
