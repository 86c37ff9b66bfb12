"""The floor under a step: its products at the rate of each shape, its bytes at the bandwidth.

Rates are measured in the same run, on as many threads, in float32: a product by the fastest of
NumPy's BLAS, minifp's own and PyTorch's, in its better orientation; bytes by the fastest of copying
and of sums in place, in arrays of that size, so that what fits into a cache has its bandwidth.
"""

from bisect import bisect_left
from math import log

from .process import Failure

SIZES = [4**i << 10 for i in range(2, 10)]  # of the arrays, in bytes: 16 KiB to 256 MiB
SECONDS, TINY_SECONDS = 0.1, 0.001  # for each rate


class Rates:
    """Seconds of products, and bandwidths, each measured when it is first needed.

    processes: the children that measure, one of each library.
    """

    def __init__(self, tiny=False):
        self.products, self.moves, self.processes = {}, {}, []
        self.seconds = TINY_SECONDS if tiny else SECONDS
        self.sizes = SIZES[:3] if tiny else SIZES

    def _ask(self, **request):
        found, failed = {}, None
        for process in self.processes:
            try:
                found |= process.ask(**request, seconds=self.seconds)
            except Failure as error:
                failed = error
        if not found and failed:
            raise failed
        return found

    def product(self, shape):
        """Seconds of C (M, N) = A (M, K) B (K, N)."""
        shape = tuple(shape)
        if shape not in self.products:
            self.products[shape] = self._ask(do="multiply", shape=shape)
        return min(self.products[shape].values())

    def bandwidth(self, moved):
        """Bytes a second, read and written, where this many are moved."""
        for size in self.sizes:
            if size not in self.moves:
                self.moves[size] = self._ask(do="move", size=size)
        points = [(2 * size, max(self.moves[size].values())) for size in self.sizes]
        i = bisect_left([p[0] for p in points], moved)
        if i in (0, len(points)):
            return points[min(i, len(points) - 1)][1]
        (low, slow), (high, fast) = points[i - 1 : i + 1]
        share = log(moved / low) / log(high / low)
        return slow + share * (fast - slow)

    def found(self):
        """As JSON takes it."""
        return {
            "seconds": [{"product": s, **seconds} for s, seconds in self.products.items()],
            "bandwidths": [{"bytes": s, **rates} for s, rates in self.moves.items()],
        }


def floor(trace, rates, inner=1):
    """Seconds of products and of bytes that the trace of a step names, and their sum.

    inner: how often a step does what is measured.
    """
    products = sum(n * min(map(rates.product, shapes)) for shapes, n in trace["products"])
    moved = sum(n * size / rates.bandwidth(size) for size, n in trace["moved"] if size)
    (flops, size) = (0, sum(n * size for size, n in trace["moved"]))
    for shapes, n in trace["products"]:
        m, columns, k = shapes[0]
        flops += 2 * m * columns * k * n
    return {
        **{"seconds": (products + moved) / inner, "products": products / inner},
        **{"bytes": moved / inner, "flops": flops / inner, "moved": size / inner},
        "unknown": trace["unknown"],
    }
