"""Random tensors, from the counter-based streams of `manual_seed` (minifp/runtime/random.py).

They are drawn in float32 (integers exactly) and then rounded once, so that every precision gets the
same numbers. A purpose has a stream of its own: drawing with `randn` moves nothing in `rand`.
"""

from typing import Any

import numpy as np

from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.formats import as_dtype, downcast, is_float, just_below
from minifp.ops.arguments import also_by_name, as_integers, as_size, check_room, is_integer
from minifp.ops.creation import storage_dtype, tensor
from minifp.ops.elementwise import check_operands, takes_floats
from minifp.ops.public import public
from minifp.ops.reduce import array_of
from minifp.runtime import random
from minifp.runtime.device import is_array_like
from minifp.typing import Device, DType, Ints


def floating(function, dtype):
    """The format to round to. Raises DTypeError for one that is not floating."""
    dtype = storage_dtype(dtype)
    if not is_float(dtype):
        raise DTypeError(f"{function}: dtype={dtype}: expected a floating one")
    return dtype


@public("fp")
@also_by_name("size")
def rand(
    *size: Ints, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Uniform numbers in [0, 1): what rounding would carry to 1 stays just below."""
    shape, dtype = as_size(size, "rand"), floating("rand", dtype)
    drawn = random.uniform(shape, purpose="rand")
    below = drawn.dtype.type(just_below(1, 0, dtype))  # else rounded to 1
    return tensor(np.minimum(drawn, below), dtype, device, requires_grad)


@public("fp")
@also_by_name("size")
def randn(
    *size: Ints, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Standard normal numbers."""
    shape, dtype = as_size(size, "randn"), floating("randn", dtype)
    return tensor(random.normal(shape, purpose="randn"), dtype, device, requires_grad)


@public("fp")
def randint(
    low: int,
    high: Ints | None = None,
    size: Ints | None = None,
    *,
    dtype: DType = "int64",
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers from low up to, not including, high: `randint(high, size)` or `(low, high, size)`.

    Raises ArgumentError where there is none between them.
    """
    if size is None:
        low, high, size = 0, low, high
    if not is_integer(low) or not is_integer(high) or low >= high:
        raise ArgumentError(f"randint: from {low!r} to {high!r}: expected integers, low < high")
    shape = as_size((size,), "randint")
    drawn = random.integers(int(low), int(high), shape, purpose="randint")
    return tensor(drawn, dtype, device, requires_grad)


@public("fp")
def randperm(
    n: int, *, dtype: DType = "int64", device: Device = None, requires_grad: bool = False
) -> Tensor:
    """The integers from 0 to n - 1 in a random order, every order equally likely."""
    n = check_count("randperm: n", n, 0)
    check_room("randperm", (n,))
    return tensor(random.permutation(n, purpose="randperm"), dtype, device, requires_grad)


@public("fp")
@takes_tensor
def rand_like(
    input: Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """`rand` of the shape and dtype of `input`."""
    dtype = floating("rand_like", input.dtype if dtype is None else dtype)
    return rand(input.shape, dtype=dtype, device=device, requires_grad=requires_grad)


@public("fp")
@takes_tensor
def randn_like(
    input: Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """`randn` of the shape and dtype of `input`."""
    dtype = floating("randn_like", input.dtype if dtype is None else dtype)
    return randn(input.shape, dtype=dtype, device=device, requires_grad=requires_grad)


@public("fp")
@takes_tensor
def randint_like(
    input: Tensor,
    low: int,
    high: int | None = None,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """`randint` of the shape and dtype of `input`: `randint_like(x, high)` or `(x, low, high)`."""
    low, high = (0, low) if high is None else (low, high)
    dtype = input.dtype if dtype is None else dtype
    return randint(low, high, input.shape, dtype=dtype, device=device, requires_grad=requires_grad)


# ---- from given distributions -------------------------------------------------------------------


@public("fp Tensor")
@takes_floats
def bernoulli(input: Tensor) -> Tensor:
    """1 with the probability that input has there, else 0, in input's dtype.

    Raises ArgumentError for what is no probability.
    """
    p = array_of(input)
    if not ((p >= 0) & (p <= 1)).all():
        raise ArgumentError("bernoulli: input has numbers outside of 0 to 1")
    drawn = random.uniform(p.shape, purpose="bernoulli") < p
    return Tensor(downcast(drawn, as_dtype(input.dtype)))


@public("fp Tensor")
@takes_floats
def multinomial(input: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    """Indices, int64 (num_samples) or (M, num_samples), drawn by the weights (N) or (M, N).

    Weights need not sum to 1. Without replacement no index is drawn twice: numbers E / weight, E
    exponential, come in the order in which indices would be drawn. Raises ShapeError for other
    shapes; ArgumentError for weights below 0, not finite or all 0, and for too many samples.
    """
    w, n = array_of(input), check_count("multinomial: num_samples", num_samples, 1)
    if w.ndim not in (1, 2):
        raise ShapeError(f"multinomial: input of shape {w.shape}: expected (N) or (M, N)")
    if not (np.isfinite(w) & (w >= 0)).all() or not (w > 0).any(-1).all():
        raise ArgumentError(
            "multinomial: expected finite weights of at least 0, and in each row one above 0"
        )
    rows = np.asarray(w, np.float64).reshape(-1, w.shape[-1])
    if replacement:
        ends = np.cumsum(rows / rows.max(-1, keepdims=True), -1)
        u = random.uniform((len(rows), n), purpose="multinomial") * ends[:, -1:]
        drawn = np.stack([np.searchsorted(e, v, side="right") for e, v in zip(ends, u)])
        last = rows.shape[-1] - 1 - np.argmax(rows[:, ::-1] > 0, -1)
        drawn = np.minimum(drawn, last[:, None])  # where rounding carried u to the end
    else:
        if (np.count_nonzero(rows, -1) < n).any():
            raise ArgumentError(
                f"multinomial: {n} samples without replacement: expected at least as many "
                "weights above 0"
            )
        u = np.asarray(random.uniform(rows.shape, purpose="multinomial"), np.float64)
        with np.errstate(divide="ignore"):
            drawn = np.argsort(-np.log1p(-u) / rows, -1, kind="stable")[:, :n]
    return Tensor(np.asarray(drawn, np.int64).reshape(*w.shape[:-1], n))


@public("fp")
def normal(
    mean: Tensor | float,
    std: Tensor | float = 1.0,
    size: Ints | None = None,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """mean + std z of standard normal z: for each number of tensors, or for two numbers of `size`.

    The result has the tensors' dtype, or else the storage format. Raises ArgumentError for a std
    below 0 and without a shape, ShapeError where the shapes do not fit.
    """
    check_operands(mean, std)
    m, s = (array_of(a) for a in (mean, std))
    tensors: list[Any] = [given for given in (mean, std) if is_array_like(given)]
    if bool(tensors) == (size is not None):
        raise ArgumentError("normal: expected mean and std as numbers with a size, or a tensor")
    if not (s >= 0).all():
        raise ArgumentError("normal: std below 0: expected numbers of at least 0")
    for a in tensors:
        dtype = floating("normal: tensors", a.dtype) if dtype is None else dtype
    try:
        shape = np.broadcast_shapes(m.shape, s.shape) if tensors else as_integers((size,), "size")
    except ValueError as error:
        raise ShapeError(f"normal: mean of shape {m.shape}, std of shape {s.shape}") from error
    wide = np.asarray(random.normal(shape, purpose="normal"), np.float64) * s + m
    return tensor(wide, floating("normal", dtype), device, requires_grad)
