"""How CPython calls a kernel that numba has lowered: an entry, in LLVM's terms, beside it.

An entry looks at its arguments' types, by address, takes what it needs of them where CPython and
NumPy keep it, lets go of the GIL, and calls the kernel as numba's own code would. Where a type is
another one than it was made for, it returns NotImplemented. What it needs of Python it finds in a
table that is passed with every call, so that its code has no addresses in it. (The text of entries
is made with that of the kernels: see scripts/lowering/entry.py.)

Types are named as in "float32[2], (int, int), float, numpy.float32, bool, None": arrays, of so many
axes, are contiguous in C order, aligned and writeable. "uint16[]" is a row of numbers: an array of
any axes, as its numbers lie, and one of the format whose codes these are, float16, as well.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np

from minifp.derive.dtypes import dtype_of
from minifp.runtime.cpu.compile.machine import F64, HEADER, I64, POINTER, VOID, has_entries

NUMBER, ORDER = 12, 10  # of dtypes, of which there may be several that are equal
FIELDS = {"data": 0, "axes": 8, "shape": 16, "strides": 24, "format": 40, "flags": 48}  # of arrays
LENGTH, ITEMS = 0, 8  # of tuples
ORDERLY = 0x501  # the flags of an array that is C-contiguous, aligned and writeable
ERROR = "a compiled kernel failed: its arguments do not fit together"

FORMATS = ("bool", "uint8", "int8", "uint16", "int16", "int32", "int64", "float32", "float64")
NUMBERS = ("float32", "float64", "int64", "int32")
# What numba does not know, by the format of its codes, which it does: see half.py.
MEANINGS = {
    "uint16": dtype_of("float16", 2),
    "int16": dtype_of("bfloat16", 2),
    "uint8": dtype_of("float8_e4m3fn", 1),
    "int8": dtype_of("float8_e5m2", 1),
}
FUNCTIONS = {  # as of machine.py, in the order in which kernels that are shipped find them
    "PyLong_AsLongLong": (I64, [POINTER]),
    "PyFloat_AsDouble": (F64, [POINTER]),
    "PyLong_FromLongLong": (POINTER, [I64]),
    "PyFloat_FromDouble": (POINTER, [F64]),
    "PyBool_FromLong": (POINTER, [I64]),
    "PyErr_Occurred": (POINTER, []),
    "PyErr_SetString": (VOID, [POINTER, POINTER]),
    "Py_IncRef": (VOID, [POINTER]),
    "PyEval_SaveThread": (POINTER, []),
    "PyEval_RestoreThread": (VOID, [POINTER]),
}
CONSTANTS = NotImplemented, None, True, False
CLASSES = {c.__name__: c for c in (RuntimeError, int, float, tuple)}
OBJECTS: dict[str, Any] = {f"{x}": x for x in CONSTANTS} | CLASSES | {"array": np.ndarray}
OBJECTS |= {f"numpy.{name}": getattr(np, name) for name in NUMBERS}
OBJECTS |= {f"coded {name}": dtype for name, dtype in MEANINGS.items()}
DTYPES = {name: np.dtype(name) for name in FORMATS}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
CODES = {dtype: DTYPES[name] for name, dtype in MEANINGS.items()}  # as which kernels take an array
PLACES = {
    name: k for k, name in enumerate((*OBJECTS, *FUNCTIONS, *(f"{n}[" for n in DTYPES), "error"))
}
MESSAGE = ctypes.create_string_buffer(ERROR.encode())


@cache
def table() -> np.ndarray:
    """The addresses of what entries need of Python, in the order of PLACES."""
    python = ctypes.pythonapi
    called = [ctypes.cast(getattr(python, name), ctypes.c_void_p).value for name in FUNCTIONS]
    numbers = [dtype.num for dtype in DTYPES.values()]
    objects = [id(x) for x in OBJECTS.values()]
    return np.array([*objects, *called, *numbers, ctypes.addressof(MESSAGE)], np.int64)


@cache
def can_enter() -> bool:
    """Whether arrays and tuples look as entries take them to."""
    if not has_entries():
        return False
    x, pair = np.zeros((2, 3), np.float32), (1.5, 2.5)

    def at(address, kind=ctypes.c_ssize_t):
        return kind.from_address(address).value

    fields = {name: at(id(x) + HEADER + place) for name, place in FIELDS.items()}
    return (
        at(id(x) + 8) == id(np.ndarray)
        and at(fields["format"] + HEADER + NUMBER, ctypes.c_int) == x.dtype.num
        and at(fields["format"] + HEADER + ORDER, ctypes.c_char) == b"="
        and at(id(x) + HEADER + FIELDS["axes"], ctypes.c_int) == 2
        and at(id(x) + HEADER + FIELDS["flags"], ctypes.c_int) & ORDERLY == ORDERLY
        and [at(fields["shape"] + 8), at(fields["strides"])] == [3, 12]
        and at(id(pair) + HEADER + LENGTH) == 2
        and at(id(pair) + HEADER + ITEMS + 8) == id(pair[1])
    )


# ---- types by name ------------------------------------------------------------------------------


def described(x: Any) -> str:
    """The type of an argument; "" for what entries take nothing of."""
    kind = type(x)
    if kind is np.ndarray:
        name = NAMES.get(x.dtype)
        fits = name and x.dtype.num == DTYPES[name].num and x.flags.num & ORDERLY == ORDERLY
        return f"{name}[{x.ndim}]" if fits else ""
    if kind is tuple:
        return f"({', '.join(parts)})" if all(parts := [described(y) for y in x]) else ""
    if kind in (int, float, bool, type(None)):
        return "None" if x is None else kind.__name__
    name = f"numpy.{kind.__name__}"
    return name if OBJECTS.get(name) is kind else ""


def signature(args: tuple) -> str:
    """The types of all arguments; "" if there is one that entries take nothing of."""
    return described(args)[1:-1]
