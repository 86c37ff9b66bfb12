"""Batches of any structure: arrays in tuples, lists and dicts, and collating items into them."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import DataError


def mapped(fn: Callable[[Any], Any], batch: Any) -> Any:
    """The same structure with `fn` of each leaf: of what is no tuple, list or dict."""
    return mapped_by_name(lambda leaf, name: fn(leaf), batch)


def mapped_by_name(fn: Callable[[Any, Any], Any], batch: Any, name: Any = None) -> Any:
    """The same structure with `fn(leaf, name)` of each leaf: of what is no tuple, list or dict.

    name: the key of the innermost dict that the leaf is in; None outside of any.
    """
    if isinstance(batch, Mapping):
        return {key: mapped_by_name(fn, value, key) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        parts = [mapped_by_name(fn, value, name) for value in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return fn(batch, name)


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
    arrays = [np.asarray(item.data if isinstance(item, Tensor) else item) for item in items]
    if len({a.shape for a in arrays}) > 1:
        raise DataError(
            f"default_collate: items of shapes {', '.join(str(a.shape) for a in arrays[:4])}... "
            "cannot be stacked; give a collate_fn that pads them, as with "
            "nn.utils.rnn.pad_sequence"
        )
    stacked = np.stack(arrays)
    return stacked.astype(np.float32) if isinstance(first, float) else stacked


def fingerprint_of_items(dataset: Any) -> str:
    """The SHA-256, in hexadecimal, of all items of a data set that gives them one at a time."""
    total = hashlib.sha256()
    for i in range(len(dataset)):
        for where, leaf in leaves(dataset[i]):
            array = np.asarray(leaf.data if isinstance(leaf, Tensor) else leaf)
            if array.dtype.kind == "O":
                raise DataError(
                    f"item {i}{where} is a {type(leaf).__name__}, expected arrays, numbers or texts"
                )
            total.update(f"{where}{array.dtype.kind}{array.dtype.itemsize}{array.shape} ".encode())
            total.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return total.hexdigest()
