"""In what a sum is added up: one format, or a narrow one over chunks and float32 from there.

Of "chunked:32", which `accumulate` and `reduce` of a precision may be, the addends are taken in
chunks of 32 (the last may be shorter). Each chunk is added up in float16 as a sum in float16 is,
every addend and partial sum rounded, and the sums of the chunks are added in float32, first to
last. A long sum in float16 stands still where the next addend is less than half an ulp of it; a sum
of 32 never grows so far. Chunks were proposed for training with 8 bits (Wang et al. 2018,
arXiv:1812.08011, section 3.1), there in one 16-bit format on both levels. To go on in float32 after
so many addends is what trainers do with the short accumulators of H100's FP8 tensor cores
(DeepSeek-V3, arXiv:2412.19437, section 3.3.2).

chunked:1 sums products that are rounded to float16 in float32; where n is not less than the number
of addends, the sum is that in float16, bit for bit.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from minifp.derive.dtypes import NATIVE, name_of
from minifp.errors import PrecisionError
from minifp.numerics.formats import as_dtype, float16, float32, is_float, names
from minifp.numerics.number_format import format_named, not_stored
from minifp.numerics.precision_grammar import read_count, written_count

CHUNKED = "chunked"
MOST_MANTISSA = 10  # 24 >= 2 (m + 1) + 2: see accumulate.py
EXPECTED = (
    f"one of {names()}, or {CHUNKED}:N to sum N numbers in {float16.name} and add these sums in "
    f"{float32.name}, with N a whole number of at least 1, such as {CHUNKED}:32"
)


class SumFormat(NamedTuple):
    """The format of a sum, and of how many addends.

    dtype: the format of partial sums; chunk: of how many addends, whose sums are then added in
    float32; None: of all.
    """

    dtype: np.dtype
    chunk: int | None = None

    @property
    def whole(self) -> np.dtype:
        """The format of the whole sum, and of what is added to it: a bias, another gradient."""
        return self.dtype if self.chunk is None else float32

    @property
    def name(self) -> str:
        """As a precision names it: "float16", "chunked:32"."""
        return written_count(name_of(self.dtype) if self.chunk is None else CHUNKED, self.chunk)

    @property
    def words(self) -> str:
        """What is summed where: "float32", "float16 in chunks of 32, and these in float32"."""
        if self.chunk is None:
            return self.name
        return f"{name_of(self.dtype)} in chunks of {self.chunk}, and these in {self.whole.name}"


@cache
def sum_format(text: str, switch: str = "sums") -> SumFormat:
    """The sums that a precision's `accumulate` or `reduce` names: "float16", "chunked:32".

    switch: which of them, for the error. Raises PrecisionError for a text that is neither a format
    nor of that form.
    """
    format = format_named(text)
    if format is not None:
        if format.name not in NATIVE and format.mantissa_bits > MOST_MANTISSA:
            raise PrecisionError(
                f"{switch}={text!r}: expected at most {MOST_MANTISSA} bits of mantissa: each "
                "step is computed in float32, and rounds correctly only up to that"
            )
        return SumFormat(format.stored)
    word, length = read_count(text) or ("", None)
    if word == CHUNKED and length is not None:
        return SumFormat(float16, length)
    raise PrecisionError(f"{switch}={text!r}: expected {EXPECTED}{not_stored(text)}")


def as_sum_format(sums: Any) -> SumFormat:
    """A SumFormat, from one, from its text, or from the dtype of all partial sums.

    Raises PrecisionError for a dtype that is no floating format.
    """
    if isinstance(sums, SumFormat):
        return sums
    if isinstance(sums, str) and sums.startswith(CHUNKED):
        return sum_format(sums)
    dtype = as_dtype(sums)
    if not is_float(dtype):
        raise PrecisionError(f"sums in {name_of(dtype)}: expected a floating format")
    return sum_format(name_of(dtype))
