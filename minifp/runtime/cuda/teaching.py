"""What a tensor core does, to be read: a product written with its fragments, and its arithmetic.

`matmul` is the kernel of teaching.cu on a GPU, `emulated` the same sums in NumPy on any machine.
They are here to teach. Operations use cuBLAS, which is many times faster: see product.py.

    import numpy as np
    from minifp.runtime.cuda.teaching import emulated

    ones = np.ones((1, 4096), np.float16)
    emulated(ones, ones.T, "float32")               # 4096
    emulated(ones, ones.T, "float16", block=1)      # 2048: 2048 + 1 is rounded to 2048
    emulated(ones, ones.T, "float16")               # 4096: 2048 + 4 is a number of float16;
                                                    # 16,384 of them stop at 8192
"""

from typing import Any

import numpy as np

from minifp.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from minifp.runtime.cuda.arrays import empty, is_on_device
from minifp.runtime.cuda.source import Text

TEXT = Text(__name__, "teaching.cu")
TILE, WARP = 16, 32
ROUNDINGS = "toward zero", "nearest"
HALF, SINGLE, DOUBLE = (np.dtype(name) for name in ("float16", "float32", "float64"))


def matmul(a: Any, b: Any, accumulate: str = "float32", dtype: Any = "float16") -> Any:
    """Multiply (m, k) by (k, n), both in float16 on a GPU, on its tensor cores, tile by tile.

    accumulate: the format of sums, float32 or float16. dtype: of the result, which is rounded to it
    once from the sums: one of these too. How the hardware rounds is told at `emulated`.
    """
    accumulate, dtype = _checked(a, b, accumulate, dtype)
    if not (is_on_device(a) and is_on_device(b)):
        raise DeviceError("teaching.matmul: expected arrays on a GPU; `emulated` takes NumPy's")
    (m, k), n = a.shape, b.shape[1]
    a, b = (x if x.flags.c_contiguous else x.copy() for x in (a, b))
    y = empty((m, n), dtype)
    if y.size:
        tiles = -(-m // TILE) * -(-n // TILE)
        TEXT(ACC=accumulate, Y=dtype).launch("tile_product", tiles, WARP, a, b, y, m, n, k)
    return y


def emulated(
    a: np.ndarray,
    b: np.ndarray,
    accumulate: str = "float32",
    dtype: Any = "float16",
    *,
    block: int = 4,
    rounding: str = "toward zero",
) -> np.ndarray:
    """What `matmul` computes, in NumPy, for a and b in float16: sums as Volta's tensor cores.

    Volta's tensor core computes D = A B + C of matrices of 4 x 4, from products that are exact
    (NVIDIA's white paper on Volta, 2017). So here k is taken in blocks of 4, in ascending order;
    the four products and the sum so far are added without an error, and the result is rounded once
    to `accumulate`. The last sum is rounded, to nearest, to `dtype`.

    block: how many products are added before a rounding. 4 as in Volta and Turing; Ampere takes 8,
    Hopper 16. 1 is a loop of fused multiply-adds, as a processor without tensor cores has it.
    rounding: of float32 sums, "toward zero" as in hardware, or "nearest". float16 sums are rounded
    to nearest even, as in hardware.

    The hardware is known to do otherwise in one thing (Fasi, Higham, Mikaitis and Pranesh 2021,
    "Numerical behavior of NVIDIA tensor cores"; Khattak and Mikaitis 2025, "Accurate models of
    NVIDIA tensor cores"). It adds a block as integers: all addends are shifted to the exponent of
    the largest, and what is shifted out below its 24 bits (later GPUs have one or two more) is cut
    off, before they are added. So each addend can lose up to an ulp of the largest, where here
    only the sum does; and which of two sums is larger can come out wrong. And NVIDIA says nowhere
    in which order the 16 products of a step of `matmul` are added.

    Sums of a block are exact as long as float64 can hold them: numbers that lie more than 2^29
    apart are rounded to 53 bits first.
    """
    accumulate, dtype = _checked(a, b, accumulate, dtype)
    if rounding not in ROUNDINGS or block < 1:
        raise ArgumentError(
            f"teaching.emulated: block={block!r}, rounding={rounding!r}: expected a block of 1 or "
            f"more, and one of {', '.join(ROUNDINGS)}"
        )
    cut = accumulate == SINGLE and rounding == "toward zero"
    zero = SINGLE.type(0)
    sums = np.zeros((a.shape[0], b.shape[1]), accumulate)
    with np.errstate(all="ignore"):  # Inf and NaN are values here, as on a GPU
        for k in range(0, a.shape[1], block):
            products = a[:, k : k + block].astype(DOUBLE) @ b[k : k + block].astype(DOUBLE)
            exact = products + sums
            sums = exact.astype(accumulate)
            if cut:
                sums = np.where(np.abs(sums) > np.abs(exact), np.nextafter(sums, zero), sums)
        return sums.astype(dtype)


def _checked(a, b, accumulate, dtype):
    """The formats of sums and of the result. Raises where there is no such product."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ShapeError(f"teaching: {a.shape} times {b.shape}: expected (m, k) times (k, n)")
    if a.dtype != HALF or b.dtype != HALF:
        raise DTypeError(f"teaching: {a.dtype} times {b.dtype}: expected float16 times float16")
    found = np.dtype(accumulate), np.dtype(dtype)
    if not {*found} <= {HALF, SINGLE}:
        raise ArgumentError(
            f"teaching: accumulate={accumulate!r}, dtype={dtype!r}: expected float32 or float16"
        )
    return found
