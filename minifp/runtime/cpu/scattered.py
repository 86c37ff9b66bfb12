"""Arrays as kernels read them, each where it lies: many, in one call.

One call of a kernel covers all gradients of a block, though each is an array of its own. NumPy
takes 2 us to say where one lies, more than the arithmetic on a bias, and half a us for the rest.
So kernels look themselves. An array is a Python object, of which `id` is the address, and NumPy's
C interface fixes what is in it (PyArrayObject_fields), after what every object begins with: that
this is so here, is tried once.
"""

import ctypes

import numpy as np

from minifp.runtime.cpu.compile import compiled, intrinsic, types
from minifp.runtime.cpu.half import VIEWS
from minifp.runtime.cpu.machine import I32, I64

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


def _number(kind):
    @intrinsic
    def number_at(typing, address):
        def generate(context, builder, signature, args):
            number = builder.load(builder.inttoptr(args[0], kind.as_pointer()))
            return number if kind == I64 else builder.sext(number, I64)

        return types.int64(types.int64), generate

    return number_at


long_at, int_at = _number(I64), _number(I32)


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
