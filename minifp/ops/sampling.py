"""Random tensors, from the counter-based streams that `manual_seed` starts (minifp/random.py).

They are drawn in float32 (integers exactly) and then rounded once, so that every precision gets the
same numbers. A purpose has a stream of its own: drawing with `randn` moves nothing in `rand`.
"""

import numpy as np

from minifp import random
from minifp.checks import check_count
from minifp.errors import ArgumentError, DTypeError
from minifp.formats import is_float, narrow
from minifp.ops.creation import storage_dtype, tensor
from minifp.ops.dims import also_by_name, as_integers, is_integer
from minifp.recording import takes_tensor
from minifp.tape import Tensor
from minifp.typing import DType, Ints


def floating(function, dtype):
    """The format to round to. Raises DTypeError for one that is not floating."""
    dtype = storage_dtype(dtype)
    if not is_float(dtype):
        raise DTypeError(f"{function}: dtype={dtype}: expected a floating one")
    return dtype


@also_by_name("size")
def rand(
    *size: Ints, dtype: DType | None = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Uniform numbers in [0, 1): what rounding would carry to 1 stays just below."""
    shape, dtype = as_integers(size, "rand: size ", 0), floating("rand", dtype)
    drawn = narrow(random.uniform(shape, purpose="rand"), dtype)
    below = np.nextafter(dtype.type(1), dtype.type(0))
    return tensor(np.minimum(drawn, below), dtype, device, requires_grad)


@also_by_name("size")
def randn(
    *size: Ints, dtype: DType | None = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """Standard normal numbers."""
    shape, dtype = as_integers(size, "randn: size ", 0), floating("randn", dtype)
    return tensor(random.normal(shape, purpose="randn"), dtype, device, requires_grad)


def randint(
    low: int, high: int | tuple[int, ...] | list[int] | None = None, size: Ints | None = None, *,
    dtype: DType = "int64", device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Integers from low up to, not including, high: `randint(high, size)` or `(low, high, size)`.

    Raises ArgumentError where there is none between them.
    """
    if size is None:
        low, high, size = 0, low, high
    if not is_integer(low) or not is_integer(high) or low >= high:
        raise ArgumentError(f"randint: from {low!r} to {high!r}: expected integers, low < high")
    shape = as_integers((size,), "randint: size ", 0)
    drawn = random.integers(int(low), int(high), shape, purpose="randint")
    return tensor(drawn, dtype, device, requires_grad)


def randperm(
    n: int, *, dtype: DType = "int64", device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """The integers from 0 to n - 1 in a random order, every order equally likely."""
    n = check_count("randperm: n", n, 0)
    return tensor(random.permutation(n, purpose="randperm"), dtype, device, requires_grad)


@takes_tensor
def rand_like(
    input: Tensor, *, dtype: DType | None = None, device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`rand` of the shape and dtype of `input`."""
    dtype = floating("rand_like", input.dtype if dtype is None else dtype)
    return rand(input.shape, dtype=dtype, device=device, requires_grad=requires_grad)


@takes_tensor
def randn_like(
    input: Tensor, *, dtype: DType | None = None, device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`randn` of the shape and dtype of `input`."""
    dtype = floating("randn_like", input.dtype if dtype is None else dtype)
    return randn(input.shape, dtype=dtype, device=device, requires_grad=requires_grad)


@takes_tensor
def randint_like(
    input: Tensor, low: int, high: int | None = None, *, dtype: DType | None = None,
    device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`randint` of the shape and dtype of `input`: `randint_like(x, high)` or `(x, low, high)`."""
    low, high = (0, low) if high is None else (low, high)
    dtype = input.dtype if dtype is None else dtype
    return randint(low, high, input.shape, dtype=dtype, device=device, requires_grad=requires_grad)
