"""The kinds of arguments that many functions take, by the names that their annotations use.

Shapes are not among them: they stand in docstrings, in words.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

DType: TypeAlias = str | np.dtype | type  # a format: "float16", fp.float16 or np.float16
Ints: TypeAlias = int | tuple[int, ...] | list[int]  # one size or dimension, or several
Widths: TypeAlias = tuple[int, ...] | list[int]  # always several
Device: TypeAlias = str | None  # "cpu" or "cuda"; None for the one that is set
Factors: TypeAlias = float | tuple[float, ...] | list[float] | None  # for all axes, or for each
Function: TypeAlias = Callable[..., Any]

F = TypeVar("F", bound=Callable[..., Any])  # of decorators that leave a function's type as it is
