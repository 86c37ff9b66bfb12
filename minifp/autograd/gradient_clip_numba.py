"""Compiled kernels of gradient_clip.py."""

from functools import cache, reduce
from typing import Any

import numpy as np
from llvmlite import ir

from minifp.derive.dtypes import name_of
from minifp.numerics.compiled import any_device, compiled_kernel
from minifp.numerics.dispatch import pointwise
from minifp.runtime.cpu import threads
from minifp.runtime.cpu.compile.machine import F64, I64, kernel_of
from minifp.runtime.cpu.emit.formats_ir import BYTES, FORMATS
from minifp.runtime.cpu.emit.loops import CHUNKED, Code, new_module, parameters
from minifp.runtime.cpu.kernels import pool
from minifp.runtime.cpu.kernels.scattered import DTYPES, Scattered, parts_of

NANOSECONDS = 0.4  # an element
LANES, TURN = 16, 32  # numbers in a vector, and in a turn of the loop over them
RUN = 16384  # elements that are worth a chunk
FLOATS, SINGLE = {*DTYPES.values()}, np.dtype("float32")

# ---- norms --------------------------------------------------------------------------------------


def squares_text(dtype: str) -> str:
    """LLVM's text of `squares`: out[chunk] = the sum of squares of `length` numbers, in the same
    order in every format."""
    takes = CHUNKED | parameters("starts int64, addresses int64, out float64")
    code = Code(new_module("squares"), "squares", takes)
    b, sum = code.b, code.slot(F64)
    with code.chunks() as chunk:
        start = b.mul(chunk, code.p["length"])
        stop = code.least(b.add(start, code.p["length"]), code.p["total"])
        b.store(F64(0), sum)
        for x, _, first, n in parts_of(code, dtype, start, stop):
            whole = b.sub(n, b.srem(n, I64(TURN)))
            with b.if_then(b.icmp_signed(">", whole, I64(0))):
                b.store(b.fadd(b.load(sum), _squares_of(code, x, first, whole, dtype)), sum)
            with code.loop(whole, n) as j:
                wide = b.fpext(code.load(x, b.add(first, j), dtype), F64)
                b.store(b.fadd(b.load(sum), b.fmul(wide, wide)), sum)
        b.store(b.load(sum), b.gep(code.p["out"], [chunk]))
    code.finish()
    return code.text()


def _squares_of(code, x, first, n, dtype):
    """The sum of squares of n numbers, whole turns, of x from number `first` on."""
    b, kind = code.b, ir.VectorType(F64, LANES)
    sums = [code.slot(kind) for _ in range(TURN // LANES)]
    for sum in sums:
        b.store(ir.Constant(kind, [0.0] * LANES), sum)
    with code.loop(I64(0), n, I64(TURN)) as j:
        for u, sum in enumerate(sums):
            place = b.gep(x, [b.add(b.add(first, j), I64(u * LANES))])
            b.store(b.fadd(b.load(sum), _squares(b, place, kind, dtype)), sum)
    takes = ir.FunctionType(F64, [F64, kind])
    name = f"llvm.vector.reduce.fadd.v{LANES}f64"
    function = b.module.globals.get(name) or ir.Function(b.module, takes, name)
    last = reduce(b.fadd, [b.load(sum) for sum in sums])
    return b.call(function, [F64(0), last], fastmath=("reassoc",))


def _squares(b, place, kind, dtype):
    """The squares of LANES numbers, exact: those of float16 are so in float32."""
    form, upcast, _ = FORMATS[dtype]
    x = b.load(b.bitcast(place, ir.VectorType(form, LANES).as_pointer()))
    x.align = BYTES[form]
    x = upcast(b, x)
    if dtype == "float16":
        return b.fpext(b.fmul(x, x), kind)
    wide = b.fpext(x, kind)
    return b.fmul(wide, wide)


@cache
def squares(dtype: np.dtype) -> Any:
    """The kernel for gradients of a format; see `squares_text`."""
    return kernel_of("squares", squares_text(name_of(dtype)), "gradient_squares")


def sum_of_squares(scattered: Scattered) -> float:
    """The sum of squares of all numbers of Scattered arrays, in float64."""
    kernel, size = squares(scattered.dtype), int(scattered.starts[-1])
    chunks, length = pool.spans(size, RUN)
    parts = np.zeros(chunks)
    rest = length, size, scattered.starts, scattered.addresses, parts
    if size * NANOSECONDS > pool.WORTH_A_THREAD and chunks > 1 and threads.number > 1:
        pool.POOL.run(kernel, chunks, rest, 0, min(threads.number, chunks) - 1)
    elif chunks:
        kernel(pool.at_hand(0)[0], chunks, pool.NOTHING, *rest)
    return sum(parts.tolist())


@compiled_kernel
def squared_norm(*arrays):
    total = 0.0
    for dtype in {a.dtype: None for a in arrays}:
        if dtype not in FLOATS:
            return None
        total += sum_of_squares(Scattered([a for a in arrays if a.dtype == dtype]))
    return total


# ---- multiplying --------------------------------------------------------------------------------


@pointwise
def times(x, *, factor):
    """factor x."""
    return x * factor


@any_device
def multiplied(array, factor):
    if array.dtype not in FLOATS:
        return None
    return times(array, to=(SINGLE,), factor=float(factor))
