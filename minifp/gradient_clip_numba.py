"""The twins of gradient_clip.py, and arrays as kernels read them: each where it lies."""

import ctypes
from functools import reduce

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from minifp.cpu import twin
from minifp.cpu.compile import compiled
from minifp.cpu.half import I32, I64, VIEWS, load, place, read, store, view
from minifp.cpu.pool import chunked, spans
from minifp.cpu.tile import Loop

NANOSECONDS = 0.4  # an element
LANES, TURN = 16, 32  # numbers in a vector, and in a turn of the loop over them
RUN = 16384  # elements that are worth a chunk

# ---- arrays where they lie ----------------------------------------------------------------------
#
# One call of a kernel covers all gradients of a block, though each is an array of its own. NumPy
# takes 2 us to say where one lies, more than the arithmetic on a bias, and half a us for the rest.
# So kernels look themselves. An array is a Python object, of which `id` is the address, and NumPy's
# C interface fixes what is in it (PyArrayObject_fields), after what every object begins with: that
# this is so here, is tried once.

HEAD = object.__basicsize__
KIND, DATA, AXES, SHAPE, FORMAT, FLAGS = (HEAD + offset for offset in (-8, 0, 8, 16, 40, 48))
ORDERLY = 0x501  # the flags of an array that is C-contiguous, aligned and writeable
LIKE = {dtype: np.empty(0, seen) for dtype, seen in VIEWS.items()}  # what kernels see of a format
LIKE_AT = {id(dtype): like for dtype, like in LIKE.items()}


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


def _number(kind, result):
    @intrinsic
    def number_at(typing, address):
        def generate(context, builder, signature, args):
            return builder.load(builder.inttoptr(args[0], kind.as_pointer()))

        return result(types.int64), generate

    return number_at


long_at, int_at = _number(I64, types.int64), _number(I32, types.int32)


@compiled
def _look(table, starts, kind):
    """The format (the address of the dtype) of the objects at the addresses in `table`, 0 unless
    they are arrays (of this kind), alike, orderly and as large as `starts` says; `table` then has
    the addresses of their numbers.
    """
    format = 0
    for i in range(table.size):
        if long_at(table[i] + KIND) != kind:
            return 0
        if i == 0:
            format = long_at(table[i] + FORMAT)
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
        self.starts = np.cumsum([0, *(a.size for a in arrays)])
        if not self.found(arrays):
            self.arrays = [a if a.flags.carray else np.array(a, order="C") for a in arrays]
            self.like = LIKE[arrays[0].dtype]
            self.addresses = np.array([a.ctypes.data for a in self.arrays], np.int64)

    def found(self, arrays):
        """Find arrays that begin at `starts`; False unless all is as it mostly is."""
        table = np.fromiter(map(id, arrays), np.int64, len(arrays))
        self.like = LIKE_AT.get(_look(table, self.starts, id(np.ndarray))) if CAN_LOOK else None
        self.arrays, self.addresses = arrays, table  # kept alive, as long as their addresses are
        return self.like is not None

    @classmethod
    def at_once(cls, arrays, starts):
        """These arrays, if it is known already where each starts and all is as it mostly is."""
        self = cls.__new__(cls)
        self.starts = starts
        return self if self.found(arrays) else None

    def squared_norm(self):
        """The sum of squares of all numbers, in float64."""
        size = int(self.starts[-1])
        chunks, length = spans(size, RUN)
        parts = np.zeros(chunks)
        given = length, self.starts, self.addresses, self.like, parts
        squares(chunks, *given, cost=size * NANOSECONDS)
        return sum(parts.tolist())


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


@chunked
def squares(chunk, scratch, length, starts, addresses, like, out):
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
