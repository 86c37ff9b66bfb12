"""What a file holds, read by a list of what it may name."""

from collections import OrderedDict, defaultdict
from functools import partial
from typing import Any

import numpy as np

from minifp.errors import CheckpointError
from minifp.saving.pytorch import names, numpy_names, objects
from minifp.saving.pytorch.archive import Archive
from minifp.saving.pytorch.nesting import check_nesting
from minifp.saving.pytorch.opcodes import Call, unpickled
from minifp.saving.pytorch.tensors import Stored, Tensors

NO_VALUES = Call, Stored, names.StorageKind, names.Factory, numpy_names.ArrayClass


class Reader:
    """What the pickle of one file means by names and storages (opcodes.Names)."""

    def __init__(self, archive: Archive, nbytes: int, classes: objects.Classes | None) -> None:
        self.allowed = objects.Allowed(classes)
        self.tensors = Tensors(archive, nbytes)
        self.defaulting: list[defaultdict] = []
        own = objects.NAMES if classes is not None else {}
        self.names = {**names.NAMES, **own, **self.tensors.names(classes is not None)}
        self.names["collections defaultdict"] = Call(partial(names.defaulting, self.defaulting))

    def named(self, name: str) -> Any:
        """What a name stands for. Raises CheckpointError for all that is not on the list."""
        value = self.names.get(name)
        if value is None:
            dotted = name.replace(" ", ".", 1)
            value = self.allowed.named(dotted)
            if value is None:
                raise CheckpointError(
                    f"it holds {dotted[:100]!r}: expected tensors, plain values and containers of "
                    "them, as anything else can run code; in PyTorch, "
                    "torch.save(model.state_dict(), path) writes such a file"
                )
        return value

    def stored(self, key: Any) -> Any:
        """A storage."""
        return self.tensors.stored(key)

    def new(self, kind: Any, arguments: tuple) -> Any:
        """An object of a class that is allowed."""
        return self.allowed.new(kind, arguments)

    def is_object(self, value: Any) -> bool:
        """Whether a value is an object of a class that is allowed."""
        return self.allowed.is_object(value)

    def build(self, target: Any, state: Any) -> None:
        """Set what is in an array, an OrderedDict or an object. Raises ValueError for others."""
        if type(target) is np.ndarray:
            numpy_names.fill(target, state)
        elif isinstance(target, np.dtype):
            numpy_names.check_order(state)
        elif type(target) is OrderedDict:
            if type(state) is not dict or {*state} - {names.METADATA}:
                raise ValueError("an OrderedDict with attributes")
            vars(target).update(state)
        elif self.allowed.is_object(target):
            objects.set_state(target, state)
        else:
            raise ValueError(f"sets what is in a {type(target).__name__}")


def read(content: bytes, classes: objects.Classes | None = None) -> Any:
    """The value in a file with this content. Raises CheckpointError for a file that is refused, and
    others of Python's, NumPy's and zipfile's for one that is damaged."""
    archive = Archive(content)
    reader = Reader(archive, len(content), classes)
    try:
        value = unpickled(archive.pickle(), reader)
        check_nesting(value, _inside, objects.is_object)
    except Exception:
        for held in reader.defaulting:  # one in the other without end, Python's own end would crash
            held.clear()
        raise
    return value


def _inside(value):
    if isinstance(value, NO_VALUES):
        raise ValueError(f"a {type(value).__name__} in the place of a value")
    return objects.inside(value)
