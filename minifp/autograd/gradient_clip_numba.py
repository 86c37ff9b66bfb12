"""Compiled kernels of gradient_clip.py."""

from functools import reduce

import numpy as np
from llvmlite import ir

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.compile import cgutils, intrinsic, types
from minifp.runtime.cpu.half import load, place, read, store, view
from minifp.runtime.cpu.machine import I64
from minifp.runtime.cpu.pool import parallel, spans
from minifp.runtime.cpu.scattered import LIKE, Scattered, array_at
from minifp.runtime.cpu.tile import Loop

NANOSECONDS = 0.4  # an element
LANES, TURN = 16, 32  # numbers in a vector, and in a turn of the loop over them
RUN = 16384  # elements that are worth a chunk

# ---- norms --------------------------------------------------------------------------------------


@intrinsic
def squares_of(typing, x, first, turns):
    """The sum of squares of TURN turns (at least one) numbers of x from number `first` on."""
    kind, name = ir.VectorType(ir.DoubleType(), LANES), f"llvm.vector.reduce.fadd.v{LANES}f64"

    def generate(context, builder, signature, args):
        start = place(context, builder, x, args[0], args[1], first)
        loop = Loop(builder, context.cast(builder, args[2], turns, types.intp))
        sums = [loop.carry(ir.Constant(kind, [0.0] * LANES)) for _ in range(TURN // LANES)]
        begin, following = builder.mul(loop.turn, I64(TURN)), []
        for u, held in enumerate(sums):
            here = builder.gep(start, [builder.add(begin, I64(u * LANES))])
            number = read(builder, x, here, LANES)
            if x.dtype == types.uint16:  # the square of a half is exact in float32
                square = builder.fpext(builder.fmul(number, number), kind)
            else:
                wide = builder.fpext(number, kind)
                square = builder.fmul(wide, wide)
            following.append(builder.fadd(held, square))
        last = reduce(builder.fadd, loop.end(following))
        added = ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), kind])
        added = cgutils.get_or_insert_function(builder.module, added, name)
        zero = ir.Constant(ir.DoubleType(), 0.0)
        return builder.call(added, [zero, last], fastmath=("reassoc",))

    return types.float64(x, first, turns), generate


@parallel
def gradient_squares(chunk, scratch, length, starts, addresses, like, out):
    """out[chunk] = the sum of squares of `length` numbers, in the same order in every format."""
    i, stop = chunk * length, min((chunk + 1) * length, starts[-1])
    k, total = 0, 0.0
    while starts[k + 1] <= i:
        k += 1
    while i < stop:
        x, first, n = array_at(addresses[k], like), i - starts[k], min(starts[k + 1], stop) - i
        if n >= TURN:
            total += squares_of(x, first, n // TURN)
        for j in range(first + n // TURN * TURN, first + n):
            wide = np.float64(load(x, j))
            total += wide * wide
        i += n
        k += 1
    out[chunk] = total


def sum_of_squares(scattered):
    """The sum of squares of all numbers of Scattered arrays, in float64."""
    size = int(scattered.starts[-1])
    chunks, length = spans(size, RUN)
    parts = np.zeros(chunks)
    places = scattered.starts, scattered.addresses, scattered.like
    gradient_squares(chunks, length, *places, parts, cost=size * NANOSECONDS)
    return sum(parts.tolist())


@compiled_kernel
def squared_norm(*arrays):
    total = 0.0
    for dtype in {a.dtype: None for a in arrays}:
        if dtype not in LIKE:
            return None
        total += sum_of_squares(Scattered([a for a in arrays if a.dtype == dtype]))
    return total


# ---- multiplying --------------------------------------------------------------------------------


@parallel
def scaled_gradient(chunk, scratch, length, x, factor, out):
    """out = factor x."""
    factor = np.float32(factor)
    for i in range(chunk * length, min((chunk + 1) * length, out.size)):
        store(out, i, load(x, i) * factor)


@compiled_kernel
def multiplied(array, factor):
    if array.dtype not in LIKE:
        return None
    x, out = view(np.ascontiguousarray(array)).reshape(-1), np.empty(array.shape, np.float32)
    chunks, length = spans(out.size, RUN)
    scaled_gradient(chunks, length, x, float(factor), out.reshape(-1), cost=out.size * NANOSECONDS)
    return out
