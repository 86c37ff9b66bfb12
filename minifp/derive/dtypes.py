"""The dtypes of stored numbers, and what they are called.

Formats that NumPy lacks are stored as their codes, unsigned integers in a field of the format's
name: np.dtype([("bfloat16", "<u2"), (INSTEAD, [])]). So arrays of one format are told from those of
another, and none of NumPy's functions takes them for numbers. The second field takes no bytes: an
array of one field NumPy casts as that field's integers, and one of two it refuses to cast. What a
tensor says of its dtype is a `CodedDtype`, which has the name; `formats.as_dtype` gives the dtype
of the codes.
"""

from functools import cache
from typing import Any

import numpy as np

from minifp.errors import DTypeError

NATIVE = ("float16", "float32", "float64")
INSTEAD = "are codes: write tensor.float().numpy()"  # in NumPy's own errors, which show the dtype
CODES = {"bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}  # bytes of those that are compiled


class CodedDtype:
    """The dtype of a format that NumPy lacks: equal to its name and to NumPy's dtype of its codes.

    codes: that dtype. kind: "V", as ml_dtypes' have it. NumPy is refused it: it would take numbers
    for codes.
    """

    kind, isnative, byteorder = "V", True, "="

    def __init__(self, dtype: np.dtype):
        self.codes, self.names, self.itemsize = dtype, dtype.names, dtype.itemsize
        self.name: str = dtype.names[0]  # type: ignore[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other == self.name
        codes = other.codes if isinstance(other, CodedDtype) else other
        return isinstance(codes, np.dtype) and codes == self.codes

    def __hash__(self) -> int:
        return hash(self.codes)

    @property
    def dtype(self) -> np.dtype:
        """What NumPy asks for. Raises DTypeError."""
        return for_numpy(self.codes)

    def __repr__(self) -> str:
        return f"dtype({self.name!r})"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return shown, (self.codes,)


@cache
def dtype_of(name: str, nbytes: int) -> np.dtype:
    """The dtype that stores a format: always the same object."""
    if name in NATIVE:
        return np.dtype(name)
    return np.dtype([(name, f"<u{nbytes}"), (INSTEAD, np.dtype([]))])


@cache
def name_of(dtype: Any) -> str:
    """The name of the format that a dtype stores, or of the dtype."""
    return dtype.names[0] if dtype.kind == "V" and dtype.names else str(dtype)


def for_numpy(dtype: np.dtype) -> np.dtype:
    """A stored dtype, for NumPy's functions. Raises DTypeError for one of codes."""
    if dtype.kind == "V":
        name = name_of(dtype)
        raise DTypeError(
            f"NumPy has no {name}, and would take numbers for its codes: expected "
            f'fp.tensor(array, dtype="{name}"), or fp.zeros(3, dtype="{name}")'
        )
    return dtype


@cache
def shown(dtype: np.dtype) -> Any:
    """NumPy's dtype of codes as a CodedDtype: always the same object."""
    return CodedDtype(dtype)


# What compiled kernels read and write.
CODED = {dtype_of(name, n) for name, n in CODES.items()}
COMPILED = {dtype_of("float16", 2), dtype_of("float32", 4), *CODED}
