"""The methods and operators of Tensor: those that operations declare, and those that belong to
none. Importing this module attaches them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp import ops
from minifp.autograd.backward import backward
from minifp.autograd.hooks import register_hook, retain_grad
from minifp.autograd.memory import give_memory
from minifp.autograd.scaled import warn_of_read
from minifp.autograd.tape import Tensor, observers
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, DeviceError, ShapeError
from minifp.numerics.formats import TYPED, as_dtype, as_native, downcast, is_float, numbers_in
from minifp.ops.arguments import also_by_name, as_axis
from minifp.ops.creation import Data, made_of
from minifp.ops.elementwise import Operand
from minifp.ops.pointwise.arithmetic import cast, move
from minifp.ops.public import DECLARED, OPERATORS, by_numpys_names
from minifp.ops.whole_numbers import warn_of_whole
from minifp.runtime.cuda import capturing
from minifp.runtime.device import DEVICES, as_device, device_of, moved
from minifp.typing import Device, DType, F, Ints


def _operator(operation: Callable[..., Tensor], swapped: bool = False) -> Callable[..., Tensor]:
    def apply(self: Tensor, other: Operand) -> Tensor:
        if isinstance(other, (np.ndarray, np.generic)):
            other = Tensor(moved(np.asarray(other), device_of(self.array)))
        elif not isinstance(other, (Tensor, int, float)):
            return NotImplemented
        return operation(other, self) if swapped else operation(self, other)

    return apply


MIRRORED = {"eq", "ne", "lt", "le", "gt", "ge"}  # Python asks x > 2 for 2 < x


def attach_operator(operator: str, operation: Callable[..., Tensor]) -> None:
    """Give Tensor an operator, which is named as it is written: `x + y` is for 2 + y, too."""
    name = OPERATORS[operator]
    if "y" not in operator:  # it has one operand
        setattr(Tensor, f"__{name}__", operation)
        return
    setattr(Tensor, f"__{name}__", _operator(operation))
    if name not in MIRRORED:
        setattr(Tensor, f"__r{name}__", _operator(operation, swapped=True))


for _declared in DECLARED:
    if "Tensor" in _declared.where:
        for _name in _declared.names:
            setattr(Tensor, _name, _declared.function)
    if _declared.operator:
        attach_operator(_declared.operator, _declared.function)
for _function in (object.__hash__, backward, register_hook, retain_grad):
    setattr(Tensor, _function.__name__, _function)


def method(fn: F) -> F:
    """Attach a function as a method of Tensor under its own name, or without a last "_" where
    that is the name of a built-in type."""
    name = fn.__name__
    own = name[:-1] if name in ("float_", "int_", "bool_", "type_") else name
    setattr(Tensor, own, by_numpys_names(fn))
    return fn


def attribute(fn: F) -> F:
    """Attach a function as a property of Tensor."""
    setattr(Tensor, fn.__name__, property(fn))
    return fn


@attribute
def T(self: Tensor) -> Tensor:
    """The transpose of a matrix, as a view."""
    if self.ndim != 2:
        raise ShapeError(f".T of a tensor of shape {self.shape}: expected two dimensions")
    return ops.transpose(self, 0, 1)


@attribute
def mT(self: Tensor) -> Tensor:
    """The last two axes exchanged, as a view."""
    if self.ndim < 2:
        raise ShapeError(f".mT of a tensor of shape {self.shape}: expected at least two dimensions")
    return ops.transpose(self, -2, -1)


@attribute
def device(self: Tensor) -> Any:
    """Where the numbers are: an fp.device, "cpu" or "cuda"."""
    return DEVICES[device_of(self.array)]


@attribute
def is_cuda(self: Tensor) -> bool:
    """Whether the numbers are on a GPU."""
    return device_of(self.array) != "cpu"


@attribute
def is_sparse(self: Tensor) -> bool:
    """False, which optimizers of PyTorch's ask of a gradient: all tensors are dense."""
    return False


@attribute
def nbytes(self: Tensor) -> int:
    """The bytes that its elements take."""
    return self.array.nbytes


@attribute
def itemsize(self: Tensor) -> int:
    """The bytes of one element."""
    return self.array.itemsize


@method
def element_size(self: Tensor) -> int:
    """The bytes of one element."""
    return self.array.itemsize


@method
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self.array.ndim


@method
def is_contiguous(self: Tensor) -> bool:
    """Whether the elements lie in memory one after the other, the last axis fastest."""
    return bool(self.array.flags.c_contiguous)


def tell_readers(t: Tensor) -> None:
    """Let observers of the tape that have an `on_read` know that a tensor's numbers are read; and
    the user, where they are still multiplied by a loss scale."""
    if t.seed != 1:
        warn_of_read(t)
    for observer in observers:
        if hasattr(observer, "on_read"):
            observer.on_read(t)


def read(t: Tensor) -> np.ndarray:
    """The array, for the host to read: a copy of a GPU's. No step that is captured may do that."""
    tell_readers(t)
    if t.device == "cpu":
        capturing.refuse("reads a result on the CPU")
    return moved(t.array, "cpu")


def wanted(
    args: tuple[Any, ...], dtype: DType | None, device: Device
) -> tuple[np.dtype | None, str | None]:
    """The dtype and the device that the arguments of `to` name, None for none."""
    if len(args) > 2:
        raise ArgumentError(f"to{args}: expected a dtype, a device, both, or a tensor")
    for a in args:
        if isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
        elif isinstance(a, int) and not isinstance(a, bool):
            device = as_device(a)
        elif isinstance(a, str) and a.split(":")[0] in ("cpu", "cuda"):
            device = a
        else:
            dtype = a
    return (
        None if dtype is None else as_dtype(dtype),
        None if device is None else as_device(device),
    )


@method
def to(
    self: Tensor,
    *args: DType | Tensor,
    dtype: DType | None = None,
    device: Device = None,
    copy: bool = False,
) -> Tensor:
    """In another dtype (rounded once, recorded) or on another device: `x.to("float16")`.

    Takes a dtype, a device, both, or a tensor whose dtype and device are meant. The tensor itself
    where nothing changes, unless `copy`. Gradients go back to where it was. Raises DTypeError,
    DeviceError or ArgumentError for what is neither.
    """
    format, place = wanted(args, dtype, device)
    format, place = format or self.dtype, place or self.device
    if format == self.dtype and place == self.device:
        return self.clone() if copy else self
    x = self
    if format != x.dtype:
        both = is_float(format) and is_float(x.dtype)
        x = cast(x, dtype=format) if both else Tensor(converted(x.array, format))
    return x if place == x.device else move(x, device=place)


def converted(array, format):
    """An array in another dtype, of which one is of integers. Warns of those that it has not."""
    stored = downcast(array, format)
    warn_of_whole(array, stored, f".to({name_of(format)!r})")
    return stored


def _conversion(name: str, dtype: str) -> None:
    def convert(self: Tensor) -> Tensor:
        return to(self, dtype=dtype)

    convert.__name__, convert.__doc__ = name, f"In {name_of(as_dtype(dtype))}: `.to({dtype!r})`."
    setattr(Tensor, name, convert)


@method
def type_(self: Tensor, dtype: DType) -> Tensor:
    """In another dtype, which may be one of PyTorch's older types, fp.FloatTensor or by name:
    `to`."""
    place, _, name = dtype.rpartition(".") if isinstance(dtype, str) else ("", "", "")
    device = getattr(dtype, "device", "cuda" if place.endswith("cuda") else None)
    return to(self, device=device, dtype=TYPED.get(name, dtype))


for _name in ("half", "bfloat16", "double", "bool"):
    _conversion(_name, _name)
for _name, _dtype in {"float": "single", "int": "int32", "long": "int64"}.items():
    _conversion(_name, _dtype)


@method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """In the dtype of another tensor."""
    return to(self, dtype=other.dtype)


@method
def cpu(self: Tensor) -> Tensor:
    """On the CPU: the tensor itself where it is there."""
    return to(self, device="cpu")


@method
def cuda(self: Tensor, device: str | int | None = None) -> Tensor:
    """On a GPU, of which there is one. Raises DeviceError where there is none."""
    return to(self, device=as_gpu(device))


def as_gpu(device: str | int | None) -> str:
    """The GPU that `cuda(device)` asks for. Raises DeviceError for one that is not there, and for
    another device."""
    name = as_device("cuda" if device is None else device)
    if name == "cpu":
        raise DeviceError(f"cuda({device!r}): expected a GPU")
    return name


@method
def numpy(self: Tensor) -> np.ndarray:
    """The array itself, not a copy: writing into it is not noticed by the tape, nor by an optimizer
    that is made already; write into `x.data` instead. For a GPU tensor, a copy; this waits for the
    GPU (where PyTorch asks for `.cpu()` first).

    Of a format that NumPy lacks it is an array of ml_dtypes' where that is installed and has the
    format, or else a float32 copy, of which is told once.
    """
    return numbers_in(read(self))


@method
def item(self: Tensor) -> Any:
    """The one number, as a Python number. Raises ShapeError where there are more."""
    if self.array.size != 1:
        raise ShapeError(f"item() of a tensor of shape {self.shape}: expected one element")
    return as_native(read(self)).item()


@method
def tolist(self: Tensor) -> Any:
    """Nested lists of Python numbers."""
    return as_native(read(self)).tolist()


@method
def nelement(self: Tensor) -> int:
    """How many elements it has: numel."""
    return self.array.size


@method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements apart in memory neighbours along each axis are, or along one."""
    strides = tuple(n // self.itemsize for n in self.array.strides)
    return strides if dim is None else strides[as_axis(dim, self.ndim, "stride: dim")]


@method
def new(self: Tensor, *given: Any) -> Tensor:
    """What PyTorch's older constructors make of sizes or numbers, of this one's dtype and on its
    device: x.new(2, 3), x.new(x.shape), x.new([1.0]), and x.new(), of no elements."""
    return made_of(given, self.dtype, self.device)


@method
def new_tensor(
    self: Tensor,
    data: Data,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor with a copy of `data`, in this one's dtype and on its device unless told."""
    device = self.device if device is None else device
    return ops.tensor(data, self.dtype if dtype is None else dtype, device, requires_grad)


@method
def new_full(
    self: Tensor,
    size: Ints,
    fill_value: float,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of shape `size` filled with one number, in this one's dtype unless told."""
    dtype = self.dtype if dtype is None else dtype
    device = self.device if device is None else device
    return ops.full(size, fill_value, dtype=dtype, device=device, requires_grad=requires_grad)


def _new(name: str, make: Callable[..., Tensor]) -> None:
    @also_by_name("size")
    def made(
        self: Tensor,
        *size: Ints,
        dtype: DType | None = None,
        device: Device = None,
        requires_grad: bool = False,
    ) -> Tensor:
        dtype = self.dtype if dtype is None else dtype
        device = self.device if device is None else device
        return make(*size, dtype=dtype, device=device, requires_grad=requires_grad)

    made.__name__, made.__doc__ = name, f"As fp.{name[4:]}, in this one's dtype unless told."
    setattr(Tensor, name, made)


for _name in ("zeros", "ones", "empty"):
    _new(f"new_{_name}", getattr(ops, _name))


def set_requires_grad(self: Tensor, requires_grad: bool) -> None:
    """x.requires_grad = True: requires_grad_(True)."""
    self.requires_grad_(requires_grad)


# mypy takes a property of a class for what it returns.
setattr(Tensor, "data", vars(Tensor)["data"].setter(give_memory))  # noqa: B010
setattr(Tensor, "requires_grad", vars(Tensor)["requires_grad"].setter(set_requires_grad))  # noqa: B010


@method
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or one size of it."""
    return self.shape if dim is None else self.array.shape[as_axis(dim, self.ndim, "size: dim")]


@method
def where(self: Tensor, condition: Tensor | np.ndarray | bool, other: Operand) -> Tensor:
    """This tensor where `condition` (booleans) holds, other elsewhere."""
    return ops.where(condition, self, other)
