"""Reading an array in the C order of the shape that broadcasting stretches it to, in blocks."""

from typing import Any

import numpy as np
from llvmlite import ir

from minifp.runtime.cpu.compile.machine import F32, I32, I64
from minifp.runtime.cpu.emit.formats_ir import BYTES, FORMATS
from minifp.runtime.cpu.emit.loops import Code, parameters

BLOCK = 1024  # elements that are gathered at a time
WIDTH = 2 * 64 + 1  # numbers that say where the elements of one array lie: NumPy has 64 axes


def places_of(lie: list, forms: str, shape: tuple[int, ...]) -> np.ndarray:
    """Where the elements of arrays lie that are gathered ("g" in forms): WIDTH numbers for each.

    The number of axes; then for each, the last one first, its size and its step, in elements.
    lie: of each array its shape, its strides, and the bytes of an element.
    """
    places = np.zeros(len(lie) * WIDTH, np.int64)
    for k, (of, form) in enumerate(zip(lie, forms)):
        if form == "g":
            sizes, strides, itemsize = of
            axes = _axes(sizes, strides, itemsize, shape)
            axes = [number for axis in reversed(axes) for number in axis]
            places[k * WIDTH] = len(axes) // 2
            places[k * WIDTH + 1 : k * WIDTH + 1 + len(axes)] = axes
    return places


def _axes(sizes, strides, itemsize, shape):
    """[size, step] of the axes of an array stretched to `shape`; neighbours that are one axis in
    memory are joined."""
    steps = (0,) * (len(shape) - len(sizes)) + tuple(
        0 if n == 1 else s // itemsize for n, s in zip(sizes, strides)
    )
    axes: list[list[int]] = []
    for n, s in zip(shape, steps):
        if n == 1:
            continue
        if axes and axes[-1][1] == n * s:
            axes[-1] = [axes[-1][0] * n, s]
        else:
            axes.append([n, s])
    return axes or [[1, 1]]


def add_gather(module: ir.Module, dtype: str) -> Any:
    """A function of the module that gathers arrays of a dtype, as what calls it.

    call(code, k, x, first, n): numbers first to first + n of array k, x, into its part of the
    workspace.
    """
    takes = parameters(f"x {dtype}, places int64, first i64, n i64, into float32")
    code = Code(module, f"gather_{dtype}", takes)
    code.function.linkage = "internal"
    code.function.attributes.add("noinline")
    code.function.args[-1].add_attribute("noalias")
    _write_gather(code, dtype)
    code.finish()

    def call(caller, k, x, first, n):
        b = caller.b
        places = b.gep(caller.p["places"], [I64(k * WIDTH)])
        b.call(code.function, [x, places, first, n, b.gep(caller.p["scratch"], [I64(k * BLOCK)])])

    return call


def _write_gather(code, dtype):
    b, p = code.b, code.p

    def place(i):
        return b.load(b.gep(p["places"], [i]))

    axes, inner, step = (place(I64(i)) for i in range(3))
    row, column, done = (code.slot(I64) for _ in range(3))
    first_row = b.sdiv(p["first"], inner)
    b.store(first_row, row)
    b.store(b.sub(p["first"], b.mul(first_row, inner)), column)
    b.store(I64(0), done)
    with code.repeat(lambda: b.icmp_signed("<", b.load(done), p["n"])):
        j, c = b.load(done), b.load(column)
        m = code.least(b.sub(inner, c), b.sub(p["n"], j))
        start, rest = code.slot(I64), code.slot(I64)
        b.store(b.mul(c, step), start)
        b.store(b.load(row), rest)
        with code.loop(I64(3), b.add(b.mul(axes, I64(2)), I64(1)), I64(2)) as d:
            size, far = place(d), place(b.add(d, I64(1)))
            at = b.load(rest)
            further = b.udiv(at, size)
            here = b.sub(at, b.mul(further, size))
            b.store(b.add(b.load(start), b.mul(here, far)), start)
            b.store(further, rest)
        source, into = b.gep(p["x"], [b.load(start)]), b.gep(p["into"], [j])
        is_beside, is_same = (b.icmp_signed("==", step, I64(k)) for k in (1, 0))
        with b.if_else(is_beside) as (then, otherwise):
            with then, code.loop(I64(0), m) as t:
                code.store(code.number(source, t, dtype), into, t, "float32")
            with otherwise, b.if_else(is_same) as (same, apart):
                with same:
                    x = code.number(source, I64(0), dtype)
                    with code.loop(I64(0), m) as t:
                        code.store(x, into, t, "float32")
                with apart:
                    _write_apart(code, source, step, m, into, dtype)
        b.store(b.add(j, m), done)
        b.store(b.add(b.load(row), I64(1)), row)
        b.store(I64(0), column)


LANES = 8  # of a vector that is put together of numbers that lie apart


def _write_apart(code, source, step, m, into, dtype):
    """into[t] = source[t * step] for t below m: converted LANES at a time."""
    b, (form, upcast, _) = code.b, FORMATS[dtype]
    whole = b.mul(b.sdiv(m, I64(LANES)), I64(LANES))
    with code.loop(I64(0), whole, I64(LANES)) as t:
        vector, at = ir.Constant(ir.VectorType(form, LANES), ir.Undefined), b.mul(t, step)
        for lane in range(LANES):
            x = b.load(b.gep(source, [at]))
            vector = b.insert_element(vector, x, I32(lane))
            at = b.add(at, step)
        numbers = upcast(b, vector)
        target = b.bitcast(b.gep(into, [t]), numbers.type.as_pointer())
        b.store(numbers, target).align = BYTES[F32]
    with code.loop(whole, m) as t:
        code.store(code.number(source, b.mul(t, step), dtype), into, t, "float32")
