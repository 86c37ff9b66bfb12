"""Elementary functions in kernels that are written by hand, for loops over them to vectorise.

They are those of minifp/derive/elementary.py, with its errors: each call is arithmetic in place.
"""

from minifp.derive import elementary
from minifp.derive.llvm import Emitter
from minifp.derive.trace import Trace
from minifp.runtime.cpu.compile.decorators import intrinsic, types


def arithmetic(function):
    """A function of a Symbol, as a part of kernels: of a float32 number."""

    def of_number(typing, x):
        def generate(context, builder, signature, args):
            trace = Trace()
            symbol = trace.argument(0, "float32")
            number = context.cast(builder, args[0], x, types.float32)
            result = trace.graph.enter(function(symbol).node)
            return Emitter(builder, {symbol.node: number}).value(result)

        return types.float32(x), generate

    of_number.__name__ = function.__name__
    return intrinsic(of_number)


exp, log = arithmetic(elementary.exp), arithmetic(elementary.log)
