"""Tensors of constants and of even steps: computed in float64, rounded once.

Sizes are given one by one or as one tuple. Without a dtype floating numbers are stored in the
active precision's format.
"""

import math

import numpy as np

from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.autograd.unrounded import begin_unrounded, has_unrounded
from minifp.checks import LARGEST, check_count
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.arguments import also_by_name, as_size, check_room
from minifp.ops.creation import tensor
from minifp.ops.public import public
from minifp.ops.whole_numbers import warn_of_equal
from minifp.runtime.device import as_device, device_of, full_on
from minifp.typing import Device, DType, Ints


@public("fp")
def full(
    size: Ints,
    fill_value: float,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of shape `size` filled with one number: of integers or booleans for one of these."""
    return filled("full", (size,), fill_value, dtype, device, requires_grad)


def filled(function, size, value, dtype, device, requires_grad):
    """The number, rounded once, in every place."""
    size = as_size(size, f"{function}")
    number = tensor(value, dtype, "cpu").array
    if number.ndim:
        raise ShapeError(f"{function}: a value of shape {number.shape}: expected one number")
    made = full_on(as_device(device), size, number[()], number.dtype)
    return Tensor(made, requires_grad)


@public("fp")
@also_by_name("size")
def zeros(
    *size: Ints, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of zeros in the storage format: `zeros(2, 3)` or `zeros((2, 3))`."""
    return filled("zeros", size, 0.0, dtype, device, requires_grad)


@public("fp")
@also_by_name("size")
def ones(
    *size: Ints, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of ones in the storage format."""
    return filled("ones", size, 1.0, dtype, device, requires_grad)


@public("fp")
@also_by_name("size")
def empty(
    *size: Ints, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of which only the shape and the dtype are promised. Here it holds zeros."""
    return filled("empty", size, 0.0, dtype, device, requires_grad)


@public("fp")
@takes_tensor
def full_like(
    input: Tensor,
    fill_value: float,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the shape and dtype of `input`, filled with one number; with unrounded numbers
    behind it if `input`, as a parameter, has them."""
    dtype = input.dtype if dtype is None else dtype
    device = device_of(getattr(input, "array", input)) if device is None else device
    made = filled("full_like", (input.shape,), fill_value, dtype, device, requires_grad)
    if has_unrounded(input) and made.dtype == input.dtype:  # as for the momentum of a weight
        begin_unrounded(made)
        made.storage.write(made.array, np.full(made.shape, fill_value))
    return made


@public("fp")
@takes_tensor
def zeros_like(
    input: Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Zeros of the shape and dtype of `input`."""
    return full_like(input, 0.0, dtype=dtype, device=device, requires_grad=requires_grad)


@public("fp")
@takes_tensor
def ones_like(
    input: Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Ones of the shape and dtype of `input`."""
    return full_like(input, 1.0, dtype=dtype, device=device, requires_grad=requires_grad)


@public("fp")
@takes_tensor
def empty_like(
    input: Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of the shape and dtype of `input`; its numbers are no promise, and zeros here."""
    return full_like(input, 0.0, dtype=dtype, device=device, requires_grad=requires_grad)


@public("fp")
def arange(
    start: float,
    end: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from start (0 if only one is given) up to, not including, end: int64 for integers."""
    start, end = (0, start) if end is None else (start, end)
    for name, v in (("start", start), ("end", end), ("step", step)):
        check_number("arange", name, v)
    if step == 0:
        raise ArgumentError("arange: step=0: expected another number")
    if (end - start) / step < 0:
        raise ArgumentError(f"arange: steps of {step} do not lead from {start} to {end}")
    check_room("arange", (math.ceil((end - start) / step),))
    numbers = np.arange(start, end, step)
    if numbers.dtype.kind == "i":
        numbers = np.asarray(numbers, np.int64)  # in a browser NumPy's own have 32 bits
    return _in_steps("arange", numbers, dtype, device, requires_grad)


@public("fp")
def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """So many numbers at even distances, from start to end, both included."""
    for name, v in (("start", start), ("end", end)):
        check_number("linspace", name, v)
    steps = check_count("linspace: steps", steps, 0)
    check_room("linspace", (steps,))
    numbers = np.linspace(start, end, steps)
    return _in_steps("linspace", numbers, dtype, device, requires_grad)


def _in_steps(function, numbers, dtype, device, requires_grad):
    """Numbers that all differ, as a tensor. Warns where some are one in its format."""
    made = tensor(numbers, dtype, device, requires_grad)
    if len(numbers) > 1 and numbers[0] != numbers[-1]:
        warn_of_equal(made.array, function)
    return made


def check_number(function, name, value):
    """Raise DTypeError for what is no number, ArgumentError for one that is not finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise DTypeError(f"{function}: {name}={value!r}: expected a number")
    value = float(value) if isinstance(value, np.floating) else value
    if not -LARGEST <= value <= LARGEST:
        raise ArgumentError(f"{function}: {name}={value!r}: expected a finite number")


@public("fp")
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """The identity matrix (n, n), or the same with m columns."""
    n = check_count("eye: n", n, 0)
    m = n if m is None else check_count("eye: m", m, 0)
    check_room("eye", (n, m))
    return tensor(np.eye(n, m), dtype, device, requires_grad)
