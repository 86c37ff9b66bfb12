"""The methods and operators of Tensor. Importing this module attaches them."""

import numpy as np

from minifp.backend import as_device
from minifp.errors import DTypeError, MinifpError, ShapeError, TapeError
from minifp.formats import as_dtype, is_float, narrow
from minifp.ops import creation, matmul, pointwise, reduce, shape, softmax
from minifp.tape import Tensor, is_recording


def _operator(operation, swapped=False):
    def apply(self, other):
        if not isinstance(other, (Tensor, np.ndarray, np.generic, bool, int, float)):
            return NotImplemented
        if isinstance(other, (np.ndarray, np.generic)):
            other = Tensor(np.asarray(other))
        return operation(other, self) if swapped else operation(self, other)

    return apply


for _name, _operation in (
    *(("add", pointwise.add), ("sub", pointwise.sub), ("mul", pointwise.mul)),
    *(("truediv", pointwise.div), ("pow", pointwise.pow), ("matmul", matmul.matmul)),
):
    setattr(Tensor, f"__{_name}__", _operator(_operation))
    setattr(Tensor, f"__r{_name}__", _operator(_operation, swapped=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _operator(getattr(pointwise, _name)))
Tensor.__hash__ = object.__hash__
Tensor.__neg__ = pointwise.neg
Tensor.__abs__ = pointwise.abs
Tensor.__getitem__ = shape.getitem

_METHODS = {
    pointwise: (
        *(
            "add",
            "sub",
            "mul",
            "div",
            "pow",
            "neg",
            "exp",
            "log",
            "sqrt",
            "abs",
            "square",
            "sin",
            "cos",
        ),
        *("tanh", "sigmoid", "relu", "maximum", "minimum", "clamp"),
        *("eq", "ne", "lt", "le", "gt", "ge", "isfinite", "isnan"),
    ),
    reduce: ("sum", "mean", "var", "amax", "amin", "argmax", "argmin"),
    shape: (
        *("reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "expand"),
        *("split", "chunk"),
    ),
    matmul: ("matmul",),
    softmax: ("softmax", "log_softmax"),
}
for _module, _names in _METHODS.items():
    for _name in _names:
        setattr(Tensor, _name, getattr(_module, _name))


def method(fn):
    """Attach a function as a method of Tensor under its own name."""
    name = fn.__name__.rstrip("_") if fn.__name__ == "float_" else fn.__name__
    setattr(Tensor, name, property(fn) if name == "T" else fn)
    return fn


@method
def T(self):
    """The transpose of a matrix, as a view."""
    if self.ndim != 2:
        raise ShapeError(f".T of a tensor of shape {self.shape}: expected two dimensions")
    return shape.transpose(self, 0, 1)


@method
def to(self, *args, dtype=None, device=None):
    """In another dtype (rounded once, recorded) or on another device: `x.to("float16")`."""
    for a in args:
        if isinstance(a, str) and a.split(":")[0] in ("cpu", "cuda"):
            device = a
        else:
            dtype = a
    as_device(device)
    dtype = self.dtype if dtype is None else as_dtype(dtype)
    if dtype == self.dtype:
        return self
    if is_float(dtype) and is_float(self.dtype):
        return pointwise.cast(self, dtype=dtype)
    return Tensor(np.array(self.array, dtype))


@method
def half(self):
    """In float16."""
    return to(self, "half")


@method
def float_(self):
    """In float32."""
    return to(self, "single")


@method
def numpy(self):
    """The array itself, not a copy: writing into it is not noticed by the tape."""
    return self.array


@method
def item(self):
    """The one number, as a Python number. Raises ShapeError where there are more."""
    if self.array.size != 1:
        raise ShapeError(f"item() of a tensor of shape {self.shape}: expected one element")
    return self.array.item()


@method
def tolist(self):
    """Nested lists of Python numbers."""
    return self.array.tolist()


@method
def numel(self):
    """How many elements it has."""
    return self.array.size


@method
def size(self, dim=None):
    """The shape, or one size of it."""
    return self.shape if dim is None else self.shape[dim]


@method
def clone(self):
    """A copy with memory of its own; the gradient passes through."""
    return pointwise.mul(self, 1.0) if is_float(self.dtype) else Tensor(self.array.copy())


@method
def __array__(self, dtype=None, copy=None):
    return np.array(self.array, dtype, copy=None if copy is None else copy)


@method
def __len__(self):
    if self.ndim == 0:
        raise TypeError("len() of a tensor without dimensions")
    return self.shape[0]


@method
def __iter__(self):
    return (self[i] for i in range(len(self)))


@method
def __bool__(self):
    return bool(self.item())


@method
def __int__(self):
    return int(self.item())


@method
def __float__(self):
    return self.item() * 1.0


@method
def __format__(self, spec):
    return format(self.item() if self.array.size == 1 and spec else str(self), spec)


@method
def __repr__(self):
    body = np.array2string(self.array, separator=", ", prefix="tensor(")
    if self.node is not None:
        made = f", made by {self.node.op}"
    else:
        made = ", requires_grad=True" if self.requires_grad else ""
    return f"tensor({body}, dtype={self.dtype}{made})"


# ---- changing in place --------------------------------------------------------------------------


def _write(self, name, value):
    if self.requires_grad and is_recording():
        raise TapeError(
            f"{name} on a tensor that requires a gradient, while recording: "
            "do it under fp.no_grad(), or use the operation that returns a new tensor"
        )
    self.data = np.broadcast_to(value, self.shape)  # counts as a change, for tape and masters
    return self


def _in_place(name, operation, assigns=False):
    def apply(self, other):
        if isinstance(other, Tensor) and other.requires_grad and is_recording():
            raise TapeError(
                f"{name} with a tensor that requires a gradient: its gradient would be lost"
            )
        try:
            value = operation(self.detach(), other).array
            if not assigns and is_float(value.dtype) and not is_float(self.dtype):
                raise DTypeError(f"{name}: a result of {value.dtype} for a tensor of {self.dtype}")
            return _write(self, name, value)
        except ValueError as error:
            if isinstance(error, MinifpError):
                raise
            raise ShapeError(
                f"{name}: the result does not fit shape {self.shape}: {error}"
            ) from error

    apply.__name__ = name
    apply.__doc__ = f"Like `{name[:-1]}`, but written into this tensor; noticed by the tape."
    setattr(Tensor, name, apply)


_in_place("add_", pointwise.add)
_in_place("sub_", pointwise.sub)
_in_place("mul_", pointwise.mul)
_in_place("div_", pointwise.div)
_in_place("copy_", lambda self, other: Tensor(creation.as_array(other)), assigns=True)
_in_place("fill_", lambda self, value: Tensor(creation.as_array(value)), assigns=True)


@method
def zero_(self):
    """Fill with zeros; noticed by the tape."""
    return self.fill_(0)


@method
def __setitem__(self, index, value):
    if isinstance(value, Tensor) and value.requires_grad and is_recording():
        raise TapeError(
            "x[index] = value, where value requires a gradient: its gradient would be lost"
        )
    changed = self.array.copy()
    try:
        changed[shape.as_index(index)] = narrow(creation.as_array(value), self.dtype)
    except (ValueError, IndexError) as error:
        raise ShapeError(f"x[index] = value for x of shape {self.shape}: {error}") from error
    _write(self, "x[index] = value", changed)
