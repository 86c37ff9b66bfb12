"""Batches of any structure: arrays in tuples, lists and dicts, and collating items into them."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import DataError
from minifp.ops.plain_data import check_plain

TARGETS = ("targets", "target", "labels", "label")  # what a dict may call them
NO_INPUTS = (*TARGETS, "y", "boxes", "area", "id", "index", "idx")  # of a dict
NUMBERS = (int, float, np.ndarray, np.generic)


def mapped(fn: Callable[[Any], Any], batch: Any) -> Any:
    """The same structure with `fn` of each leaf: of what is no tuple, list or dict."""
    if isinstance(batch, Mapping):
        return {key: mapped(fn, value) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        return like(batch, [mapped(fn, value) for value in batch])
    return fn(batch)


def like(batch: Any, parts: list) -> Any:
    """Parts in a tuple or list of the kind of another."""
    return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)


def mapped_by_field(fn: Callable[[Any, Any, Any], Any], batch: Any) -> Any:
    """The same structure with `fn(value, field, first)` of each of its fields.

    Fields are the values of a dict, by their names, or the entries of a tuple or list, by their
    numbers; what is none of these is field 0. `first` is the field that is the input: 0, or of a
    dict the first name that is not in NO_INPUTS. A list of tuples or dicts is one of items, each
    with fields of its own.
    """
    if isinstance(batch, Mapping):
        first = next((name for name in batch if name not in NO_INPUTS), None)
        return {name: fn(value, name, first) for name, value in batch.items()}
    if type(batch) is list and batch and all(isinstance(x, (tuple, Mapping)) for x in batch):
        return [mapped_by_field(fn, item) for item in batch]
    if isinstance(batch, (tuple, list)):
        return like(batch, [fn(value, i, 0) for i, value in enumerate(batch)])
    return fn(batch, 0, 0)


def leaves(batch: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(where, leaf) of all leaves in order; where: such as "[0]" or "['lengths'][1]"."""
    if isinstance(batch, Mapping):
        pairs = [(repr(key), value) for key, value in batch.items()]
    elif isinstance(batch, (tuple, list)):
        pairs = [(str(i), value) for i, value in enumerate(batch)]
    else:
        yield path, batch
        return
    for key, value in pairs:
        yield from leaves(value, f"{path}[{key}]")


def default_collate(items: Sequence[Any]) -> Any:
    """One batch of a list of items: their arrays and numbers, stacked; texts as a list.

    Items are arrays, numbers or texts, or tuples, lists or dicts of them, all alike. Python's
    floats become float32, so that batches have the format of the precision. As PyTorch's function
    of this name. Raises DataError for items that differ in structure, or for arrays that differ in
    shape: those need a function of their own, which pads them, say.
    """
    first = items[0]
    if isinstance(first, Mapping):
        if any(not isinstance(item, Mapping) or item.keys() != first.keys() for item in items):
            raise DataError(f"default_collate: not all items are dicts with keys {list(first)}")
        return {key: default_collate([item[key] for item in items]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(type(item) is not type(first) or len(item) != len(first) for item in items):
            raise DataError(f"default_collate: not all items have {len(first)} fields")
        parts = [default_collate([item[i] for item in items]) for i in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    if isinstance(first, (str, bytes)) or first is None:
        return list(items)
    arrays = [as_leaf(item) for item in items]
    if len({a.shape for a in arrays}) > 1:
        raise DataError(
            f"default_collate: items of shapes {', '.join(str(a.shape) for a in arrays[:4])}... "
            "cannot be stacked; give a collate_fn that pads them, as with "
            "nn.utils.rnn.pad_sequence"
        )
    stacked = np.array(arrays)  # of few numbers each twice as fast as np.stack
    return stacked.astype(np.float32) if isinstance(first, float) else stacked


def as_leaf(item: Any) -> np.ndarray:
    """An array, tensor or number of an item as an array. Raises DataError for anything else."""
    if isinstance(item, Tensor):
        return unwrapped(item)
    check_plain(item)
    array = np.asarray(item) if isinstance(item, NUMBERS) or hasattr(item, "__array__") else None
    if array is None or array.dtype.kind not in "fiubV" or array.dtype.names:
        kind = type(item).__name__ if array is None else f"an array of {array.dtype}"
        raise DataError(
            f"default_collate: an item has {kind} in it, expected arrays, tensors, numbers or "
            "strings: convert it in __getitem__ (for example by np.asarray of a picture), or give "
            "a collate_fn"
        )
    return array


def unwrapped(tensor: Tensor) -> np.ndarray:
    """The numbers of a tensor as an array of one of NumPy's dtypes, on the host."""
    return np.asarray(tensor.cpu())


def fingerprint_of_items(dataset: Any) -> str:
    """The SHA-256, in hexadecimal, of all items of a data set that gives them one at a time."""
    total = hashlib.sha256()
    for i in range(len(dataset)):
        for where, leaf in leaves(dataset[i]):
            array = unwrapped(leaf) if isinstance(leaf, Tensor) else np.asarray(leaf)
            if array.dtype.kind == "O":
                kind = type(leaf).__name__
                raise DataError(f"item {i}{where} is a {kind}, expected arrays, numbers or texts")
            total.update(f"{where}{array.dtype.kind}{array.dtype.itemsize}{array.shape} ".encode())
            total.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return total.hexdigest()
