"""What Python and NumPy do with a Tensor by themselves: len, bool, float, copies, arrays, its text.
Importing this module attaches it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from minifp.autograd.gradients import mark_alike, successor
from minifp.autograd.tape import Tensor
from minifp.errors import DeviceError, DTypeError, ShapeError, TapeError
from minifp.numerics.formats import as_native, is_float
from minifp.ops.methods import method, read, tell_readers


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    if self.device != "cpu":
        raise DeviceError("a tensor on the GPU as a NumPy array: call .numpy(), which copies it")
    tell_readers(self)
    if self.array.dtype.kind == "V":
        if copy is False:
            raise ValueError(f"a tensor of {self.dtype} as a NumPy array needs a copy")
        return as_native(self.array).astype(dtype or "float32", copy=False)
    if copy:
        return np.array(self.array, dtype)
    if copy is False and dtype is not None and self.dtype != dtype:
        raise ValueError(f"a tensor of {self.dtype} as an array of {dtype} needs a copy")
    return np.asarray(self.array, dtype)


@method
def __dlpack__(self: Tensor, **settings: Any) -> Any:
    if self.requires_grad:
        raise TapeError("a tensor that requires a gradient shares no memory: .detach() it first")
    return self.array.__dlpack__(**settings)


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return self.array.__dlpack_device__()


@method
def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
    raise DTypeError(
        "tensors cannot be pickled, because unpickling can run any code in a file: use "
        "fp.save(path, model=...) and fp.load, which write and read safetensors; or pickle the "
        "array x.numpy()"
    )


@method
def __deepcopy__(self: Tensor, memo: dict) -> Tensor:
    if self.node is not None:
        raise TapeError(f"deepcopy is for leaves; this tensor is the result of {self.node.op}")
    new = memo[id(self)] = Tensor(self.array.copy())
    new.gradient_dtype = self.gradient_dtype
    exact = self.exact
    if exact is not None:
        new.storage.keep(new.array, exact.copy())
    mark_alike(self, new)
    if self.grad is not None:
        new.grad = successor(self.grad, self.grad.array.copy(), self.grad.seed)
    return new


@method
def __copy__(self: Tensor) -> Tensor:
    """Another tensor on the same memory, as copy.copy makes it: without the gradient and hooks."""
    new = type(self).__new__(type(self))
    if self.storage.sharing is None:
        self.storage.share(self)
    Tensor.__init__(new, self.array, storage=self.storage, node=self.node, index=self.index)
    for kind in type(self).__mro__:
        for name in set(getattr(kind, "__slots__", ())) - {"__weakref__", "_grad", "hooks"}:
            if hasattr(self, name):
                setattr(new, name, getattr(self, name))
    return new


@method
def __len__(self: Tensor) -> int:
    if self.ndim == 0:
        raise TypeError("len() of a tensor without dimensions")
    return self.shape[0]


@method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    return (self[i] for i in range(len(self)))


@method
def __bool__(self: Tensor) -> bool:
    if self.array.size != 1:
        raise ShapeError(
            f"a tensor of shape {self.shape} has no single truth value, which `if`, `while`, "
            "`and`, `or` and `not` need: use .any() or .all(), compare one number, compare two "
            "tensors with fp.equal(a, b), or test for a missing tensor with `x is not None`"
        )
    return bool(self.item())


@method
def __int__(self: Tensor) -> int:
    return int(self.item())


@method
def __index__(self: Tensor) -> int:
    if is_float(self.dtype) or self.array.size != 1:
        raise TypeError(
            f"a tensor of {self.dtype}, shape {self.shape}, as an index: expected one integer"
        )
    return int(self.item())


@method
def __float__(self: Tensor) -> float:
    return self.item() * 1.0


@method
def __format__(self: Tensor, spec: str) -> str:
    return format(self.item() if self.array.size == 1 and spec else str(self), spec)


@method
def __repr__(self: Tensor) -> str:
    body = np.array2string(as_native(read(self)), separator=", ", prefix="tensor(")
    made = ", requires_grad=True" if self.requires_grad else ""
    made = made if self.node is None else f", made by {self.node.op}"
    place = "" if self.device == "cpu" else f", device={self.device}"
    return f"tensor({body}, dtype={self.dtype}{place}{made})"
