"""NumPy's functions of tensors: np.sqrt(x), np.isnan(x), np.mean(x), array + x.

An operator on an array and a tensor asks NumPy for its function of that name: these are minifp's
own operations, and recorded. Other functions element by element give tensors, without gradient,
and all others what they give of arrays, as with PyTorch's tensors. Importing this module attaches
them.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import DeviceError, DTypeError, TapeError
from minifp.numerics.formats import as_native, downcast, is_float, wider
from minifp.ops.methods import read
from minifp.ops.public import DECLARED

OPERATORS: dict[Any, str] = {  # of two tensors
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv",
    np.floor_divide: "floordiv", np.remainder: "mod", np.power: "pow", np.matmul: "matmul",
    np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor", np.equal: "eq",
    np.not_equal: "ne", np.less: "lt", np.less_equal: "le", np.greater: "gt",
    np.greater_equal: "ge",
}  # fmt: skip
# Python asks x > 2 for 2 < x
SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def refuse_gradient(name: str) -> None:
    """Raise TapeError for a function of NumPy's whose gradient nobody would know."""
    own = f"fp.{name}(x), or " * any(name in d.names and "fp" in d.where for d in DECLARED)
    raise TapeError(
        f"np.{name} of a tensor that requires a gradient, which NumPy would lose: write "
        f"{own}np.{name}(x.detach())"
    )


def numbers_of(x: Any, name: str, tensors: list[Tensor]) -> Any:
    """What is given to NumPy's function, its tensors as arrays; these are added to `tensors`."""
    if isinstance(x, (list, tuple)):
        make: Callable[..., Any] = getattr(x, "_make", type(x))  # of named tuples
        return make([numbers_of(part, name, tensors) for part in x])
    if not isinstance(x, Tensor):
        return x
    if x.device != "cpu":
        raise DeviceError(
            f"np.{name} of a tensor on the GPU: write minifp's own function, or "
            f"np.{name}(x.detach().numpy()), which copies it"
        )
    tensors.append(x)
    return as_native(read(x))


def __array_ufunc__(
    self: Tensor, ufunc: Callable[..., Any], method: str, *inputs: Any, **settings: Any
) -> Any:
    name = OPERATORS.get(ufunc) if method == "__call__" and not settings else None
    if name is not None:
        x, y = inputs
        if isinstance(x, Tensor):
            return getattr(x, f"__{name}__")(y)
        return getattr(y, f"__{SWAPPED.get(name, 'r' + name)}__")(x)
    tensors: list[Tensor] = []
    arrays = numbers_of(inputs, ufunc.__name__, tensors)
    writes = settings.get("out") or inputs[: method == "at"]
    if any(isinstance(a, Tensor) for a in writes):
        raise DTypeError(f"np.{ufunc.__name__} into a tensor: expected an array; see x.copy_(...)")
    if any(t.requires_grad for t in tensors):
        refuse_gradient(ufunc.__name__)
    results = getattr(ufunc, method)(*arrays, **settings)
    if results is None or settings.get("out") is not None:
        return results
    several = isinstance(results, tuple)
    stored = tuple([stored_as(y, inputs) for y in (results if several else (results,))])
    return stored if several else stored[0]


def stored_as(y: Any, inputs: tuple) -> Tensor:
    """A result as a tensor, in the widest format of the inputs where NumPy lacks one of theirs."""
    dtypes = [t.array.dtype for t in inputs if isinstance(t, Tensor) and is_float(t.array.dtype)]
    coded = any(dtype.kind == "V" for dtype in dtypes) and y.dtype.kind == "f"
    dtypes += [a.dtype for a in inputs if isinstance(a, (np.ndarray, np.generic))]
    return Tensor(downcast(np.asarray(y), reduce(wider, dtypes)) if coded else np.asarray(y))


def __array_function__(
    self: Tensor, function: Callable[..., Any], types: Any, args: Any, settings: Any
) -> Any:
    tensors: list[Tensor] = []
    args = numbers_of(args, function.__name__, tensors)
    settings = {k: numbers_of(v, function.__name__, tensors) for k, v in settings.items()}
    result = function(*args, **settings)
    kinds = [getattr(y, "dtype", None) for y in (result if type(result) is tuple else (result,))]
    has_gradient = any(t.requires_grad for t in tensors)
    if has_gradient and any(isinstance(k, np.dtype) and is_float(k) for k in kinds):
        refuse_gradient(function.__name__)
    return result


for _function in (__array_ufunc__, __array_function__):
    setattr(Tensor, _function.__name__, _function)
