"""The file of a value: what PyTorch's own has of tensors, and what is here of modules and objects.

`torch.load(weights_only=True)` takes it where it holds nothing but tensors, parameters and plain
values. A parameter gives its unrounded numbers, as in a state_dict.
"""

import pickle
from types import FunctionType
from typing import Any

import numpy as np

from minifp.autograd.scaled import without_scale
from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import dtype as Dtype
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError
from minifp.nn.module import Module
from minifp.nn.parameter import SAY_FORMATS, Buffer, Parameter
from minifp.numerics.formats import upcast
from minifp.numerics.policy import Precision
from minifp.numerics.precision_parts import whole_of
from minifp.ops.binding import numbers_of
from minifp.runtime.device import moved
from minifp.saving.pytorch import objects
from minifp.saving.pytorch.archive import packed
from minifp.saving.pytorch.emitter import Emitter, Written, refuse
from minifp.saving.pytorch.memories import Memories
from minifp.saving.pytorch.names import STORAGES, UNTYPED
from minifp.saving.pytorch.nesting import check_nesting
from minifp.saving.pytorch.tensors import ANY_TENSOR, OWN_BUFFER, OWN_PARAMETER, PARAMETER, TENSOR
from minifp.saving.tensor_file import DTYPES

STORAGE_OF = {DTYPES[kind]: f"torch {name}" for name, kind in STORAGES.items()}
NO_FIELDS = None, None, None, -1, -1, 0  # what NumPy tells of a dtype that is one number


class Writer(Emitter):
    """The opcodes of a value with tensors. arrays: the numbers of each, by its id."""

    def __init__(self, arrays: dict[int, np.ndarray], allowed: objects.Allowed) -> None:
        super().__init__()
        self.arrays, self.allowed = arrays, allowed
        self.memories = Memories([*arrays.values()])
        self.modules = 0  # in how many modules it is

    def put_other(self, value: Any, place: str) -> None:
        """Write a tensor, an array, an object, or the name of a class. Raises ArgumentError."""
        kind = type(value)
        if kind in WRITERS:
            WRITERS[kind](self, value, place)
        elif isinstance(value, np.generic) and value.dtype.kind in "biuf":
            dtype = Written(lambda: self.numpy_dtype(value.dtype))
            self.call("numpy.core.multiarray scalar", dtype, value.tobytes())
        elif isinstance(value, (type, FunctionType)):
            self.put_name(value, place)
        else:
            self.put_object(value, place)

    # ---- tensors ----

    def put_tensor(self, t: Tensor, place: str) -> None:
        """A tensor, and whether it requires a gradient."""
        self.put_numbers(t, t.requires_grad, place)
        self.remember(t)

    def put_numbers(self, t: Tensor, requires_grad: bool, place: str) -> None:
        """A tensor with the numbers of this one."""
        array = self.arrays[id(t)]
        if array.dtype not in DTYPES.values():
            refuse(t, place, f"a tensor of {name_of(array.dtype)}, which PyTorch lacks")
        where, dtype = self.memories.places[id(array)], array.dtype
        typed = dtype in STORAGE_OF and not where.is_mixed
        kind = STORAGE_OF[dtype] if typed else UNTYPED
        count = where.nbytes // dtype.itemsize if typed else where.nbytes
        said = [Written(lambda: self.put_dtype(dtype))] * (not typed)

        def storage() -> None:
            name = Written(lambda: self.name(kind))
            key = "storage", name, str(where.storage), "cpu", count
            self.group(key, "", pickle.TUPLE)
            self.add(pickle.BINPERSID)

        hooks = Written(lambda: self.call("collections OrderedDict"))
        numbers = where.start, array.shape, where.strides, requires_grad
        self.call(TENSOR if typed else ANY_TENSOR, Written(storage), *numbers, hooks, *said)

    def put_dtype(self, dtype: np.dtype) -> None:
        """A dtype, which is a name."""
        self.name(f"torch {name_of(dtype)}")

    def put_parameter(self, p: Parameter, place: str) -> None:
        """A parameter as PyTorch has it; in a module, how it is stored here too."""
        data = Written(lambda: self.put_numbers(p, False, place))
        if self.modules:
            precision = Written(lambda: self.put_precision(p.precision, place))
            self.call(OWN_PARAMETER, data, p.requires_grad, p.stored_as, precision)
        else:
            hooks = Written(lambda: self.call("collections OrderedDict"))
            self.call(PARAMETER, data, p.requires_grad, hooks)
        self.remember(p)

    def put_buffer(self, b: Buffer, place: str) -> None:
        """A buffer; outside of modules a tensor, as in PyTorch."""
        if not self.modules:
            self.put_tensor(b, place)
            return
        self.call(OWN_BUFFER, Written(lambda: self.put_numbers(b, False, place)), b.persistent)
        self.remember(b)

    # ---- NumPy's ----

    def numpy_dtype(self, dtype: np.dtype) -> None:
        """A dtype of NumPy's."""
        self.call("numpy dtype", dtype.str[1:], False, True)
        self.put((3, "|" if dtype.itemsize == 1 else "<", *NO_FIELDS), "")
        self.add(pickle.BUILD)

    def put_array(self, a: np.ndarray, place: str) -> None:
        """An array of NumPy's."""
        if a.dtype.kind not in "biuf" or a.itemsize > 8:
            refuse(a, place, f"an array of {name_of(a.dtype)}")
        array_class = Written(lambda: self.name("numpy ndarray"))
        self.call("numpy.core.multiarray _reconstruct", array_class, (0,), b"b")
        self.remember(a)
        little = a.astype(a.dtype.newbyteorder("<"), copy=False)
        dtype = Written(lambda: self.numpy_dtype(a.dtype))
        self.group((1, a.shape, dtype, False, little.tobytes()), "", pickle.TUPLE)
        self.add(pickle.BUILD)

    # ---- modules and objects ----

    def put_name(self, value: Any, place: str) -> None:
        """A class or a function that files may name."""
        name = self.allowed.name_of(value)
        if name is None:
            refuse(value, place, f"the code of {objects.dotted_name(value)}")
        self.name(" ".join(str(name).rpartition(".")[::2]))

    def put_precision(self, precision: Precision, place: str) -> None:
        """A precision, by its text, and which part of it."""
        place_in = None if precision.whole is None else precision.place
        self.call(objects.PRECISION, str(whole_of(precision)), place_in)

    def put_object(self, value: Any, place: str) -> None:
        """An object of a class that files may name: what it holds, and its dictionary."""
        kind = type(value)
        if not self.allowed.is_object(value) or not objects.can_be_made(kind):
            refuse(value, place, f"a {kind.__name__}, which is no class that files may name")
        base = objects.base_of(kind)
        self.put_name(kind, place)
        self.group(tuple.__iter__(value) if base is tuple else (), place, pickle.TUPLE)
        self.add(pickle.NEWOBJ)
        self.remember(value)
        if base is list:
            self.group(list.__iter__(value), place, pickle.APPENDS)
        if isinstance(value, dict):
            self.items(value, place)
        if hasattr(value, "__dict__"):
            self.modules += isinstance(value, Module)
            self.put(vars(value), place)
            self.modules -= isinstance(value, Module)
            self.add(pickle.BUILD)


WRITERS: dict[type, Any] = {
    Tensor: Writer.put_tensor,
    Parameter: Writer.put_parameter,
    Buffer: Writer.put_buffer,
    Dtype: lambda w, value, place: w.put_dtype(value.codes),
    Precision: Writer.put_precision,
    np.ndarray: Writer.put_array,
}


def written(value: Any, classes: objects.Classes | None = None) -> bytes:
    """The file of a value. classes: by dotted name, what it may name beside tensors and plain data.

    Raises ArgumentError, naming what and where, for what is none of these.
    """
    tensors: list[Any] = []

    def inside(held: Any) -> Any:
        if isinstance(held, Tensor):
            tensors.append(held)
        return objects.inside(held)

    try:
        check_nesting(value, inside, objects.is_object)
        writer = Writer(_arrays(tensors), objects.Allowed(classes))
        writer.put(value, "")
    except (ValueError, RecursionError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"cannot save this: {error}") from None
    return packed(b"".join([*writer.parts, pickle.STOP]), writer.memories.storages)


def _numbers(t):
    """Those of a tensor, of a parameter unrounded; where its format was named, and nothing is lost,
    in that format."""
    if not isinstance(t, Parameter):
        return without_scale(t).array
    numbers = numbers_of(t)
    if t.stored_as in SAY_FORMATS or (upcast(t.array, numbers.dtype) != numbers).any():
        return numbers
    return t.array


def _arrays(tensors):
    """The numbers of each tensor, by its id, on the CPU. Entries of a state_dict are copies; of one
    tensor, such as a weight that two layers share, they are the same numbers again."""
    arrays: dict[int, np.ndarray] = {}
    firsts: dict[tuple, np.ndarray] = {}
    for t in tensors:
        array = moved(_numbers(t), "cpu")
        owner = getattr(t.storage, "owner", None)
        if owner is not None and owner() is not None:
            first = firsts.setdefault((id(owner()), array.shape), array)
            array = first if first.tobytes() == array.tobytes() else array
        arrays[id(t)] = array
    return arrays
