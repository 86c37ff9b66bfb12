"""What a kernel's call costs: floating-point operations, and the shapes of its products.

No kernel has a table for it. Its reference, which says what it computes, is run once on the call's
own arrays, and counts while it runs: an array that counts what is done to it element by element (an
ndarray with __array_ufunc__, which every kernel of tests/cases takes), and primitives that count
sums and products. Products are not computed: zeros of the right shape stand for them.

One operation is one elementary function of one element whose result is a floating number: x + y,
max(x, y) and tanh(x) are one each. A sum of n numbers is n, a product of (M, K) and (K, N) is
2 M N K. Comparisons, choices, moves, conversions and integers are none. A compiled kernel may
compute the same by fewer or more; this is what the equation takes.
"""

from collections import Counter
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minifp.numerics.accumulate import primitives
from minifp.numerics.formats import float32, is_float, is_narrow, upcast

Product = tuple[int, int, int, int]  # M, N, K, and how often


class Cost(NamedTuple):
    """flops: floating-point operations. products: of matrices, (M, N, K, how often)."""

    flops: int
    products: tuple[Product, ...] = ()


class Count:
    """What has been counted so far, and the primitives that count."""

    def __init__(self) -> None:
        self.flops = 0
        self.products: Counter = Counter()

    def primitive(self, name: str) -> Callable[..., Any]:
        """What a kernel that wants this primitive is given: see kernels.Kernel."""
        if name == "dot":
            return self.dot
        reduction = getattr(primitives(float32), name, None)
        return self.reduction(reduction) if reduction else lambda x: x

    def reduction(self, fn: Callable) -> Callable[..., Any]:
        """A sum or the like, which counts its addends."""

        def counted(x, *args, **settings):
            x = np.asarray(x)
            self.add(x.size, x)
            return self.watch(fn(x.view(np.ndarray), *args, **settings))

        return counted

    def dot(self, a: Any, b: Any) -> Any:
        """Zeros in the place of a product, which is counted."""
        (m, k), n = a.shape[-2:], b.shape[-1]
        leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        self.multiplied(m, n, k, prod(leading))
        return self.watch(np.zeros((*leading, m, n), np.result_type(a, b)))

    def multiplied(self, m: int, n: int, k: int, times: int) -> None:
        """So many products of (m, k) and (k, n)."""
        self.flops += 2 * m * n * k * times
        if m * n * k * times:
            self.products[m, n, k] += times

    def add(self, n: int, result: Any) -> None:
        """n operations, if what they give is floating."""
        if is_float(result.dtype):
            self.flops += n

    def watch(self, x: Any) -> Any:
        """An array, as one that counts."""
        if isinstance(x, tuple):
            return tuple(map(self.watch, x))
        if not isinstance(x, np.ndarray):
            return x
        counted = x.view(Counted)
        counted.count = self
        return counted


class Counted(np.ndarray):
    """An array that counts what is done to it."""

    count: Count

    def __array_finalize__(self, other: Any) -> None:
        self.count = getattr(other, "count", None) or Count()

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **settings):
        """Count, and do it on plain arrays."""
        if out is not None:
            settings["out"] = tuple(map(plain, out))
        arrays = [plain(x) for x in inputs]
        result = getattr(ufunc, method)(*arrays, **settings)
        if method == "at":  # inputs: what is added to, where, and what
            self.count.add(np.asarray(arrays[0][arrays[1]]).size, arrays[0])
            return result
        first = np.asarray(result[0] if isinstance(result, tuple) else result)
        if ufunc is np.matmul:
            (*leading, m, n), k = first.shape, arrays[0].shape[-1]
            self.count.multiplied(m, n, k, prod(leading))
        else:
            n = first.size if method in ("__call__", "outer") else np.size(arrays[0])
            self.count.add(n, first)
        return self.count.watch(result) if out is None else out[0]

    def __array_function__(self, func, types, args, kwargs):
        """What makes arrays of arrays makes such as count."""
        return self.count.watch(super().__array_function__(func, types, args, kwargs))


def plain(x: Any) -> Any:
    """An array that does not count."""
    return x.view(np.ndarray) if isinstance(x, Counted) else x


def cost_of(kernel: Any, args: tuple, params: dict) -> Cost:
    """What one call of a kernel costs. args, params: as it is called, without `to`."""
    count = Count()
    counting = {want: count.primitive(want) for want in kernel.wants}
    with np.errstate(all="ignore"):
        wide = [count.watch(entered(a)) for a in args]
        kernel.reference(*wide, **params, **counting)
    products = tuple((*shape, n) for shape, n in sorted(count.products.items()))
    return Cost(count.flops, products)


def entered(a: Any) -> Any:
    """An argument as a reference sees it: what is narrower than float32 is widened."""
    if isinstance(a, np.ndarray) and is_narrow(a.dtype):
        return upcast(a, float32)
    return a
