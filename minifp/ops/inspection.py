"""What a tensor is and holds, the limits of formats, and a tensor's copies. Nothing is computed."""

import math
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from minifp.autograd.gradients import mark_alike
from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.autograd.unrounded import has_unrounded
from minifp.errors import DTypeError
from minifp.numerics.formats import as_dtype, format_of, is_float
from minifp.ops.creation import storage_dtype
from minifp.ops.pointwise.arithmetic import mul
from minifp.ops.public import public
from minifp.typing import DType


@public("fp")
def is_tensor(obj: Any) -> TypeGuard[Tensor]:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


@public("fp Tensor")
@takes_tensor
def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor holds floating numbers."""
    return is_float(input.dtype)


@public("fp Tensor")
@takes_tensor
def numel(input: Tensor) -> int:
    """How many elements a tensor has."""
    return math.prod(input.shape)


@public("fp Tensor")
@takes_tensor
def clone(input: Tensor) -> Tensor:
    """A copy with memory of its own; the gradient passes through.

    Unrounded numbers are copied too, so that what is put back loses nothing; and of a gradient what
    it was multiplied by.
    """
    input = input if isinstance(input, Tensor) else Tensor(input)
    is_recorded = is_float(input.dtype) and input.gradient_node is not None
    copy = mul(input, 1.0) if is_recorded else Tensor(input.array.copy())
    exact = None if has_unrounded(copy) else input.exact
    if exact is not None:
        copy.storage.keep(copy.array, exact.copy())
    return mark_alike(input, copy)


@public("fp")
@takes_tensor
def detach(input: Tensor) -> Tensor:
    """A tensor on the same memory that remembers nothing."""
    return input.detach() if isinstance(input, Tensor) else Tensor(input)


# ---- limits of formats --------------------------------------------------------------------------


@dataclass(frozen=True)
class FloatLimits:
    """Limits of a floating format, as Python numbers. `tiny` is the smallest normal number."""

    dtype: str
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    smallest_subnormal: float
    resolution: float


@dataclass(frozen=True)
class IntegerLimits:
    """Limits of an integer format."""

    dtype: str
    bits: int
    max: int
    min: int


@public("fp")
def finfo(dtype: DType | None = None) -> FloatLimits:
    """The limits of a floating format; without one, of the active precision's storage format.

    Raises DTypeError for one that is not floating.
    """
    wanted = storage_dtype(dtype)
    if not is_float(wanted):
        raise DTypeError(f"finfo of {wanted}: expected a floating dtype; for integers use iinfo")
    f = format_of(wanted)
    least = f.smallest_normal, f.smallest_normal, f.smallest_subnormal
    resolution = float(f"1e-{int(f.mantissa_bits * math.log10(2))}")
    return FloatLimits(f.name, 8 * f.bytes, f.eps, f.max, -f.max, *least, resolution)


@public("fp")
def iinfo(dtype: DType) -> IntegerLimits:
    """The limits of an integer format. Raises DTypeError for another."""
    wanted = as_dtype(dtype)
    if wanted.kind not in "iu":
        raise DTypeError(
            f"iinfo of {wanted}: expected an integer dtype; for floating numbers use finfo"
        )
    found = np.iinfo(wanted)
    return IntegerLimits(wanted.name, found.bits, int(found.max), int(found.min))
