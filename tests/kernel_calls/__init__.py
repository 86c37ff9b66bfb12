"""One random call of each compiled kernel: sizes, formats and memory layouts that the cases lack.

CALLS: what is called, the name of the kernel first -> a function that draws one call, (arguments,
keywords, format of each result), from a `Draw`.
"""

from kernel_calls import ctc, detection, elementwise, losses, places, rows
from kernel_calls.draw import Draw
from kernel_calls.named import NAMED

CALLS = {
    **ctc.CALLS,
    **detection.CALLS,
    **elementwise.CALLS,
    **losses.CALLS,
    **places.CALLS,
    **rows.CALLS,
}
__all__ = ["CALLS", "NAMED", "Draw"]
