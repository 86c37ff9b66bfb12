"""The primitives through which every kernel sums: a sum, and a sum of products.

    sum(x, axis=None, keepdims=False)     y[kept] = sum over the reduced axes of x
    dot(a, b)                             y[..., m, n] = sum over k of a[..., m, k] b[..., k, n]
    cumsum(x, axis, reverse=False)        y[k] = sum over i <= k (i >= k) of x[i] along the axis
    prod(x, axis=None, keepdims=False)    y[kept] = product over the reduced axes of x
    cumprod(x, axis)                      y[k] = product over i <= k of x[i] along the axis

`primitives(sums)` gives them for what a precision names in `reduce` or `accumulate`: a format, or
chunks (see sum_format.py).

In float32 and float64 they are *plain*: as accurate as sums of that format get, in any order.

In a narrower format they are *sequential*, as an accumulator register of that format would do it:
the accumulator starts at +0, every addend (or operand, and then every product) is rounded to the
format, and so is every partial sum; addends come in C order of the reduced axes, products with k
ascending. A product (prod) starts at 1, and every factor and partial product is rounded. Overflow
gives Inf, NaN stays NaN. Results are float32 arrays of numbers of the format. NumPy cannot be asked
for this: float16 sums are float32 inside along a contiguous axis and in `@`, and float16 along the
others.

In chunks, "chunked:32", 32 addends at a time are such a sequential sum, and the sums of the chunks
are added one after the other in float32. Running sums (cumsum) are those of the chunk, added to the
sum of the chunks before, so that the last one is the sum. Products (prod, cumprod) are likewise
those of chunks in the narrow format, multiplied in float32. A sequential sum is one chunk.

Sequential steps are taken in float32 and then rounded. Of two float16 numbers the product is exact
in float32 (2 x 11 bits), and the sum is as if it had been rounded once, because 24 >= 2 x 11 + 2
(Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995). So it is of all
formats of at most 10 bits of mantissa, but for products of bfloat16 that are below 2^-126.

The references are here; their compiled kernels, one module a format, are in COMPILED and are
imported at the first sequential sum.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from math import prod
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from minifp.errors import ShapeError
from minifp.numerics import formats
from minifp.numerics.sum_format import as_sum_format
from minifp.runtime import cpu
from minifp.runtime.browser import IN_BROWSER

COMPILED = {formats.float16: "minifp.numerics.accumulate_numba"}  # by the format of sequential sums


class Primitives(NamedTuple):
    """One way to sum: `dot` is NumPy's matmul, the others are its reductions of those names."""

    sum: Callable
    dot: Callable
    cumsum: Callable
    prod: Callable
    cumprod: Callable


@cache
def primitives(sums) -> Primitives:
    """The primitives that sum as a SumFormat or its text says, or in a floating format, given as a
    dtype or by name.

    Raises PrecisionError for a dtype that is no floating format.
    """
    return _primitives(as_sum_format(sums))  # float16, "float16" and its dtype are one entry


@cache
def _primitives(sums):
    if sums.chunk is None and formats.format_of(sums.dtype).bits >= 32:
        return Primitives(
            sum=plain_sum,
            dot=partial(checked_dot, dot_of_rows if IN_BROWSER else np.matmul),
            cumsum=partial(directed, plain_cumsum),
            prod=plain_prod,
            cumprod=plain_cumprod,
        )
    return Primitives(
        sum=partial(sequential_sum, sums),
        dot=partial(checked_dot, partial(sequential_dot, sums)),
        cumsum=partial(directed, partial(sequential_cumsum, sums)),
        prod=partial(sequential_prod, sums),
        cumprod=partial(sequential_cumprod, sums),
    )


# ---- what both share ----------------------------------------------------------------------------


def checked_dot(product, a, b):
    """product(a, b) for operands of shapes (..., M, K) and (..., K, N), or ShapeError.

    Leading axes broadcast. A product with one matrix for all is made of one tall operand, which is
    faster than many small ones. Operands narrower than float32 are widened first.
    """
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2] or not _fit(a.shape, b.shape):
        raise ShapeError(
            f"dot of shapes {a.shape} and {b.shape}: expected (..., M, K) and (..., K, N) "
            "with leading axes that broadcast"
        )
    a, b = _at_least_single(a), _at_least_single(b)
    if a.ndim > 2 and b.ndim == 2 and a.flags.c_contiguous and a.size:
        rows = a.reshape(-1, a.shape[-1])
        return product(rows, b).reshape(*a.shape[:-1], b.shape[-1])
    return product(a, b)


def dot_of_rows(a, b):
    """np.matmul where there is no BLAS, as in WebAssembly: einsum reads both operands along the
    summed axis, which is up to twenty times faster there."""
    if a.dtype != b.dtype:
        return np.matmul(a, b)
    a, columns = np.ascontiguousarray(a), np.ascontiguousarray(b.swapaxes(-1, -2))
    return np.einsum("...ik,...jk->...ij", a, columns)


def _fit(a, b):
    """Whether the leading axes of two shapes broadcast."""
    return all(n == m or 1 in (n, m) for n, m in zip(a[-3::-1], b[-3::-1]))


def _at_least_single(x):
    return formats.upcast(x, formats.float32) if formats.is_narrow(x.dtype) else x


def reduced_axes(x, axis) -> tuple:
    """The axes that axis=None, a number or several name, ascending. Raises ShapeError."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = {a % x.ndim for a in axes if -x.ndim <= a < x.ndim}
    if len(places) < len(axes):
        raise ShapeError(
            f"sum over axis {axis} of shape {x.shape}: expected different axes "
            f"from {-x.ndim} to {x.ndim - 1}"
        )
    return tuple(sorted(places))


def directed(cumsum, x, axis, reverse=False):
    """The running sums of x along an axis; from its last number on if `reverse`."""
    return np.flip(cumsum(np.flip(x, axis), axis), axis) if reverse else cumsum(x, axis)


def _without(shape, axes, keepdims):
    """The shape of a sum over `axes`."""
    sizes = (1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)
    return tuple(sizes)


# ---- plain: float32 and float64 -----------------------------------------------------------------

ROWS = 16  # rows added one after the other before their sums are added in turn


def plain_sum(x, axis=None, keepdims=False):
    """The sum of x over `axis` in its own format, but at least float32; integers sum exactly.

    |error| <= (16 r + 4 log2 n) u sum|x|, with n addends in r runs of neighbouring axes, and u
    2^-24 in float32 (2^-53 in float64). NumPy's own sum is as good along the last axis, where it
    adds in pairs, but along the others it adds row by row, with an error that grows as n u.
    """
    x = _at_least_single(x)
    axes = reduced_axes(x, axis)
    shape = _without(x.shape, axes, keepdims)
    if not formats.is_float(x.dtype) or x.size <= ROWS * prod(shape):
        return np.asarray(np.add.reduce(x, axes)).reshape(shape)
    order = range(x.ndim)
    if not x.flags.c_contiguous:  # take the axes as they lie in memory, to walk none in strides
        order = sorted(order, key=lambda i: -abs(x.strides[i]))
        x = np.ascontiguousarray(x.transpose(order))
    end = len(order)
    while end:  # sum each run of neighbouring axes, the last one first
        start = end - 1
        while start and (order[start - 1] in axes) == (order[end - 1] in axes):
            start -= 1
        if order[start] in axes:
            x = _sum_of_run(x, start, end)
        end = start
    if type(order) is list:
        x = x.transpose(np.argsort([i for i in order if i not in axes]))
    return x.reshape(shape)


def _sum_of_run(x, start, end):
    """The sum over the axes from `start` to before `end` of a contiguous array."""
    A, K, B = prod(x.shape[:start]), prod(x.shape[start:end]), prod(x.shape[end:])
    y = np.add.reduce(x.reshape(A, K), axis=1) if B == 1 else _sum_of_rows(x.reshape(A, K, B))
    return y.reshape(x.shape[:start] + x.shape[end:])


def _sum_of_rows(x):
    """The sum over the middle axis: of 16 rows at a time, then of 16 such sums, and so on.

    The rows of one sum lie far apart: row 0 is added to rows K/16, 2K/16, ..., so that each
    addition runs over whole blocks of memory, however short a row is.
    """
    A, K, B = x.shape
    while K > ROWS:
        n = K // ROWS
        sums = np.add.reduce(x[:, : ROWS * n].reshape(A, ROWS, n * B), axis=1).reshape(A, n, B)
        if K > ROWS * n:
            sums[:, 0] += np.add.reduce(x[:, ROWS * n :], axis=1)
        x, K = sums, n
    return np.add.reduce(x, axis=1)


def plain_cumsum(x, axis):
    """The running sums of x along one axis in its own format, but at least float32.

    |error| <= (16 + 4 log2 n) u sum|x| of the n numbers summed so far: as good as `plain_sum`,
    where NumPy's own, which adds one after the other, has an error that grows as n u.
    """
    x = _at_least_single(x)
    (axis,) = reduced_axes(x, axis)
    if not formats.is_float(x.dtype):
        return np.cumsum(x, axis)
    return np.moveaxis(_running_sums(np.moveaxis(x, axis, 0)), 0, axis)


def _running_sums(x):
    """Along the first axis: inside blocks of 16, to which the sum of the blocks before is added."""
    K = len(x)
    if K <= ROWS:
        return np.add.accumulate(x, axis=0)
    n = -(-K // ROWS)
    blocks = np.zeros((n * ROWS, *x.shape[1:]), x.dtype)
    blocks[:K] = x
    sums = np.add.accumulate(blocks.reshape(n, ROWS, *x.shape[1:]), axis=1)
    sums[1:] += _running_sums(sums[:, -1])[:-1, None]
    return sums.reshape(blocks.shape)[:K]


def plain_prod(x, axis=None, keepdims=False):
    """The product of x over `axis` in its own format, but at least float32.

    |error| <= n u |product|. Mantissas are multiplied in pairs and exponents are added beside them,
    so that no partial product overflows or underflows where the whole one does not.
    """
    x = _at_least_single(x)
    axes = reduced_axes(x, axis)
    others = tuple(i for i in range(x.ndim) if i not in axes)
    shape = _without(x.shape, axes, keepdims)
    if not formats.is_float(x.dtype) or not x.size:
        return np.multiply.reduce(x, axes).reshape(shape)
    mantissas = x.transpose(axes + others).reshape(-1, prod(x.shape[i] for i in others))
    mantissas, exponents = np.frexp(mantissas)
    while len(mantissas) > 1:
        half = len(mantissas) // 2
        pairs, more = np.frexp(mantissas[:half] * mantissas[half : 2 * half])
        more += exponents[:half] + exponents[half : 2 * half]
        mantissas = np.concatenate([pairs, mantissas[2 * half :]])
        exponents = np.concatenate([more, exponents[2 * half :]])
    return np.ldexp(mantissas[0], exponents[0]).reshape(shape)


def plain_cumprod(x, axis):
    """The running products of x along one axis in its own format, but at least float32."""
    (axis,) = reduced_axes(x, axis)
    return np.cumprod(_at_least_single(x), axis)


# ---- sequential: narrower formats, whole or in chunks -------------------------------------------

CACHED = 2**15  # float32 numbers that stay in the L2 cache


def sequential_sum(sums, x, axis=None, keepdims=False):
    """The sum of x over `axis` with every addend and every partial sum of a chunk rounded to
    `sums.dtype`, and the chunks' sums added in float32."""
    axes = reduced_axes(x, axis)
    columns = _columns(_as_single(x, sums.dtype), axes)
    K, N = columns.shape
    y = np.zeros(N, formats.float32)
    for part, count, n in _chunks(sums, K, N):
        rows = columns[part].reshape(count, n, N).swapaxes(0, 1).reshape(n, count * N)
        y = _add_up(formats.float32, y, _kernels(sums.dtype).sum_columns(rows).reshape(count, N))
    return y.reshape(_without(x.shape, axes, keepdims))


def sequential_dot(sums, a, b):
    """a @ b with every operand, product and partial sum of a chunk rounded to `sums.dtype`, k
    ascending, and the chunks' sums added in float32."""
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    ia, ib = (_which_matrix(x.shape[:-2], leading) for x in (a, b))
    a, b = (_matrices(_as_single(x, sums.dtype)) for x in (a, b))
    (A, M, K), (B, _, N) = a.shape, b.shape
    y = np.zeros((len(ia), M, N), formats.float32)
    for part, count, n in _chunks(sums, K, y.size):  # each a matrix of its own
        products = _kernels(sums.dtype).dot_matrices(
            a[:, :, part].reshape(A, M, count, n).swapaxes(1, 2).reshape(A * count, M, n),
            b[:, part].reshape(B * count, n, N),
            *((i[:, None] * count + np.arange(count)).reshape(-1) for i in (ia, ib)),
        )
        y = _add_up(formats.float32, y, products.reshape(len(ia), count, M, N).swapaxes(0, 1))
    return y.reshape(*leading, M, N)


def sequential_cumsum(sums, x, axis):
    """The running sums of x along one axis, as sequential_sum adds them up."""
    return _running(np.add, sums, x + formats.float32.type(0), axis)  # no -0: a sum starts at +0


def sequential_prod(sums, x, axis=None, keepdims=False):
    """The product of x over `axis`, every factor and partial product of a chunk rounded to
    `sums.dtype`, and the chunks' products multiplied in float32."""
    axes = reduced_axes(x, axis)
    factors = _columns(_as_single(x, sums.dtype), axes)
    products = _running_results(np.multiply, sums, factors)
    return products[-1].reshape(_without(x.shape, axes, keepdims))


def sequential_cumprod(sums, x, axis):
    """The running products of x along one axis, as sequential_prod multiplies them."""
    return _running(np.multiply, sums, x, axis)


def _columns(x, axes):
    """x with the reduced axes as rows, in C order, and the others as columns."""
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    shape = prod(x.shape[i] for i in axes), prod(x.shape[i] for i in rest)
    return x.transpose(axes + rest).reshape(shape)


def _length(sums, K):
    """Of how many addends a chunk is, at most all K."""
    return max(1, K if sums.chunk is None else min(sums.chunk, K))


def _chunks(sums, K, size):
    """K addends as (slice, how many chunks are in it, their length): as many whole chunks at once
    as their results, of `size` numbers each, stay in the cache; and last what is left."""
    n = _length(sums, K)
    whole, most = K - K % n, max(1, CACHED // max(1, size))
    for start in range(0, whole, most * n):
        stop = min(start + most * n, whole)
        yield slice(start, stop), (stop - start) // n, n
    if whole < K:
        yield slice(whole, K), 1, K - whole


def _running(operation, sums, x, axis):
    (axis,) = reduced_axes(x, axis)
    x = np.moveaxis(_as_single(x, sums.dtype), axis, 0)
    return np.moveaxis(_running_results(operation, sums, x)[: len(x)], 0, axis)


def _running_results(operation, sums, x):
    """All results along the first axis of x (K, ...), and behind them the last again until a chunk
    is full; of K = 0 that of nothing."""
    n = _length(sums, len(x))
    count = max(1, -(-len(x) // n))
    chunks = np.full((count * n, *x.shape[1:]), operation.identity, formats.float32)
    chunks[: len(x)] = x
    results = _partial_results(operation, sums.dtype, chunks.reshape(count, n, *x.shape[1:]), 1)
    with np.errstate(all="ignore"):
        before = operation.accumulate(results[:-1, -1], axis=0)
        results[1:] = operation(before[:, None], results[1:])
    return results.reshape(chunks.shape)


def _partial_results(operation, dtype, x, axis=0):
    """All results along an axis: NumPy's running sums and products round each one, in the formats
    that it has."""
    with np.errstate(all="ignore"):  # Inf and NaN are values here
        if dtype.kind == "V":
            y = np.moveaxis(np.array(formats.round_to(x, dtype)), axis, 0)
            for k in range(1, len(y)):
                y[k] = formats.round_to(operation(y[k - 1], y[k]), dtype)
            return np.moveaxis(y, 0, axis)
        return formats.upcast(
            operation.accumulate(formats.downcast(x, dtype), axis=axis), formats.float32
        )


def _as_single(x, dtype):
    """x as float32. Numbers that float32 cannot hold are rounded to `dtype` at once, not twice."""
    return (
        x
        if x.dtype == formats.float32
        else formats.upcast(formats.downcast(x, dtype), formats.float32)
    )


def _matrices(x):
    return x.reshape(prod(x.shape[:-2]), *x.shape[-2:])


def _which_matrix(own, leading):
    """For each matrix of a broadcast product, the number of the operand's matrix."""
    numbers = np.arange(prod(own), dtype=np.intp).reshape(own)
    return np.ascontiguousarray(np.broadcast_to(numbers, leading)).reshape(-1)


def _kernels(dtype):
    """The module of compiled kernels, or the references: without numba, or with
    MINIFP_KERNELS=numpy."""
    if os.environ.get("MINIFP_KERNELS") == "numpy":
        return references(dtype)
    return compiled(dtype) or references(dtype)


@cache
def compiled(dtype):
    """The module of compiled kernels for sums in `dtype`, or None where they cannot be had."""
    if dtype not in COMPILED or cpu.numba_error(is_tried=True) is not None:
        return None
    return import_module(COMPILED[dtype])


@cache
def references(dtype):
    """The references for sums in `dtype`."""
    return SimpleNamespace(
        sum_columns=partial(sum_columns, dtype), dot_matrices=partial(dot_matrices, dtype)
    )


def sum_columns(dtype, x):
    """The sequential sum of each column of x (K, N) float32: (N) float32."""
    return _add_up(dtype, np.zeros(x.shape[1], formats.float32), formats.round_to(x, dtype))


def dot_matrices(dtype, a, b, ia, ib):
    """The sequential products a[ia[i]] @ b[ib[i]] of (_, M, K) and (_, K, N): (B, M, N) float32."""
    with np.errstate(all="ignore"):
        a, b = formats.round_to(a, dtype)[ia], formats.round_to(b, dtype)[ib]
        y = np.zeros((len(ia), a.shape[1], b.shape[2]), formats.float32)
        step = max(1, CACHED // max(1, y.size))  # products of some k at once
        for k in range(0, a.shape[2], step):
            column = np.moveaxis(a[:, :, k : k + step], 2, 0)[:, :, :, None]
            row = np.moveaxis(b[:, k : k + step], 1, 0)[:, :, None, :]
            y = _add_up(dtype, y, formats.round_to(np.multiply(column, row, order="C"), dtype))
        return y


def _add_up(dtype, start, addends):
    """start (...) plus addends (K, ...), one after the other, each partial sum rounded."""
    if start.size < 2048:  # too short for a Python step each
        return _partial_results(np.add, dtype, np.concatenate([start[None], addends]))[-1]
    with np.errstate(all="ignore"):  # Inf and NaN are values here
        for addend in addends:
            start = formats.round_to(start + addend, dtype)
    return start
