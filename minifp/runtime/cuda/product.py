"""Matrix products of arrays on a GPU: which calls of cuBLAS they are, without a copy if possible.

    out[..., m, n] = alpha sum_k a[..., m, k] b[..., k, n]  (+ out[..., m, n])

Rows of a row-major matrix are columns of a column-major one, so cuBLAS is asked for the transposed
product, out^T = b^T a^T, with the operands in the other order. A transposed view is another flag,
the distance between rows another leading dimension, a broadcast operand a stride of 0.

Leading axes are one batch where strides allow it; a batch of a with one b is one tall matrix where
its rows go on from one matrix to the next; of what is left the longest axis is the batch, and the
others are loops.

The result is rounded once, by cuBLAS: it sums in the compute type, adds what was in `out` there,
and then rounds.
"""

from functools import cache, lru_cache
from itertools import product as every
from typing import Any, NamedTuple

import numpy as np

from minifp.derive.dtypes import CODED, dtype_of, name_of
from minifp.errors import ShapeError
from minifp.runtime.cuda import arrays, capturing, float8_products
from minifp.runtime.cuda.cublas import Handle, Handles, Matrix, codes, load, supported
from minifp.runtime.cuda.cublas_lt import E4M3
from minifp.runtime.cuda.devices import generation, lacks
from minifp.runtime.cuda.math_modes import compute_type, may_use_tensor_cores
from minifp.runtime.cuda.pointwise import F32, cast, in_format

EIGHT = {"float8_e4m3fn", "float8_e5m2"}  # formats of so many bits
HOLDS = {"float16": {"float16", *EIGHT}, "bfloat16": {"bfloat16", *EIGHT}}  # all numbers of which
KINDS = {name: dtype_of(name, 2) for name in (*HOLDS, "float32")}
SUMS = {"float16": "float16", "float64": "float64"}  # in what a compute type sums; else float32

# ---- handles ------------------------------------------------------------------------------------


def workspace(device: int) -> tuple[Any, int]:
    """(memory of the current device, its bytes) for cuBLAS, as much as its reference recommends."""
    cupy = arrays.cupy()
    size = generation(cupy.cuda.Device(device).compute_capability).workspace
    with cupy.cuda.using_allocator(cupy.get_default_memory_pool().malloc):  # not a graph's own
        return cupy.cuda.alloc(size), size


@cache
def handles() -> Handles:
    """All handles of this process, of the cuBLAS that fits CuPy's CUDA.

    Raises DeviceError if there is none.
    """
    return Handles(load(arrays.cupy().cuda.runtime.runtimeGetVersion() // 1000), workspace)


def current_handle() -> Handle:
    """The handle of CuPy's current device and stream, and of this thread."""
    cuda = arrays.cupy().cuda
    return handles().get(cuda.Device().id, cuda.get_current_stream().ptr)


# ---- layouts ------------------------------------------------------------------------------------


class Form(NamedTuple):
    """What a product must know of an array: strides are bytes, as NumPy's."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype

    @property
    def copied(self) -> "Form":
        """The form of a C-contiguous copy."""
        strides, step = [], self.dtype.itemsize
        for n in reversed(self.shape):
            strides.append(step)
            step *= n
        return Form(self.shape, tuple(reversed(strides)), self.dtype)

    def layout(self) -> tuple[int, int] | None:
        """(transposed, distance in elements) of the last two axes, or None if they need a copy.

        Not transposed: elements of a row lie side by side, and the distance is that between rows.
        Transposed: the same of columns. Matrices may lie anywhere, but not one row upon another.
        """
        item, (rows, columns) = self.dtype.itemsize, self.shape[-2:]
        if any((s < 0 or s % item) and n > 1 for n, s in zip(self.shape, self.strides)):
            return None
        down, across = self.strides[-2] // item, self.strides[-1] // item
        if (across == 1 or columns == 1) and (rows == 1 or down >= columns):
            return 0, down if rows > 1 else columns
        if (down == 1 or rows == 1) and (columns == 1 or across >= rows):
            return 1, across if columns > 1 else rows
        return None

    def steps(self, leading: tuple[int, ...]) -> list[int]:
        """Elements from one matrix to the next along each axis of `leading`; 0 for the same one."""
        item, missing = self.dtype.itemsize, len(leading) - len(self.shape) + 2
        own = zip(self.shape[:-2], self.strides)
        return [0] * missing + [0 if n == 1 else stride // item for n, stride in own]


def merged(axes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The same walk with as few axes as possible; an axis is (length, step, step, ...)."""
    found: list[tuple[int, ...]] = []
    for n, *steps in axes:
        if n == 1:
            continue
        if found and all(outer == n * inner for outer, inner in zip(found[-1][1:], steps)):
            found[-1] = (found[-1][0] * n, *steps)
        else:
            found.append((n, *steps))
    return found


# ---- plans --------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """How a product is made. a and b are the caller's; `left` and `right` are those of cuBLAS.

    compute: the compute type's number. copy_a, copy_b: which operands are copied first. sizes:
    cuBLAS's m, n, k. batch: as of `Cublas.gemm`. starts: for each call, where a, b and out begin,
    in bytes after their pointers. No calls: there is nothing to sum.
    """

    compute: int
    copy_a: bool
    copy_b: bool
    sizes: tuple[int, int, int]
    left: Matrix
    right: Matrix
    result: Matrix
    batch: int | None
    starts: tuple[tuple[int, int, int], ...]


@lru_cache(4096)
def plan(a: Form, b: Form, out: Form, compute: str) -> Plan:
    """The plan of a product; raises what `multiply` does."""
    if out.shape != result_shape(a.shape, b.shape):
        raise ShapeError(
            f"matrix product of shapes {a.shape} and {b.shape} into {out.shape}: expected "
            f"(..., M, K), (..., K, N) and (..., M, N), with leading axes that broadcast"
        )
    kind, kind_out, code = codes(a.dtype, b.dtype, out.dtype, computed_in(compute, a.dtype))
    (rows, inner), columns, leading = a.shape[-2:], out.shape[-1], out.shape[:-2]
    none = Matrix(0, kind, 1)
    if not (inner and all(out.shape)):
        return Plan(code, False, False, (columns, rows, inner), none, none, none, None, ())
    written, steps_out = out.layout(), out.steps(leading)
    if written is None or written[0] or any(n > 1 and not s for n, s in zip(leading, steps_out)):
        raise ShapeError(
            f"a product into an array of shape {out.shape} with strides {out.strides} bytes: "
            f"expected rows that are contiguous and apart from each other"
        )
    copy_a, copy_b = a.layout() is None, b.layout() is None
    a, b = a.copied if copy_a else a, b.copied if copy_b else b
    (turned_a, ld_a), (turned_b, ld_b) = a.layout() or (0, inner), b.layout() or (0, columns)
    ld_out = written[1]
    axes = merged(list(zip(leading, a.steps(leading), b.steps(leading), steps_out)))
    if axes and not turned_a and axes[-1][2] == 0:  # one b: perhaps one tall matrix
        n, step_a, _, step_out = axes[-1]
        if rows == 1 and step_a >= inner and step_out >= columns:
            ld_a, ld_out = step_a, step_out
        if (step_a, step_out) == (rows * ld_a, rows * ld_out):
            rows *= n
            axes.pop()
    batch, step = None, [0, 0, 0]
    if axes:
        batch, *step = axes.pop(max(range(len(axes)), key=lambda i: axes[i][0]))
    items = a.dtype.itemsize, b.dtype.itemsize, out.dtype.itemsize
    starts = tuple(
        tuple(sum(i * axis[1 + x] for i, axis in zip(at, axes)) * items[x] for x in range(3))
        for at in every(*(range(axis[0]) for axis in axes))
    )
    left, right = Matrix(turned_b, kind, ld_b, step[1]), Matrix(turned_a, kind, ld_a, step[0])
    matrices, sizes = (left, right, Matrix(0, kind_out, ld_out, step[2])), (columns, rows, inner)
    return Plan(code, copy_a, copy_b, sizes, *matrices, batch, starts)  # type: ignore[arg-type]


def computed_in(compute, dtype):
    """The compute type for operands of a dtype: all numbers of two bytes are exact in TF32."""
    return "float32" if compute == "tf32" and dtype.itemsize < 4 else compute


@lru_cache(4096)
def result_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of the product of two arrays of these shapes; None if they do not fit."""
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        return None
    try:
        leading = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        return None
    return (*leading, a[-2], b[-1])


# ---- operands -----------------------------------------------------------------------------------


@lru_cache(None)
def exact_in(*dtypes: np.dtype) -> np.dtype:
    """The format of cuBLAS's operands that holds the numbers of these dtypes.

    Numbers of 8 bits are multiplied in 16: their products, and the float32 sums of these, are the
    same.
    """
    if all(dtype.kind == "f" for dtype in dtypes):
        return np.result_type(*dtypes)
    names = {*map(name_of, dtypes)}
    return KINDS[next((kind for kind, held in HOLDS.items() if names <= held), "float32")]


def multiplied_in(*dtypes: np.dtype) -> np.dtype:
    """The same on the current device: float32 for bfloat16 where no tensor cores take it."""
    kind = exact_in(*dtypes)
    if kind != KINDS["bfloat16"]:
        return kind
    capability = arrays.cupy().cuda.Device().compute_capability
    return F32 if lacks(generation(capability), "bfloat16") else kind


# ---- products -----------------------------------------------------------------------------------


def multiply(
    a, b, out, *, compute: str = "float32", alpha: float = 1.0, accumulate: bool = False
) -> Any:
    """out = alpha a b, or out += alpha a b, and return out.

    a: (..., M, K). b: (..., K, N), of the same format, or each of one that CuPy lacks (see
    `multiplied_in`); leading axes are broadcast. a or b is copied where neither its rows nor its
    columns are contiguous. out: (..., M, N), with contiguous rows, of any of these formats;
    what it held is read only to be added to. compute: in what the products are summed: "float32",
    "tf32" (that, of float32 operands rounded to 10 mantissa bits; narrower ones are exact),
    "float16" or "float64"; with which instructions, math_modes.py says.

    Raises ShapeError for shapes that do not fit and an `out` that cannot be written row by row,
    ArgumentError for formats that cuBLAS does not multiply so, and CublasError if it fails.
    """
    if compute == "float32" and may_use_tensor_cores(E4M3):
        handle = current_handle()
        if float8_products.multiply(a, b, out, alpha, accumulate, handle, multiply):
            return out
    if not CODED.isdisjoint((a.dtype, b.dtype, out.dtype)):
        kind = multiplied_in(a.dtype, b.dtype)
        a, b = in_format(a, kind), in_format(b, kind)
        if not supported(kind, kind, out.dtype, computed_in(compute_type(compute), kind)):
            sums = in_format(out, F32) if accumulate else arrays.empty(out.shape, F32)
            multiply(a, b, sums, compute=compute, alpha=alpha, accumulate=accumulate)
            out[...] = cast(sums, out.dtype)
            return out
    way = plan(form(a), form(b), form(out), compute_type(compute))
    if not way.starts:
        if out.size and not accumulate:
            out.fill(0)
        return out
    a, b = a.copy() if way.copy_a else a, b.copy() if way.copy_b else b
    if capturing.now is not None:
        capturing.launched("a matrix product", (*way.sizes, way.compute, alpha, accumulate))
    handle = current_handle()
    left, right, result = b.data.ptr, a.data.ptr, out.data.ptr
    for start_a, start_b, start_out in way.starts:
        handle.cublas.gemm(
            handle,
            way.compute,
            way.sizes,
            (left + start_b, right + start_a, result + start_out),
            way.left,
            way.right,
            way.result,
            alpha=alpha,
            beta=float(accumulate),
            batch=way.batch,
        )
    return out


def form(x):
    """The form of an array."""
    return Form(x.shape, x.strides, x.dtype)


def product(
    a, b, dtype, bias=None, *, compute: str = "float32", chunk: int | None = None, alpha: float = 1
) -> Any:
    """alpha a b + bias as a new array (..., M, N) of `dtype`, rounded once.

    a: (..., M, K). b: (..., K, N), multiplied as `multiplied_in` says. bias: (N), or None. compute:
    as of `multiply`; with "float16" the bias is rounded to float16 and added as the sums are. Where
    cuBLAS does not round to `dtype` from there, or the bias has another format, the sums are stored
    in the format they are in, and then cast. chunk: None, or of how many products such a
    sum is, before it is added, as the bias is, in float32. Raises what `multiply` does.
    """
    dtype = np.dtype(dtype)
    shape = result_shape(a.shape, b.shape)
    if shape is None or (bias is not None and bias.shape != shape[-1:]):
        given = "" if bias is None else f" with a bias of shape {bias.shape}"
        raise ShapeError(
            f"matrix product of shapes {a.shape} and {b.shape}{given}: expected (..., M, K), "
            f"(..., K, N) and (N), with leading axes that broadcast"
        )
    if chunk is not None:
        total = sum_of_chunks(a, b, shape, compute, chunk)
        total *= alpha
        if bias is not None:
            total += bias
        return in_format(total, dtype)
    kind = multiplied_in(a.dtype, b.dtype)
    a, b = in_format(a, kind), in_format(b, kind)
    direct = supported(a.dtype, b.dtype, dtype, computed_in(compute_type(compute), a.dtype))
    if direct and (bias is None or bias.dtype == dtype):
        stored = dtype
    else:
        stored = np.dtype(SUMS.get(compute, "float32"))
    out = arrays.empty(shape, stored)
    if bias is not None:
        out[...] = in_format(bias, stored)
    multiply(a, b, out, compute=compute, alpha=alpha, accumulate=bias is not None)
    return in_format(out, dtype)


def sum_of_chunks(a, b, shape, compute, chunk):
    """a b in float32: products of `chunk` columns of a with as many rows of b, of which each is
    summed in `compute` and stored in its format, added up first to last."""
    total, part = arrays.zeros(shape, "float32"), arrays.empty(shape, SUMS.get(compute, "float32"))
    for start in range(0, a.shape[-1], chunk):
        ks = slice(start, start + chunk)
        total += multiply(a[..., ks], b[..., ks, :], part, compute=compute)
    return total
