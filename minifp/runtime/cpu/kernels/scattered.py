"""Arrays as kernels read them, each where it lies: many, in one call.

One call of a kernel covers all gradients of a block, though each is an array of its own. NumPy
takes 2 us to say where one lies, more than the arithmetic on a bias, and half a us for the rest.
So kernels look themselves. An array is a Python object, of which `id` is the address, and NumPy's
C interface fixes what is in it (PyArrayObject_fields), after what every object begins with: that
this is so here, is tried once.
"""

import ctypes
from collections.abc import Iterator
from functools import cache, reduce
from typing import Any

import numpy as np
from llvmlite import ir

from minifp.derive.dtypes import COMPILED, name_of
from minifp.runtime.cpu import threads
from minifp.runtime.cpu.compile.machine import F64, I32, I64, kernel_of
from minifp.runtime.cpu.emit.formats_ir import BYTES, FORMATS
from minifp.runtime.cpu.emit.loops import CHUNKED, Code, element, new_module, parameters
from minifp.runtime.cpu.kernels import pool

HEAD = object.__basicsize__
KIND, DATA, AXES, SHAPE, FORMAT, FLAGS = (HEAD + offset for offset in (-8, 0, 8, 16, 40, 48))
ORDERLY = 0x501  # the flags of an array that is C-contiguous, aligned and writeable
DTYPES = {id(dtype): dtype for dtype in COMPILED}


def _is_as_expected(x):
    def at(address, kind):
        return kind.from_address(address).value

    return (
        at(id(x) + KIND, ctypes.c_void_p) == id(np.ndarray)
        and at(id(x) + DATA, ctypes.c_void_p) == x.ctypes.data
        and at(id(x) + AXES, ctypes.c_int) == x.ndim
        and at(at(id(x) + SHAPE, ctypes.c_void_p) + 8, ctypes.c_ssize_t) == x.shape[1]
        and at(id(x) + FORMAT, ctypes.c_void_p) == id(x.dtype)
        and at(id(x) + FLAGS, ctypes.c_int) & ORDERLY == x.flags.num & ORDERLY
    )


CAN_LOOK = all(map(_is_as_expected, [np.zeros((2, 3)), np.zeros((3, 2), np.float16).T]))

# ---- looking ------------------------------------------------------------------------------------


def look_text() -> str:
    """LLVM's text of `look`(table, starts, count, kind).

    table: the addresses of `count` objects; then, if they are arrays (of this kind), alike, orderly
    and as large as `starts` says, the addresses of their numbers. Behind them goes their format
    (the address of the dtype), or 0.
    """
    takes = parameters("table int64, starts int64, count i64, kind i64")
    code = Code(new_module("look"), "look", takes)
    b, p = code.b, code.p
    i, format, fits = (code.slot(type) for type in (I64, I64, ir.IntType(1)))
    for place, value in ((i, I64(0)), (format, I64(0)), (fits, ir.Constant(ir.IntType(1), 1))):
        b.store(value, place)
    with code.repeat(lambda: b.and_(b.icmp_signed("<", b.load(i), p["count"]), b.load(fits))):
        place = b.gep(p["table"], [b.load(i)])
        array = b.load(place)
        b.store(b.icmp_signed("==", _at(b, array, KIND), p["kind"]), fits)
        with b.if_then(b.load(fits)):
            with b.if_then(b.icmp_signed("==", b.load(i), I64(0))):
                b.store(_at(b, array, FORMAT), format)
            b.store(_is_right(code, array, b.load(i), b.load(format)), fits)
            b.store(_at(b, array, DATA), place)
        b.store(b.add(b.load(i), I64(1)), i)
    result = b.select(b.load(fits), b.load(format), I64(0))
    b.store(result, b.gep(p["table"], [p["count"]]))
    code.finish()
    return code.text()


def _at(b, address, offset, type=I64):
    """What lies at an address."""
    return b.load(b.inttoptr(b.add(address, I64(offset)), type.as_pointer()))


def _is_right(code, array, i, format):
    """Whether array number i has this format, is orderly, and as large as it is to be."""
    b, starts = code.b, code.p["starts"]
    size, shape = code.slot(I64), _at(b, array, SHAPE)
    b.store(I64(1), size)
    with code.loop(I64(0), b.zext(_at(b, array, AXES, I32), I64)) as axis:
        n = b.load(b.inttoptr(b.add(shape, b.mul(axis, I64(8))), I64.as_pointer()))
        b.store(b.mul(b.load(size), n), size)
    ends = [b.load(b.gep(starts, [k])) for k in (i, b.add(i, I64(1)))]
    flags = b.and_(_at(b, array, FLAGS, I32), I32(ORDERLY))
    return b.and_(
        b.icmp_signed("==", b.load(size), b.sub(ends[1], ends[0])),
        b.and_(
            b.icmp_signed("==", _at(b, array, FORMAT), format),
            b.icmp_signed("==", flags, I32(ORDERLY)),
        ),
    )


@cache
def look() -> Any:
    """The kernel; see `look_text`."""
    return kernel_of("look", look_text(), "gradients")


# ---- what kernels are given ---------------------------------------------------------------------


class Scattered:
    """Arrays of one format, float16 or float32, as one row of numbers, where they lie.

    addresses: of the first number of each. starts: where in the row each begins, and where the last
    one ends. dtype: their format.
    """

    __slots__ = ("arrays", "addresses", "starts", "dtype")

    def __init__(self, arrays: list) -> None:
        self.starts = np.cumsum([0, *(a.size for a in arrays)], dtype=np.int64)
        if not self.look_at(arrays):
            self.arrays = [a if a.flags.carray else np.array(a, order="C") for a in arrays]
            self.dtype = arrays[0].dtype
            self.addresses = np.array([a.ctypes.data for a in self.arrays], np.int64)

    def look_at(self, arrays: list) -> bool:
        """Whether all is as it mostly is, so that there is nothing more to do: orderly arrays that
        begin at `starts`."""
        n = len(arrays)
        table = np.empty(n + 1, np.int64)
        table[:n] = [*map(id, arrays)]
        if CAN_LOOK:
            look()(table, self.starts, n, id(np.ndarray))
        self.dtype = DTYPES.get(int(table[n])) if CAN_LOOK else None
        self.arrays, self.addresses = arrays, table  # kept alive, as long as their addresses are
        return self.dtype is not None

    @classmethod
    def at_once(cls, arrays: list, starts: np.ndarray) -> "Scattered | None":
        """These arrays, if it is known already where each starts and all is as it mostly is."""
        self = cls.__new__(cls)
        self.starts = starts
        return self if self.look_at(arrays) else None


# ---- in kernels ---------------------------------------------------------------------------------


def parts_of(code: Code, dtype: str, start: Any, stop: Any) -> Iterator[tuple]:
    """A loop over the arrays that have elements `start` to `stop`, of which there are some, for a
    function with parameters starts and addresses: (one array, the first element that it has, where
    in it that is, how many it has)."""
    b, k, at = code.b, code.slot(I64), code.slot(I64)

    def start_of(part):
        return b.load(b.gep(code.p["starts"], [part]))

    def next_start():
        return start_of(b.add(b.load(k), I64(1)))

    b.store(I64(0), k)
    b.store(start, at)
    with code.repeat(lambda: b.icmp_signed("<=", next_start(), start)):
        b.store(b.add(b.load(k), I64(1)), k)
    with code.repeat(lambda: b.icmp_signed("<", b.load(at), stop)):
        part, i = b.load(k), b.load(at)
        address = b.load(b.gep(code.p["addresses"], [part]))
        g = b.inttoptr(address, element(dtype).as_pointer())
        n = b.sub(code.least(next_start(), stop), i)
        yield g, i, b.sub(i, start_of(part)), n
        b.store(b.add(i, n), at)
        b.store(b.add(part, I64(1)), k)


# ---- their squares ------------------------------------------------------------------------------

NANOSECONDS = 0.4  # an element
LANES, TURN = 16, 32  # numbers in a vector, and in a turn of the loop over them
RUN = 16384  # elements that are worth a chunk-


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
        pool.POOL.run(kernel, chunks, rest)
    elif chunks:
        kernel(pool.at_hand(0)[0], chunks, pool.NOTHING, *rest)
    return sum(parts.tolist())
