"""Elementary functions of float32 numbers for kernels that numba compiles.

They are those of minifp/derive/elementary.py, written where they are called, so that loops over
them vectorise. Numbers beside them are named constants: numba computes with a literal in float64.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive import elementary
from minifp.derive.llvm import Emitter
from minifp.derive.trace import Trace
from minifp.runtime.cpu.compile import intrinsic, types

NOTHING, ONE = np.float32(0), np.float32(1)


def of_formula(formula: Callable[..., Any]) -> Any:
    """A function of one float32 number, for kernels."""
    trace = Trace()
    x = trace.argument(0, "float32")
    result = formula(x).node

    def function(typing, number):
        def generate(context, builder, signature, args):
            value = context.cast(builder, args[0], number, types.float32)
            return Emitter(builder, {x.node: value}).value(result)

        return types.float32(number), generate

    function.__name__ = formula.__name__
    return intrinsic(function)


exp32 = of_formula(elementary.exp)
log32 = of_formula(elementary.log)
tanh32 = of_formula(elementary.tanh)
sigmoid32 = of_formula(elementary.sigmoid)
