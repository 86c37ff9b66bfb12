"""What a file may name that has no tensors: containers, bytes, sizes, devices, dtypes."""

from collections import Counter, OrderedDict, defaultdict
from pathlib import Path, PosixPath, WindowsPath
from typing import Any, NamedTuple

import numpy as np

from minifp.derive.dtypes import name_of, shown
from minifp.runtime.device import device
from minifp.runtime.shapes import Size
from minifp.saving.pytorch import numpy_names
from minifp.saving.pytorch.opcodes import Call, checked_keys
from minifp.saving.tensor_file import DTYPES

METADATA = "_metadata"  # by which PyTorch's state_dict tells the versions of its modules
STORAGES = {  # the dtype of each of PyTorch's classes of storages
    **{"DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "LongStorage": "I64"},
    **{"BFloat16Storage": "BF16", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8"},
    **{"ByteStorage": "U8", "BoolStorage": "BOOL"},
}
UNTYPED = "torch.storage UntypedStorage"
FACTORIES = {kind.__name__: kind for kind in (list, dict, set, int, float)}  # of a defaultdict


class StorageKind(NamedTuple):
    """A class of storages, by what their numbers are."""

    dtype: np.dtype


class Factory(NamedTuple):
    """A class of Python's own, as a defaultdict names it. call: what makes one in a pickle."""

    kind: type


def defaulting(every: list[defaultdict], factory: Any = None) -> defaultdict:
    """A defaultdict whose values begin as Python's own, also put into `every`. Raises ValueError
    for others."""
    if type(factory) is Call and factory.function is as_set:
        factory = Factory(set)
    if not (factory is None or type(factory) is Factory):
        raise ValueError(f"a defaultdict of a {type(factory).__name__}")
    every.append(defaultdict(factory and factory.kind))
    return every[-1]


def ordered() -> OrderedDict:
    """An OrderedDict with nothing in it yet."""
    return OrderedDict()


def counter(counts: Any) -> Counter:
    """A Counter of what a dict counts. Raises ValueError for another one."""
    if type(counts) is not dict:
        raise ValueError(f"a Counter of a {type(counts).__name__}")
    return Counter(counts)


def as_set(items: Any) -> set:
    """The set of a list. Raises ValueError for another, or values that are no keys."""
    if type(items) is not list:
        raise ValueError(f"a set of a {type(items).__name__}")
    return set(checked_keys(items))


def as_frozenset(items: Any) -> frozenset:
    """The same, which does not change."""
    return frozenset(as_set(items))


def as_bytes(text: str, encoding: str) -> bytes:
    """Bytes, as pickles of protocol 2 write them. Raises ValueError for another encoding."""
    if type(text) is not str or type(encoding) is not str or encoding != "latin1":
        raise ValueError("bytes in another encoding: expected a text in latin1")
    return text.encode(encoding)


def as_bytearray(content: Any = b"") -> bytearray:
    """Bytes that may change. Raises ValueError for what is none."""
    if type(content) is not bytes:
        raise ValueError(f"a bytearray of a {type(content).__name__}")
    return bytearray(content)


def size(sizes: Any) -> Size:
    """A Size of these. Raises ValueError for other than whole numbers."""
    if type(sizes) is not tuple or not all(type(n) is int for n in sizes):
        raise ValueError("a Size that is not made of whole numbers")
    return Size(sizes)


def as_device(name: Any, number: Any = None) -> device:
    """A device. Raises ValueError for other than a text and a number."""
    if type(name) is not str or type(number) not in (int, type(None)):
        raise ValueError(f"a device that is a {type(name).__name__}")
    return device(name, number)


def as_path(*parts: Any) -> Path:
    """A path, of this system. Raises ValueError for other parts than texts."""
    if not all(type(part) is str for part in parts):
        raise ValueError("a path that is not made of texts")
    return Path(*parts)


NAMES: dict[str, Any] = {
    **{f"torch {name_of(dtype)}": shown(dtype) for dtype in DTYPES.values()},
    **{f"torch {name}": StorageKind(DTYPES[kind]) for name, kind in STORAGES.items()},
    UNTYPED: StorageKind(DTYPES["U8"]),
    "torch Size": Call(size),
    "torch device": Call(as_device),
    "_codecs encode": Call(as_bytes),
    **{f"pathlib {kind.__name__}": Call(as_path) for kind in (PosixPath, WindowsPath)},
    "collections OrderedDict": Call(ordered),
    "collections Counter": Call(counter),
    **numpy_names.NAMES,
}
for _module in ("builtins", "__builtin__"):  # as Python 3 and 2 call it
    NAMES |= {f"{_module} {name}": Factory(kind) for name, kind in FACTORIES.items()}
    NAMES[f"{_module} set"], NAMES[f"{_module} frozenset"] = Call(as_set), Call(as_frozenset)
    NAMES[f"{_module} bytearray"] = Call(as_bytearray)
