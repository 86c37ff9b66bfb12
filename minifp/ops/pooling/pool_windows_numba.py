"""What the compiled kernels of pooling share: pictures in a row, where windows begin and end, and
vectors.

A picture is widened into the workspace, with what windows see beside it. Windows that lie side by
side are worked on LANES at once; what that writes beyond the end of a row of them is overwritten by
the next one.
"""

from functools import cache
from math import prod

import numpy as np
from llvmlite import ir

from minifp.ops.pooling.pool_windows import Axis
from minifp.runtime.cpu.compile.decorators import inline, intrinsic, types
from minifp.runtime.cpu.compile.machine import F32, I32, I64
from minifp.runtime.cpu.kernels.half import load, place, store
from minifp.runtime.cpu.kernels.pool import view

CHUNK = 8192  # numbers that are worth a chunk
LANES = 16
NARROW = 4  # windows side by side: fewer are better taken one by one
ONE = Axis(1, 1, 1, 1)
FLOATS, NUMBERS = ir.VectorType(F32, LANES), ir.VectorType(I32, LANES)


def pictures(x, axes):
    """x as (flat memory, how many pictures): sequences are pictures of one row."""
    return view(np.ascontiguousarray(x)).reshape(-1), prod(x.shape[: x.ndim - len(axes)])


def both(axes):
    """The windows down and across a picture."""
    return tuple(axes) if len(axes) == 2 else (ONE, *axes)


def side_by_side(axes):
    """Whether windows are all alike, and in rows that are worth vectors."""
    return all(a.stride is not None for a in axes) and axes[-1].count >= NARROW


@cache
def borders(axis):
    """int64 (3, count): the first place of each window, below 0 in the padding; and from which to
    before which of its places it sees no padding."""
    first, (start, stop) = axis.first(), axis.bounds()
    low, high = (start - first) // axis.dilation, -(-(stop - first) // axis.dilation)
    return np.array([first, low, high], np.int64)


@cache
def room(down, across):
    """(width, size) of a picture in the workspace: of its rows, and of all that may be read."""
    reach = across.stride * (across.count - 1) + across.dilation * (across.size - 1) + 1
    width = max(across.padding + across.n, reach)
    return width, down.n * width + (LANES + 1) * across.stride + reach


@inline
def widen_picture(x, start, H, W, padding, width, out):
    """Write a picture into `out`, each row behind its padding."""
    if width == W:
        for i in range(H * W):
            out[i] = load(x, start + i)
    else:
        for h in range(H):
            for w in range(W):
                store(out, h * width + padding + w, load(x, start + h * W + w))


# ---- vectors ------------------------------------------------------------------------------------


def read_vector(builder, pointer, kind):
    """The vector of this kind at a pointer to an element."""
    x = builder.load(builder.bitcast(pointer, kind.as_pointer()))
    x.align = 4
    return x


def write_vector(builder, x, pointer):
    """Write a vector where a pointer to an element points."""
    builder.store(x, builder.bitcast(pointer, x.type.as_pointer())).align = 4


def read_apart(builder, pointer, stride, step):
    """LANES numbers from the pointer on, `stride` apart, or `step` where that is None."""
    if stride == 1:
        return read_vector(builder, pointer, FLOATS)
    if stride == 2:
        pairs = read_vector(builder, pointer, ir.VectorType(F32, 2 * LANES))
        even = ir.Constant(NUMBERS, [2 * i for i in range(LANES)])
        return builder.shuffle_vector(pairs, ir.Constant(pairs.type, ir.Undefined), even)
    found = ir.Constant(FLOATS, ir.Undefined)
    for i in range(LANES):
        x = builder.load(builder.gep(pointer, [builder.mul(step, I64(i))]))
        found = builder.insert_element(found, x, I32(i))
    return found


def places(take, second):
    """A function of numba that takes a row of places of each of some windows side by side.

    It is f(x, at, step, dilation, size, k, to, count, y, z): the row of the first of `count`
    windows begins at x[at], those of the others `step` further each; its `size` places lie
    `dilation` apart and have the numbers from k on. What is held for the windows lies in y and z,
    from `to` on. take(builder, v, k, *held): what is held (of both, or of y alone), once the places
    k, of which v are the numbers in x, are in. second: what LANES elements of z are.
    """
    by_1, by_2, by_any = (_row(take, (FLOATS, second), stride) for stride in (1, 2, None))

    @inline(how="always")
    def row(x, at, step, dilation, size, k, to, count, y, z):
        if step == 1:
            by_1(x, at, 1, dilation, size, k, to, count, y, z)
        elif step == 2:
            by_2(x, at, 2, dilation, size, k, to, count, y, z)
        else:
            by_any(x, at, step, dilation, size, k, to, count, y, z)

    return row


def _row(take, vectors, stride):
    one, two, three = (_neighbours(n, take, vectors, stride) for n in (1, 2, 3))

    @inline(how="always")
    def row(x, at, step, dilation, size, k, to, count, y, z):
        for q in range(0, count, LANES):
            for j in range(0, size, 3):
                here = at + q * step + j * dilation
                if size - j >= 3:
                    three(x, here, step, dilation, k + j, to + q, y, z)
                elif size - j == 2:
                    two(x, here, step, dilation, k + j, to + q, y, z)
                else:
                    one(x, here, step, dilation, k + j, to + q, y, z)

    return row


def _neighbours(count, take, vectors, stride):
    @intrinsic
    def take_neighbours(typing, x, at, step, dilation, k, to, y, z):
        kinds = (x, at, step, dilation, k, to, y, z)

        def generate(context, builder, signature, args):
            def integer(i):
                return context.cast(builder, args[i], kinds[i], types.intp)

            def element(i, index):
                return place(context, builder, kinds[i], args[i], index, types.intp)

            start, apart, gap, number, first = (integer(i) for i in range(1, 6))
            into = element(6, first), element(7, first)
            held = [read_vector(builder, p, vector) for p, vector in zip(into, vectors)]
            for j in range(count):
                here = builder.add(start, builder.mul(gap, I64(j)))
                v = read_apart(builder, element(0, here), stride, apart)
                changed = take(builder, v, builder.add(number, I64(j)), *held)
                held[: len(changed)] = changed
            for vector, pointer in zip(changed, into):
                write_vector(builder, vector, pointer)
            return context.get_dummy_value()

        return types.void(*kinds), generate

    return take_neighbours
