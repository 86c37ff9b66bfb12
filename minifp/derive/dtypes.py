"""The dtypes of stored numbers, and what they are called.

Formats that NumPy lacks are stored as their codes, unsigned integers in a field of the format's
name: np.dtype([("bfloat16", "<u2"), (INSTEAD, [])]). So arrays of one format are told from those of
another, and none of NumPy's functions takes them for numbers. The second field takes no bytes: an
array of one field NumPy casts as that field's integers, and one of two it refuses to cast. What a
tensor says of its dtype is a `dtype`, which has the name; `formats.as_dtype` gives
NumPy's.
"""

from functools import cache
from typing import Any

import numpy as np

from minifp.errors import DTypeError

NATIVE = ("float16", "float32", "float64")
INSTEAD = "are codes: write tensor.float().numpy()"  # in NumPy's own errors, which show the dtype
CODES = {"bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}  # bytes of those that are compiled


class dtype:
    """A format as a tensor says it: equal to its name, and to NumPy's dtype of what is stored.

    codes: that dtype. itemsize: bytes of an element. is_floating_point, is_signed, is_complex
    (never): as PyTorch's. Where NumPy has the format, it takes this for its own dtype, and all that
    it says of that is here (`kind`, `type`, ...). It is refused one that it lacks, whose kind is
    "V", as ml_dtypes' have it: it would take numbers for codes. There is one of each, made by
    `shown`.
    """

    is_complex = False
    type: Any
    name: str

    def __init__(self, codes: np.dtype) -> None:
        self.codes, self.kind, self.name = codes, codes.kind, name_of(codes)
        self.names, self.itemsize = codes.names, codes.itemsize
        self.isnative, self.byteorder = True, "="
        self.is_floating_point = codes.kind in "fV"
        self.is_signed = codes.kind in "fiV"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if self.kind == "V":
            return other == self.name if isinstance(other, str) else other == self.codes
        return not isinstance(other, dtype) and self.codes == other

    def __hash__(self) -> int:
        return hash(self.codes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.kind == "V":
            raise AttributeError(f"a dtype has no {name!r}")
        return getattr(self.codes, name)

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
def name_of(of: Any) -> str:
    """The name of the format that a dtype stores, or of the dtype."""
    return of.names[0] if of.kind == "V" and of.names else str(of)


def for_numpy(stored: np.dtype) -> np.dtype:
    """A stored dtype, for NumPy's functions. Raises DTypeError for one of codes."""
    if stored.kind == "V":
        name = name_of(stored)
        raise DTypeError(
            f"NumPy has no {name}, and would take numbers for its codes: expected "
            f'fp.tensor(array, dtype="{name}"), or fp.zeros(3, dtype="{name}")'
        )
    return stored


@cache
def shown(stored: np.dtype) -> Any:
    """NumPy's dtype as a `dtype`: always the same object."""
    return dtype(stored)


# What compiled kernels read and write.
CODED = {dtype_of(name, n) for name, n in CODES.items()}
COMPILED = {dtype_of("float16", 2), dtype_of("float32", 4), *CODED}
