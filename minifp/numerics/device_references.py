"""References on a GPU: the plainest way there, without a kernel of minifp's own.

A reference is written with NumPy's functions, and NumPy hands those to CuPy where arrays are
CuPy's (NEP 13, 18 and 35). So it runs there as it stands: float32 inside, products by cuBLAS with
float32 sums, one rounding of each result. What CuPy lacks is done on the CPU.
"""

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from minifp.numerics.accumulate import Primitives, checked_dot, directed, plain_prod, reduced_axes
from minifp.numerics.formats import format_of
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import empty, is_on_device, to_device

# Kernels whose references go to the CPU: by name, what CuPy 14 lacks for them. None does now.
LACKS: dict[str, str] = {}
# Operations that the CPU does for a GPU, by name, and why: see ops/on_host.py.
left_to_cpu: dict[str, str] = {}
# Of CuPy, for what it lacks, and for integers of Python's that 64 bits do not hold.
REFUSALS = (TypeError, AttributeError, NotImplementedError, OverflowError)

# Kernels whose CUDA text does not compile here, by name.
not_compiled: set[str] = set()


# ---- sums ---------------------------------------------------------------------------------------


def is_plain(sums: Any) -> bool:
    """Whether CuPy adds up as a SumFormat says: in float32 or float64, in any order."""
    return sums.chunk is None and format_of(sums.dtype).bits >= 32


def total(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum of x over `axis`."""
    return np.sum(x, axis=reduced_axes(x, axis), keepdims=keepdims)


def multiplied(a: Any, b: Any) -> Any:
    """The product of matrices, which cuBLAS sums in their own format; of integers CuPy's."""
    if a.dtype.kind != "f":
        return np.matmul(a, b)
    product = import_module("minifp.runtime.cuda.product")
    out = empty(product.result_shape(a.shape, b.shape), a.dtype)
    return product.multiply(a, b, out, compute=a.dtype.name)


PRIMITIVES = Primitives(
    sum=total,
    dot=partial(checked_dot, multiplied),
    cumsum=partial(directed, np.cumsum),
    prod=plain_prod,
    cumprod=np.cumprod,
)


# ---- calls --------------------------------------------------------------------------------------


def results_of(name: str, args: Any, params: dict[str, Any], call: Callable[[], Any]) -> Any:
    """The results of a kernel's reference on device arrays, which `call` calls and stores; None
    where CuPy lacks something for it."""
    if name in LACKS:
        return None
    numbers = [a for a in (*args, *params.values()) if isinstance(a, (int, float, np.generic))]
    capturing.launched(name, tuple(numbers))
    try:
        results = call()
    except REFUSALS:  # the CPU says what is wrong, if it is not only here
        return None
    several = isinstance(results, tuple)
    apart = tuple([_apart(r, args) for r in (results if several else (results,))])
    return apart if several else apart[0]


def _apart(result, args):
    """A result in memory of its own, on the device."""
    if not is_on_device(result):
        return to_device(np.asarray(result))
    is_shared = result.base is not None or any(result is a for a in args)
    return result.copy() if is_shared else result


def warn_of_text(name: str, error: Exception) -> None:
    """Warn, once for each kernel, that its CUDA text does not compile."""
    if name not in not_compiled:
        not_compiled.add(name)
        warnings.warn(
            f"{name}: {error}; its NumPy reference computes instead, on CuPy",
            RuntimeWarning,
            stacklevel=6,
        )
