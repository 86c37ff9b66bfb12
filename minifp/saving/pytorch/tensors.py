"""Tensors and parameters of a file: views of its storages, which stay within them.

Those of one storage share its memory, as in PyTorch. Strides of 0 let a few bytes be a tensor of
any size: what a copy would take is bounded by the size of the file.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.memory import give_memory
from minifp.autograd.storage import Storage
from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import dtype as Dtype
from minifp.derive.dtypes import name_of
from minifp.nn.parameter import Buffer, Parameter
from minifp.numerics.formats import as_dtype, float32
from minifp.numerics.policy import Precision, precision
from minifp.runtime.untrusted import LARGEST
from minifp.saving.pytorch import numpy_names
from minifp.saving.pytorch.archive import Archive
from minifp.saving.pytorch.names import StorageKind
from minifp.saving.pytorch.opcodes import Call

MOST_AXES = 32
REPEATED = 64  # how often all that a file has may be seen in tensors that share it
TENSOR, PARAMETER = "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"
ANY_TENSOR = "torch._utils _rebuild_tensor_v3"  # of a dtype that the storage does not tell
OWN_PARAMETER, OWN_BUFFER = "minifp.nn.parameter Parameter", "minifp.nn.parameter Buffer"


class Stored(NamedTuple):
    """A storage that a pickle refers to: its name, and the dtype of its numbers."""

    key: str
    dtype: np.dtype


class Tensors:
    """Those of one file, which `names` of it make."""

    def __init__(self, archive: Archive, nbytes: int) -> None:
        self.archive = archive
        self.memories: dict[str, tuple[np.ndarray, Storage]] = {}
        self.booleans: set[str] = set()  # storages in which all bytes are 0 or 1
        self.left = REPEATED * nbytes + LARGEST  # bytes of tensors that may still be made

    def names(self, with_modules: bool) -> dict[str, Call]:
        """What a file calls to make them, also as modules have them. (It is not kept here: a circle
        would keep all memory until the collector comes.)"""
        calls = {TENSOR: Call(self.tensor), ANY_TENSOR: Call(self.any_tensor)}
        calls[PARAMETER] = Call(self.parameter)
        if with_modules:
            calls |= {OWN_PARAMETER: Call(self.own_parameter), OWN_BUFFER: Call(self.buffer)}
        return calls

    def stored(self, key: Any) -> Stored:
        """What ("storage", its class, its name, a device, the count of numbers) refers to."""
        if type(key) is not tuple or [*map(type, key)] != [str, StorageKind, str, str, int]:
            raise ValueError(f"a part that is a {type(key).__name__}: expected a storage")
        word, kind, name, _, count = key
        if word != "storage" or count < 0:
            raise ValueError(f"a part that is a {word[:20]!r} of {count} numbers")
        if name not in self.memories:
            memory = self.archive.storage(name, count * kind.dtype.itemsize)
            self.memories[name] = memory, Storage()
        if self.memories[name][0].nbytes != count * kind.dtype.itemsize:
            raise ValueError(f"the storage {name[:40]!r}, of two lengths")
        return Stored(name, kind.dtype)

    def tensor(self, stored, offset, sizes, strides, requires_grad, hooks, metadata=None) -> Tensor:
        """A tensor in a storage; sizes, strides and offset count numbers. Raises ValueError for one
        that is not within it, or takes too much where it is copied."""
        if type(stored) is not Stored or hooks or metadata or type(requires_grad) is not bool:
            raise ValueError("a tensor with hooks, or of no storage")
        memory, storage = self.memories[stored.key]
        if stored.dtype.kind == "b" and stored.key not in self.booleans:
            numpy_names.check_booleans(memory)
            self.booleans.add(stored.key)
        array = self.view(memory, stored.dtype, offset, sizes, strides)
        return Tensor(array, requires_grad=requires_grad, storage=storage)

    def any_tensor(
        self, stored, offset, sizes, strides, requires_grad, hooks, dtype, metadata=None
    ) -> Tensor:
        """The same, of a dtype that is said."""
        if type(stored) is not Stored or not isinstance(dtype, Dtype):
            raise ValueError("a tensor of no storage, or of no dtype")
        stored = Stored(stored.key, dtype.codes)
        return self.tensor(stored, offset, sizes, strides, requires_grad, hooks, metadata)

    def view(
        self, memory: np.ndarray, dtype: np.dtype, offset: Any, sizes: Any, strides: Any
    ) -> np.ndarray:
        """The array at this place in a storage. Raises ValueError as `tensor`."""
        if not type(sizes) is type(strides) is tuple:
            raise ValueError(f"a tensor whose shape is a {type(sizes).__name__}")
        if not all(type(n) is int and n >= 0 for n in (offset, *sizes, *strides)):
            raise ValueError("a tensor whose shape and strides are no whole numbers")
        if len(sizes) != len(strides) or len(sizes) > MOST_AXES:
            raise ValueError(f"a tensor of shape {sizes!r:.60} and strides {strides!r:.60}")
        last = offset + sum((n - 1) * s for n, s in zip(sizes, strides))
        held = memory.nbytes // dtype.itemsize
        if offset > held or (0 not in sizes and last >= held):
            raise ValueError(
                f"a tensor of shape {sizes!r:.60} and strides {strides!r:.60} from {offset} on, in "
                f"a storage of {held} numbers"
            )
        self.count(math.prod(max(n, 1) for n in sizes) * dtype.itemsize, sizes)
        steps = tuple(s * dtype.itemsize for s in strides)
        if 0 in sizes:
            return np.empty(sizes, dtype)
        array = np.ndarray(sizes, dtype, memory, offset * dtype.itemsize, steps)
        array.flags.writeable = all(s or n == 1 for n, s in zip(sizes, strides))
        return array

    def count(self, nbytes: int, sizes: Any) -> None:
        """Count what the copy of a tensor would take. Raises ValueError where it is too much."""
        self.left -= nbytes
        if self.left < 0:
            raise ValueError(
                f"a tensor of shape {sizes!r:.60}: its tensors have more than {REPEATED} times the "
                "bytes of the file"
            )

    # ---- parameters and buffers ----

    def parameter(self, data: Any, requires_grad: Any, hooks: Any) -> Parameter:
        """A parameter on the memory of a tensor. In float32 it is stored as the active precision
        stores weights, with its numbers behind; in other formats as it is in the file."""
        if hooks or type(data) is not Tensor or type(requires_grad) is not bool:
            raise ValueError("a parameter with hooks, or of no tensor")
        stored_as = None if data.dtype == float32 else name_of(as_dtype(data.dtype))
        return self.parameter_on(data, requires_grad, stored_as)

    def own_parameter(
        self, data: Any, requires_grad: Any, stored_as: Any, its_precision: Any
    ) -> Parameter:
        """One of a module, stored as it was."""
        if type(requires_grad) is not bool or type(stored_as) not in (str, type(None)):
            raise ValueError("a parameter whose format is no text")
        if not isinstance(its_precision, Precision) or type(data) is not Tensor:
            raise ValueError("a parameter of no precision, or of no tensor")
        with precision(its_precision):
            return self.parameter_on(data, requires_grad, stored_as)

    def parameter_on(self, data: Tensor, requires_grad: Any, stored_as: Any) -> Parameter:
        """A parameter that shares the memory of a tensor, as far as formats let it."""
        self.count(data.array.nbytes, data.shape)
        zeros = np.broadcast_to(np.zeros((), float32), data.shape)
        p = Parameter(zeros, requires_grad, dtype=stored_as)
        give_memory(p, data.detach())
        return p

    def buffer(self, data: Any, persistent: Any) -> Buffer:
        """A buffer of a module, on the memory of a tensor."""
        if type(data) is not Tensor or type(persistent) is not bool:
            raise ValueError("a buffer of no tensor")
        return Buffer(data, persistent)
