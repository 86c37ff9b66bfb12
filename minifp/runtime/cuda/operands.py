"""Operands of products on a GPU, rounded with a scale: what numerics/operands.py does.

The largest magnitude stays there, so nothing waits: one kernel finds it, another rounds.
"""

from math import prod
from typing import Any

import numpy as np

from minifp.derive.trace import Formulas
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.noted import note
from minifp.runtime.cuda.pointwise import F32, of_call, reduced
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

TEXT = Text(__name__, "operands.cu")
MOST = 126  # log2 of the largest scale: as in numerics/operands.py


@Formulas
def magnitude(x: Any) -> Any:
    """|x|."""
    return np.abs(x)


def amax(x: Any, summed: tuple[int, ...]) -> Any:
    """The largest magnitudes along axes, which are left out, in float32: Inf or NaN where there is
    one."""
    formula, arrays = of_call(magnitude, (x,), {})
    assert formula is not None
    return reduced(formula, arrays, x.shape, summed, F32, {}, 1.0, "largest")


def rounded(x: Any, dtype: Any, summed: tuple[int, ...] | None, largest: float, top: float) -> Any:
    """x rounded to the numbers of a dtype, in its own format.

    summed: the axes along which numbers share a scale, which are put last in memory; None: there is
    none.
    """
    axes = range(x.ndim)
    along = axes if summed is None else [a % x.ndim for a in summed]
    order = [*(a for a in axes if a not in along), *along]
    source, found = contiguous(x.transpose(order)), None
    if summed is not None:
        found = amax(x, tuple(sorted(along)))
    y, K = empty(source.shape, x.dtype), prod(x.shape[a] for a in along)
    numbers = x.size, K, float(largest), float(top)
    _both(x.dtype, dtype).launch(
        "round_scaled", blocks_for(x.size), THREADS, source, found, y, *numbers
    )
    if len(along) == x.ndim:  # one scale for all of x
        note(y, dtype, found, largest)
    return y.transpose([order.index(a) for a in axes])


def encoded(x: Any, dtype: Any, found: Any, is_scaled: bool, largest: float) -> Any:
    """The codes, of this dtype, of x times the scale that follows from its `found` amax, or of x
    where it is not scaled; C-contiguous."""
    source, codes = contiguous(x), empty(x.shape, dtype)
    numbers = x.size, int(is_scaled), float(largest)
    _both(x.dtype, dtype).launch(
        "encode_scaled", blocks_for(x.size), THREADS, source, found, codes, *numbers
    )
    return codes


def scale_back(found: Any, stored: Any, dtype: Any, largest: float) -> Any:
    """1 over the scale, a float32 on the device, by which numbers in `stored` became such codes."""
    back = empty((), F32)
    _both(stored, dtype).launch("scale_back", 1, 1, found, back, float(largest))
    return back


def decoded(codes: Any, found: Any, dtype: Any, is_scaled: bool, largest: float, top: float) -> Any:
    """The numbers of these codes, in the format of x, which has this dtype."""
    y = empty(codes.shape, dtype)
    numbers = y.size, int(is_scaled), float(largest), float(top)
    _both(dtype, codes.dtype).launch(
        "decode_scaled", blocks_for(y.size), THREADS, codes, found, y, *numbers
    )
    if is_scaled:
        note(y, codes.dtype, found, largest)
    return y


def _both(stored, dtype):
    return TEXT(X=stored, F=dtype, MOST=MOST)
