"""Operations that write into their tensor, as methods: the tape notices, and so do masters.

Writing counts as a change of the storage (`storage.version`): a backward that needs what was
overwritten refuses. Where gradients are recorded, on a tensor that was recorded or with one,
nothing is overwritten: the tensor is bound to the result (binding.py). A leaf that requires a
gradient is refused then, for its gradient would be that of something else. `x @= y` is `x = x @ y`.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from minifp.autograd.gradients import multiplied
from minifp.autograd.scaled import is_scaled, warn_of_unscaling, without_scale
from minifp.autograd.tape import Tensor
from minifp.autograd.unrounded import begin_unrounded, has_unrounded
from minifp.errors import MinifpError, ShapeError
from minifp.numerics.formats import as_native, downcast, just_below
from minifp.ops import binding
from minifp.ops.creation import Data, as_array
from minifp.ops.elementwise import Operand, as_numbers, check_fits
from minifp.ops.factories.sampling import bernoulli
from minifp.ops.pointwise.arithmetic import cast
from minifp.ops.public import DECLARED, OPERATORS
from minifp.ops.shaping.indexing import Places, places
from minifp.ops.shaping.parts import put_value
from minifp.ops.whole_numbers import watched
from minifp.runtime import random
from minifp.runtime.device import address, device_of, moved, placed

ALL = Places((...,), None)
COMMUTING = "mul_", "div_", "neg_", "zero_"  # with a loss scale
ZEROING = "zero_", "fill_"  # which begin a gradient anew
# Whose numbers do not depend on what was there.
ASSIGNING = *ZEROING, "copy_", "uniform_", "normal_", "bernoulli_"
# Whose source has the dtype of the tensor.
OF_ONE_DTYPE = "scatter_", "scatter_add_", "index_add_"


def _is_all_zero(t, value):
    whole = t.array if t.array.base is None else t.array.base
    return t.array.size == getattr(whole, "size", None) and not as_native(value).any()


def _in_place(name, operation, assigns=False):
    @wraps(operation)  # for its signature
    def apply(self, *args, **settings):
        arguments = (*args, *settings.values())
        if binding.is_bound(self, arguments, name):
            result = operation(self, *args, **settings)
            result = put_value(self, result, ALL) if name in ASSIGNING else result
            return binding.bind(self, result, name)
        binding.check_writeable(self, name)
        is_gradient = self.seed != 1 and is_scaled(self)
        if is_gradient and name in COMMUTING:
            warn_of_unscaling(self, name, arguments)
            is_gradient = False
        try:
            if is_gradient:  # written as it is meant: without the loss scale
                numbers, arguments = without_scale(self), map(without_scale, arguments)
            else:
                arguments = _unrounded_too(self, arguments)
                numbers = Tensor(binding.numbers_of(self))
                if name in OF_ONE_DTYPE and numbers.dtype != self.dtype:
                    arguments = [_converted(a, self.dtype, numbers.dtype) for a in arguments]
            ahead = iter(arguments)
            args, settings = [next(ahead) for _ in args], dict(zip(settings, ahead))
            value = operation(numbers, *args, **settings)
            value = (
                multiplied(value.array, float(self.seed))
                if is_gradient
                else binding.numbers_of(value)
            )
            if not assigns:
                binding.check_kind(self, value, name)
            binding.write_numbers(self, value)
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


def _converted(a, dtype, to):
    """An argument; where it is a tensor of a dtype, in another."""
    return cast(a, dtype=to) if isinstance(a, Tensor) and a.dtype == dtype else a


def _assigned(self: Tensor, value: Data) -> Tensor:
    check_fits("fill_: value", value, self.dtype)
    return value if isinstance(value, Tensor) else Tensor(as_array(value))


def _zero(self: Tensor) -> Tensor:
    return Tensor(np.zeros((), self.array.dtype))


def _uniform(self: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    drawn = random.uniform(self.shape, low, high, purpose="rand")
    below = just_below(high, low, self.array.dtype)
    return Tensor(np.minimum(drawn, np.asarray(below, drawn.dtype)))  # else rounded to `high`


def _bernoulli(self: Tensor, p: float | Tensor = 0.5) -> Tensor:
    given = p.array if isinstance(p, Tensor) else np.asarray(as_numbers("bernoulli_", p=p)["p"])
    return bernoulli(Tensor(placed(np.broadcast_to(given, self.shape), like=self.array)))


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
_in_place("bernoulli_", _bernoulli, assigns=True)


def __setitem__(self: Tensor, index: Any, value: Data) -> None:
    name = "x[index] = value"
    is_recorded = binding.is_bound(self, (value,), name)
    if not is_recorded:
        binding.check_writeable(self, name)
    if self.seed != 1 and is_scaled(self):
        value = multiplied(as_array(without_scale(value)), float(self.seed))
    check_fits(f"{name}: value", value, self.dtype)
    place = places(index, self.shape)
    if is_recorded:
        if not _is_there(self, place, value):
            binding.bind(self, put_value(self, value, place), name)
        return
    numbers = binding.numbers_of(value) if isinstance(value, Tensor) else as_array(value)
    numbers = placed(numbers, like=self.array)
    try:
        self.storage.put(self.array, lambda t: place.write(t, downcast(numbers, t.dtype)))
    except (ValueError, IndexError) as error:
        if isinstance(error, MinifpError):
            raise
        raise ShapeError(f"{name} for x of shape {self.shape}: {error}") from error


def _is_there(x, place, value):
    """Whether a value has the place already, as in x[i] += y, where it is x[i] after the sum."""
    if place.arrays is not None or getattr(value, "storage", None) is not x.storage:
        return False
    there, own = place.read(x.array), value.array
    same = there.shape == own.shape and there.strides == own.strides
    return value.requires_grad and same and address(there) == address(own)


setattr(Tensor, __setitem__.__name__, __setitem__)


# ---- x += y -------------------------------------------------------------------------------------


def _augmented(name: str) -> Callable[[Tensor, Operand], Tensor]:
    """x += y, of which the method is `name`."""

    def apply(self: Tensor, other: Operand) -> Tensor:
        if not isinstance(other, (Tensor, np.ndarray, np.generic, bool, int, float)):
            return NotImplemented
        if isinstance(other, (np.ndarray, np.generic)):
            other = Tensor(moved(np.asarray(other), device_of(self.array)))
        return getattr(self, name)(other)

    return apply


for _declared in DECLARED:
    if _declared.in_place and "y" in _declared.operator:
        _apply = _augmented(f"{_declared.names[0]}_")
        setattr(Tensor, f"__i{OPERATORS[_declared.operator]}__", _apply)
