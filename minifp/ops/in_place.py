"""Operations that write into their tensor, as methods: the tape notices, and so do masters.

Writing counts as a change of the storage (`storage.version`): a backward that needs what was
overwritten refuses. On a tensor that requires a gradient nothing is written while recording, for
its gradient would be that of something else.

`x += y` and its kin write too, but for one case: where the result is recorded (x was made by a
recorded operation, or y requires a gradient) they mean `x = x + y`, so that the name x has the new
tensor and other names of the old one keep it. `x @= y` is `x = x @ y` always.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from minifp.autograd.grad_mode import is_recording
from minifp.autograd.gradient_clip import multiplied
from minifp.autograd.memory import write
from minifp.autograd.scaled import is_scaled, warn_of_unscaling, without_scale
from minifp.autograd.tape import Tensor
from minifp.autograd.unrounded import begin_unrounded, has_unrounded
from minifp.derive.dtypes import name_of
from minifp.errors import DTypeError, MinifpError, ShapeError, TapeError
from minifp.numerics.formats import as_native, downcast, is_float, just_below
from minifp.ops.creation import Data, as_array
from minifp.ops.elementwise import Operand, check_fits
from minifp.ops.public import DECLARED, OPERATORS
from minifp.ops.shaping.indexing import assign
from minifp.ops.whole_numbers import watched
from minifp.runtime import random
from minifp.runtime.device import device_of, moved, placed


def numbers_of(t: Any) -> Any:
    """What is written into: the unrounded numbers, where there are any, or those that are stored.

    Else a part that is written over, or a clamp, would round all the masters at every step.
    """
    exact = t.exact
    return t.array if exact is None else exact


def _refuse(name):
    raise TapeError(
        f"{name} on a tensor that requires a gradient, while recording: use fp.no_grad(), or the "
        "operation that returns a new tensor"
    )


def _check_writeable(self, name):
    if self.requires_grad and is_recording():
        _refuse(name)
    if not self.storage.takes(self.array):
        raise TapeError(f"{name} on an expanded tensor, which cannot be written to: clone it")
    self.storage.refresh()


def _write(self, value):
    write(self, np.broadcast_to(value, self.shape))  # counts as a change, for tape and masters
    return self


COMMUTING = "mul_", "div_", "neg_", "zero_"  # with a loss scale
ZEROING = "zero_", "fill_"  # which begin a gradient anew


def _is_all_zero(t, value):
    whole = t.array if t.array.base is None else t.array.base
    return t.array.size == getattr(whole, "size", None) and not as_native(value).any()


def _in_place(name, operation, assigns=False):
    @wraps(operation)  # for its signature
    def apply(self, *args, **settings):
        if is_recording() and any(isinstance(a, Tensor) and a.requires_grad for a in args):
            raise TapeError(
                f"{name} with a tensor that requires a gradient: its gradient would be lost"
            )
        _check_writeable(self, name)
        is_gradient = self.seed != 1 and is_scaled(self)
        if is_gradient and name in COMMUTING:
            warn_of_unscaling(self, name, args)
            is_gradient = False
        try:
            if is_gradient:  # written as it is meant: without the loss scale
                args = [without_scale(a) for a in args]
                value = operation(without_scale(self), *args, **settings).array
                value = multiplied(value, float(self.seed))
            else:
                args = _unrounded_too(self, args)
                value = numbers_of(operation(Tensor(numbers_of(self)), *args, **settings))
            if not assigns and is_float(value.dtype) and not is_float(self.dtype):
                found = name_of(value.dtype)
                raise DTypeError(f"{name}: a result of {found} for a tensor of {self.dtype}")
            _write(self, value)
            self.storage.zeroed |= name in ZEROING and _is_all_zero(self, value)
            return self
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


def _unrounded_too(self, args):
    """The arguments, with the unrounded numbers of those that have them where this tensor has. One
    that has none, as a buffer for an average, begins to when it is given those of a `.data`."""
    rounded = [a for a in args if has_unrounded(a)]
    if not rounded:
        return args
    if any(a.precision is None for a in rounded):
        begin_unrounded(self)
    is_exact = has_unrounded(self)
    return [Tensor(a.exact) if is_exact and has_unrounded(a) else a for a in args]


def _assigned(self: Tensor, value: Data) -> Tensor:
    check_fits("fill_: value", value, self.dtype)
    return Tensor(_numbers(value))


def _numbers(value):
    return numbers_of(value) if isinstance(value, Tensor) else as_array(value)


def _zero(self: Tensor) -> Tensor:
    return Tensor(np.zeros((), self.array.dtype))


def _uniform(self: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    drawn = random.uniform(self.shape, low, high, purpose="rand")
    below = just_below(high, low, self.array.dtype)
    return Tensor(np.minimum(drawn, np.asarray(below, drawn.dtype)))  # else rounded to `high`


def _normal(self: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    return Tensor(random.normal(self.shape, mean, std, purpose="randn"))


for _declared in DECLARED:
    if _declared.in_place:
        for _name in _declared.names:
            _in_place(f"{_name}_", _declared.function)
setattr(Tensor, "add_", watched(vars(Tensor)["add_"]))  # noqa: B010
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
    _check_writeable(self, "x[index] = value")
    if self.seed != 1 and is_scaled(self):
        value = multiplied(as_array(without_scale(value)), float(self.seed))
    check_fits("x[index] = value: value", value, self.dtype)
    numbers = moved(_numbers(value), "cpu")

    def put(target):
        on_host = moved(target, "cpu")
        assign(on_host, index, downcast(numbers, target.dtype))
        if on_host is not target:
            target[...] = placed(on_host, like=target)

    try:
        self.storage.put(self.array, put)
    except (ValueError, IndexError) as error:
        if isinstance(error, MinifpError):
            raise
        raise ShapeError(f"x[index] = value for x of shape {self.shape}: {error}") from error


setattr(Tensor, __setitem__.__name__, __setitem__)


# ---- x += y -------------------------------------------------------------------------------------


def _augmented(name: str, operation: Callable[..., Tensor]) -> Callable[[Tensor, Operand], Tensor]:
    """x += y for the operation "add": in place, unless the result is recorded."""

    def apply(self: Tensor, other: Operand) -> Tensor:
        if not isinstance(other, (Tensor, np.ndarray, np.generic, bool, int, float)):
            return NotImplemented
        if isinstance(other, (np.ndarray, np.generic)):
            other = Tensor(moved(np.asarray(other), device_of(self.array)))
        if is_recording():
            if self.requires_grad and self.is_leaf:
                _refuse(name)
            if self.requires_grad or (isinstance(other, Tensor) and other.requires_grad):
                return operation(self, other)
        return getattr(self, name)(other)

    return apply


for _declared in DECLARED:
    if _declared.in_place and "y" in _declared.operator:
        _apply = _augmented(f"{_declared.names[0]}_", _declared.function)
        setattr(Tensor, f"__i{OPERATORS[_declared.operator]}__", _apply)
