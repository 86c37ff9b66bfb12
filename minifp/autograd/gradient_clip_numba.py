"""The compiled kernel of gradient_clip.py."""

from minifp.derive.dtypes import COMPILED
from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.kernels.scattered import Scattered, sum_of_squares


@compiled_kernel
def squared_norm(*arrays):
    total = 0.0
    for dtype in {a.dtype: None for a in arrays}:
        if dtype not in COMPILED:
            return None
        total += sum_of_squares(Scattered([a for a in arrays if a.dtype == dtype]))
    return total
