"""Arrays as kernels read them, each where it lies: many, in one call.

One call of a kernel covers all gradients of a block, though each is an array of its own. NumPy
takes 2 us to say where one lies, more than the arithmetic on a bias, and half a us for the rest.
So kernels look themselves. An array is a Python object, of which `id` is the address, and NumPy's
C interface fixes what is in it (PyArrayObject_fields), after what every object begins with: that
this is so here, is tried once.
"""

import ctypes
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from minifp.derive.dtypes import COMPILED
from minifp.runtime.cpu.compile.machine import I32, I64, kernel_of
from minifp.runtime.cpu.emit.loops import Code, element, new_module, parameters

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
