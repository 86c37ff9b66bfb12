"""A trial of products of float8 codes on a GPU: whether they are summed in float32.

cublasLt is asked for sums in float32, without fast accumulation. Tensor cores may keep fewer bits
of them nevertheless: DeepSeek-V3 (arXiv:2412.19437, 3.3.2) finds about 14 on Hopper. So its sums
are held against those of the same numbers, multiplied in 16 bits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minifp.derive.dtypes import dtype_of
from minifp.runtime.cuda import arrays
from minifp.runtime.cuda.cublas_lt import E4M3, PAIRS, RESULTS
from minifp.runtime.cuda.operands import decoded, rounded
from minifp.runtime.cuda.pointwise import F32, in_format

Multiply = Callable[[Any, Any, Any], Any]  # of a, b and out, which it returns

ROWS, COLUMNS, INNER = 32, 48, 64  # of the products that are compared
STEP = 2.0**-23  # of a float32 that is cut, not rounded, as tensor cores do
# Of a result, half its distance from the next, relative, and least.
ROUNDING = {
    "float16": (2.0**-11, 2.0**-25),
    "bfloat16": (2.0**-8, 2.0**-134),
    "float32": (2.0**-24, 2.0**-150),
}


def disagreement(of_codes: Multiply, in_16_bits: Multiply) -> str | None:
    """Where products of rounded operands differ by more than the order of float32 sums may change,
    in words.

    Random codes have all magnitudes that there are, so what sums of fewer bits lose is lost here.
    """
    generator = np.random.default_rng(0)
    for first, second in PAIRS:  # as cublasLt has them: the other way round
        a = random_numbers(generator, (ROWS, INNER), second)
        b = random_numbers(generator, (INNER, COLUMNS), first)
        expected = on_host(in_16_bits(a.plain, b.plain, zeros("float32")))
        magnitudes = np.abs(a.exact) @ np.abs(b.exact)
        for result in RESULTS:
            found = on_host(of_codes(a.rounded, b.rounded, zeros(result)))
            times = (np.abs(found - expected) / allowed(expected, magnitudes, result)).max()
            if not times <= 1:  # NaN is wrong, too
                return (
                    f"sums of {first} and {second} by cublasLt, into {result}, differ from those "
                    f"in 16 bits by up to {times:.3g} times what the order of float32 sums can "
                    "change"
                )
    return None


def allowed(expected: np.ndarray, magnitudes: np.ndarray, result: str) -> np.ndarray:
    """By how much two sums in float32 may differ, of which one is stored as a result.

    Each is within INNER steps of the sum of magnitudes (Higham, Accuracy and Stability of Numerical
    Algorithms, 3.1), in whatever order its products are added.
    """
    relative, least = ROUNDING[result]
    bound = 2 * INNER * STEP / (1 - INNER * STEP) * magnitudes
    return bound + relative * (np.abs(expected) + bound) + least


def zeros(result: str) -> Any:
    """Where a product is written, in a format."""
    return arrays.zeros((ROWS, COLUMNS), dtype_of(result, 2))


def on_host(x: Any) -> np.ndarray:
    """The numbers of an array on the device, in float64."""
    with np.errstate(invalid="ignore"):  # of a NaN that signals, as decoded ones may
        return arrays.to_host(in_format(x, F32)).astype(np.float64)


class Numbers(NamedTuple):
    """The same numbers three times: `exact` on the host in float64, `plain` on the device in
    float16, and `rounded` there as an operand is."""

    exact: np.ndarray
    plain: Any
    rounded: Any


def random_numbers(generator: Any, shape: tuple[int, int], name: str) -> Numbers:
    """Numbers of random finite codes over a power of two, all of which float16 holds."""
    dtype, half = dtype_of(name, 1), np.dtype(np.float16)
    table = decoded_table(dtype)
    usable = table[np.isfinite(table)]
    exact = generator.choice(usable, shape) * 2.0 ** (-9 if name == E4M3 else -8)
    plain, largest = arrays.to_device(exact.astype(half)), float(usable.max())
    top = float(np.finfo(half).max)
    return Numbers(exact, plain, rounded(plain, dtype, (0, 1), largest, top))


def decoded_table(dtype: Any) -> np.ndarray:
    """The numbers of the 256 codes of a dtype, in float64."""
    codes = arrays.to_device(np.arange(256, dtype=np.uint8).view(dtype))
    scale = arrays.zeros((), F32)
    wide = decoded(codes, scale, F32, False, 0.0, float(np.finfo(np.float32).max))
    return on_host(wide)
