"""The twins of gradient_clip.py, and arrays as kernels read them: each where it lies."""

import ctypes

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from minifp.cpu import twin
from minifp.cpu.compile import compiled
from minifp.cpu.half import I32, I64, VIEWS, load, store, view
from minifp.cpu.pool import chunked, spans

NANOSECONDS = 0.4  # an element
BLOCK = 512  # numbers whose squares are added up, before those sums are
RUN = 16384  # elements that are worth a chunk

# ---- arrays where they lie ----------------------------------------------------------------------
#
# One call of a kernel covers all gradients of a block, though each is an array of its own. NumPy
# takes 2 us to say where one lies, more than the arithmetic on a bias, and half a us for the rest.
# So kernels look themselves. An array is a Python object, of which `id` is the address, and NumPy's
# C interface fixes what is in it (PyArrayObject_fields), after what every object begins with: that
# this is so here, is tried once.

HEAD = object.__basicsize__
DATA, AXES, SHAPE, FORMAT, FLAGS = (HEAD + offset for offset in (0, 8, 16, 40, 48))
ORDERLY = 0x501  # the flags of an array that is C-contiguous, aligned and writeable
LIKE = {dtype: np.empty(0, seen) for dtype, seen in VIEWS.items()}  # what kernels see of a format
LIKE_AT = {id(dtype): like for dtype, like in LIKE.items()}


def _is_as_expected(x):
    def at(address, kind):
        return kind.from_address(address).value

    return (
        at(id(x) + DATA, ctypes.c_void_p) == x.ctypes.data
        and at(id(x) + AXES, ctypes.c_int) == x.ndim
        and at(at(id(x) + SHAPE, ctypes.c_void_p) + 8, ctypes.c_ssize_t) == x.shape[1]
        and at(id(x) + FORMAT, ctypes.c_void_p) == id(x.dtype)
        and at(id(x) + FLAGS, ctypes.c_int) & ORDERLY == x.flags.num & ORDERLY
    )


CAN_LOOK = all(map(_is_as_expected, [np.zeros((2, 3)), np.zeros((3, 2), np.float16).T]))


def _number(kind, result):
    @intrinsic
    def number_at(typing, address):
        def generate(context, builder, signature, args):
            return builder.load(builder.inttoptr(args[0], kind.as_pointer()))

        return result(types.int64), generate

    return number_at


long_at, int_at = _number(I64, types.int64), _number(I32, types.int32)


@compiled
def _look(table, starts):
    """The format (the address of the dtype) of arrays at the addresses in `table`, 0 unless they
    are alike, orderly and as large as `starts` says; `table` then has the addresses of their
    numbers."""
    format = long_at(table[0] + FORMAT)
    for i in range(table.size):
        size, shape = 1, long_at(table[i] + SHAPE)
        for axis in range(int_at(table[i] + AXES)):
            size *= long_at(shape + 8 * axis)
        fits = size == starts[i + 1] - starts[i] and long_at(table[i] + FORMAT) == format
        if not fits or int_at(table[i] + FLAGS) & ORDERLY != ORDERLY:
            return 0
        table[i] = long_at(table[i] + DATA)
    return format


@intrinsic
def array_at(typing, address, like):
    """A flat array like `like` that begins at an address, of no known size: only for `load`."""

    def generate(context, builder, signature, args):
        made = context.make_array(like)(context, builder)
        made.data = builder.inttoptr(args[0], made.data.type)
        return made._getvalue()

    return like(types.int64, like), generate


class Scattered:
    """Arrays of one format, one of VIEWS, as one row of numbers, where they lie.

    addresses: of the first number of each. starts: where in the row each begins, and where the last
    one ends. like: an array that kernels see as they do these.
    """

    __slots__ = ("arrays", "addresses", "starts", "like")

    def __init__(self, arrays):
        # kept alive, for as long as the addresses are
        self.arrays = [a if a.flags.carray else np.array(a, order="C") for a in arrays]
        self.like = LIKE[arrays[0].dtype]
        self.addresses = np.array([a.ctypes.data for a in self.arrays], np.int64)
        self.starts = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([a.size for a in arrays], out=self.starts[1:])

    @classmethod
    def at_once(cls, arrays, starts):
        """Those arrays, or None, unless all is as it mostly is: quickly."""
        table = np.fromiter(map(id, arrays), np.int64, len(arrays))
        like = LIKE_AT.get(_look(table, starts)) if CAN_LOOK else None
        if like is None:
            return None
        self = cls.__new__(cls)
        self.arrays, self.addresses, self.starts, self.like = arrays, table, starts, like
        return self

    def squared_norm(self):
        """The sum of squares of all numbers, in float64."""
        size = int(self.starts[-1])
        chunks, length = spans(size, RUN)
        parts = np.zeros(chunks)
        # Squares of halves are exact in float32; those of float32 could overflow there, or vanish.
        zero = np.float32(0) if self.like.itemsize == 2 else 0.0
        given = length, self.starts, self.addresses, self.like, zero, parts
        squares(chunks, *given, cost=size * NANOSECONDS)
        return sum(parts.tolist())


# ---- norms --------------------------------------------------------------------------------------


@chunked(sums=True)
def squares(chunk, scratch, length, starts, addresses, like, zero, out):
    """out[chunk] = the sum of squares of `length` numbers: of each BLOCK in the format of `zero`,
    and of those sums in float64."""
    i, stop = chunk * length, min((chunk + 1) * length, starts[-1])
    k, total = 0, 0.0
    while starts[k + 1] <= i:
        k += 1
    while i < stop:
        x, first, n = array_at(addresses[k], like), i - starts[k], min(starts[k + 1], stop) - i
        for start in range(first, first + n, BLOCK):
            part = zero
            for j in range(start, min(start + BLOCK, first + n)):
                number = zero + load(x, j)
                part += number * number
            total += part
        i += n
        k += 1
    out[chunk] = total


@twin
def squared_norm(*arrays):
    total = 0.0
    for dtype in {a.dtype: None for a in arrays}:
        if dtype not in LIKE:
            return None
        total += Scattered([a for a in arrays if a.dtype == dtype]).squared_norm()
    return total


# ---- multiplying --------------------------------------------------------------------------------


@chunked
def products(chunk, scratch, length, x, factor, out):
    """out = factor x."""
    factor = np.float32(factor)
    for i in range(chunk * length, min((chunk + 1) * length, out.size)):
        store(out, i, load(x, i) * factor)


@twin
def multiplied(array, factor):
    if array.dtype not in LIKE:
        return None
    x, out = view(np.ascontiguousarray(array)).reshape(-1), np.empty(array.shape, np.float32)
    chunks, length = spans(out.size, RUN)
    products(chunks, length, x, float(factor), out.reshape(-1), cost=out.size * NANOSECONDS)
    return out
