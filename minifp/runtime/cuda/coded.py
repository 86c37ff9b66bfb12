"""Arrays on a GPU of formats that CuPy lacks: their codes are moved, and never computed with.

CuPy allocates arrays whose dtype has a field (see minifp/derive/dtypes.py) and makes views of them;
none of its kernels reads one, not even to copy it ("Differences between CuPy and NumPy", structured
dtypes). So what moves numbers moves codes here, unsigned integers in the same memory. What computes
is refused: that is for minifp's own kernels, which read the codes as numbers (common.cuh).
"""

from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from minifp.derive.dtypes import name_of
from minifp.errors import DTypeError

METHODS = ("copy", "reshape", "ravel", "flatten", "take", "repeat")  # that move
OPERATORS = {n: f for n, f in vars(NDArrayOperatorsMixin).items() if isinstance(f, FunctionType)}
MOVES = {np.broadcast_to, np.concatenate, np.diagonal, np.empty_like, np.expand_dims, np.flip}
MOVES |= {np.moveaxis, np.ravel, np.repeat, np.reshape, np.roll, np.split, np.squeeze, np.stack}
MOVES |= {np.swapaxes, np.take, np.take_along_axis, np.tile, np.transpose, np.tril, np.triu}
MOVES |= {np.where, np.zeros_like}  # functions of NumPy's that do
ALIKE = {np.equal, np.not_equal}  # compare codes, as NumPy does of dtypes with a field
TELLS = {np.may_share_memory, np.ndim, np.shape, np.shares_memory, np.size}


@cache
def coded_array(cupy: Any) -> Any:
    """The class of these arrays, of a CuPy."""

    class CodedArray(cupy.ndarray):
        """Numbers of a format that CuPy lacks. All but its dtype is as of CuPy's arrays."""

        @property
        def codes(self) -> Any:
            """The codes, as CuPy's array of unsigned integers in the same memory."""
            return self.view(self.dtype[0], cupy.ndarray)

        def __getitem__(self, key: Any) -> Any:
            return as_numbers(self.codes[key], self.dtype)

        def __setitem__(self, key: Any, value: Any) -> None:
            self.codes[key] = codes_in(value, self.dtype)

        def fill(self, value: Any) -> None:
            self.codes.fill(codes_in(value, self.dtype))

        def get(self, *args: Any, **settings: Any) -> np.ndarray:
            return self.codes.get(*args, **settings).view(self.dtype)

        def set(self, array: np.ndarray, *args: Any, **settings: Any) -> None:
            self.codes.set(codes_in(array, self.dtype), *args, **settings)

        def astype(self, dtype: Any, *args: Any, **settings: Any) -> Any:
            raise refused(self.dtype, f"a cast to {dtype}")

        def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **settings: Any) -> Any:
            are_alike = all(getattr(a, "dtype", None) == self.dtype for a in args)
            if ufunc in ALIKE and method == "__call__" and are_alike and not settings:
                return ufunc(*map(codes_of, args))
            raise refused(self.dtype, f"np.{ufunc.__name__}")

        def __array_function__(self, function: Any, types: Any, args: Any, settings: Any) -> Any:
            if function not in MOVES | TELLS:
                raise refused(self.dtype, f"np.{function.__name__}")
            given = [a for arg in args for a in (arg if isinstance(arg, (list, tuple)) else [arg])]
            dtypes = {a.dtype for a in given if isinstance(a, cupy.ndarray)}
            of_numbers = {d for d in dtypes if d.kind in "fV"} - {self.dtype}
            if of_numbers and function in MOVES:
                others = ", ".join(sorted(map(name_of, of_numbers)))
                raise refused(self.dtype, f"np.{function.__name__} together with {others}")
            return as_numbers(function(*map(codes_of, args), **settings), self.dtype)

    def moving(name):
        def method(self, *args, **settings):
            return as_numbers(getattr(self.codes, name)(*args, **settings), self.dtype)

        method.__name__ = name
        return method

    def codes_of(a):
        if isinstance(a, (list, tuple)):
            return type(a)(map(codes_of, a))
        return a.codes if isinstance(a, CodedArray) else a

    def as_numbers(a, dtype):
        if isinstance(a, (list, tuple)):
            return type(a)(as_numbers(part, dtype) for part in a)
        is_codes = isinstance(a, cupy.ndarray) and a.dtype == dtype[0]
        return a.view(dtype, CodedArray) if is_codes else a

    for name, operator in OPERATORS.items():  # which call __array_ufunc__
        setattr(CodedArray, name, operator)
    for name in METHODS:
        setattr(CodedArray, name, moving(name))
    return CodedArray


def codes_in(value: Any, dtype: np.dtype) -> Any:
    """The codes that are written: of an array or one number of this dtype, or of 0, whose code is
    0. Raises DTypeError for anything else, which would have to be rounded."""
    if getattr(value, "dtype", None) == dtype:
        return value.codes if hasattr(value, "codes") else value.view(dtype[0])
    if np.isscalar(value) and value == 0 and not np.signbit(value):
        return 0
    raise refused(dtype, f"to write {getattr(value, 'dtype', value)!r}")


def refused(dtype: np.dtype, what: str) -> DTypeError:
    """The error for what would compute with codes."""
    name = name_of(dtype)
    return DTypeError(
        f"{what} of an array of {name} on a GPU: CuPy has its codes alone: expected "
        "minifp's operations, on tensors, or numbers that are cast before, as by x.float()"
    )
