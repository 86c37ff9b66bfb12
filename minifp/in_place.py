"""Operations that write into their tensor, as methods: the tape notices, and so do masters.

Writing counts as a change of the storage (`storage.version`): a backward that needs what was
overwritten refuses. On a tensor that requires a gradient nothing is written while recording, for
its gradient would be that of something else.
"""

from functools import wraps
from typing import Any

import numpy as np

from minifp import ops, random
from minifp.errors import DTypeError, MinifpError, ShapeError, TapeError
from minifp.formats import is_float, narrow
from minifp.ops.creation import Data, as_array
from minifp.ops.indexing import assign
from minifp.tape import Tensor, is_recording


def _write(self, name, value):
    if self.requires_grad and is_recording():
        raise TapeError(
            f"{name} on a tensor that requires a gradient, while recording: "
            "do it under fp.no_grad(), or use the operation that returns a new tensor"
        )
    if not self.array.flags.writeable:
        raise TapeError(f"{name} on a tensor that shares its elements (expand): clone it first")
    self.data = np.broadcast_to(value, self.shape)  # counts as a change, for tape and masters
    return self


def _in_place(name, operation, assigns=False):
    @wraps(operation)  # for its signature
    def apply(self, *args, **settings):
        if is_recording() and any(isinstance(a, Tensor) and a.requires_grad for a in args):
            raise TapeError(
                f"{name} with a tensor that requires a gradient: its gradient would be lost"
            )
        try:
            value = operation(self.detach(), *args, **settings).array
            if not assigns and is_float(value.dtype) and not is_float(self.dtype):
                raise DTypeError(f"{name}: a result of {value.dtype} for a tensor of {self.dtype}")
            return _write(self, name, value)
        except ValueError as error:
            if isinstance(error, MinifpError):
                raise
            raise ShapeError(
                f"{name}: the result does not fit shape {self.shape}: {error}"
            ) from error

    apply.__name__ = apply.__qualname__ = name
    apply.__module__ = __name__
    apply.__doc__ = f"As `{name[:-1]}`, but written into this tensor; the tape notices."
    setattr(Tensor, name, apply)


def _assigned(self: Tensor, value: Data) -> Tensor:
    return Tensor(as_array(value))


def _zero(self: Tensor) -> Tensor:
    return Tensor(np.zeros((), self.dtype))


def _uniform(self: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    drawn = random.uniform(self.shape, low, high, purpose="rand")
    below = np.nextafter(np.asarray(high, self.dtype), np.asarray(low, self.dtype))
    return Tensor(np.minimum(drawn, below.astype(drawn.dtype)))  # or rounding would give `high`


def _normal(self: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    return Tensor(random.normal(self.shape, mean, std, purpose="randn"))


FUNCTIONS = ("add", "sub", "mul", "div", "pow", "neg", "abs", "exp", "sqrt", "square", "clamp")
FUNCTIONS += ("relu", "sigmoid", "tanh", "floor", "round", "masked_fill")
FUNCTIONS += ("index_add", "scatter_add")
for _name in FUNCTIONS:
    _in_place(f"{_name}_", getattr(ops, _name))
_in_place("copy_", _assigned, assigns=True)
_in_place("fill_", _assigned, assigns=True)
_in_place("zero_", _zero)
_in_place("uniform_", _uniform)
_in_place("normal_", _normal)


def __setitem__(self: Tensor, index: Any, value: Data) -> None:
    if isinstance(value, Tensor) and value.requires_grad and is_recording():
        raise TapeError(
            "x[index] = value, where value requires a gradient: its gradient would be lost; "
            "build the result with fp.where, fp.cat or fp.stack"
        )
    changed = self.array.copy()
    try:
        assign(changed, index, narrow(as_array(value), self.dtype))
    except (ValueError, IndexError) as error:
        if isinstance(error, MinifpError):
            raise
        raise ShapeError(f"x[index] = value for x of shape {self.shape}: {error}") from error
    _write(self, "x[index] = value", changed)


setattr(Tensor, __setitem__.__name__, __setitem__)
