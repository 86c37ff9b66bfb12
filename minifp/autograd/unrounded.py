"""Arithmetic outside of the tape, on parameters and their `.data`: from the unrounded numbers.

`p.data = p.data - lr * p.grad`, or an average `q.data * 0.999 + p.data * 0.001`, would lose what is
smaller than half a unit in the last place of float16. So where unrounded numbers are behind what is
stored (storage.py), they are computed with, and the result has unrounded numbers behind it too.

`p.data`, `p.detach()` and what is made of them: all operations whose other operands are unrounded
themselves or in float32; with operands that were rounded, those element by element which keep the
shape. Parameters themselves, under no_grad: operations element by element among parameters, so that
a model evaluates with what is stored, where activations enter.
"""

from collections.abc import Callable
from typing import Any

from minifp.autograd.replay import unobserved
from minifp.autograd.storage import contiguous
from minifp.autograd.tape import Tensor
from minifp.numerics import autocast
from minifp.numerics.formats import downcast, float32, is_float, upcast, wider
from minifp.runtime.device import as_array

RANDOM = "dropout"  # which would draw twice
POINTWISE = frozenset(autocast.OPERATIONS["pointwise"].split())


def has_unrounded(t: Any) -> bool:
    """Whether unrounded numbers are behind what a tensor stores."""
    return isinstance(t, Tensor) and t.storage.is_rounded(t.array)


def begin_unrounded(t: Tensor) -> None:
    """Let unrounded numbers be behind a tensor from now on, where storing rounds."""
    if _is_narrow(t) and t.storage.unrounded is None and t.array.flags.c_contiguous:
        t.storage.keep(t.array, as_array(upcast(t.array, wider(t.array.dtype, float32))))


def from_unrounded(
    name: str, operation: Callable[..., Any], args: tuple, params: dict, results: tuple
) -> tuple:
    """The results of an operation that was not recorded: `results`, or computed anew."""
    if all(a.storage.unrounded is None for a in args if isinstance(a, Tensor)):
        return results
    of_parameters = any(isinstance(a, Tensor) and a.precision is not None for a in args)
    is_pointwise = name in POINTWISE
    if of_parameters and not is_pointwise:  # as nearly all that a model does while it evaluates
        return results
    rounded = [a for a in args if has_unrounded(a)]
    shares = any(out.storage is a.storage for out in results for a in rounded)  # as views do
    if not rounded or shares or name == RANDOM:
        return results
    if any(_is_narrow(a) and not has_unrounded(a) for a in args):
        keeps_shape = all(out.shape == a.shape for out in results for a in rounded)
        if of_parameters or not (is_pointwise and keeps_shape):
            return results
    with unobserved():
        wide = [Tensor(a.exact.copy()) if has_unrounded(a) else a for a in args]
        exact = operation(*wide, **params)
    exact = exact if isinstance(exact, tuple) else (exact,)
    return tuple(map(_of_parameters if of_parameters else _joined, results, exact))


def _is_narrow(a):
    dtype = getattr(a, "dtype", None)
    return dtype is not None and is_float(dtype) and dtype != wider(dtype, float32)


def _joined(out, exact):
    """The result in its format, with the unrounded one behind it where that is wider."""
    if out.dtype == exact.dtype:
        return exact
    numbers = contiguous(exact.array)
    out.array = as_array(downcast(numbers, out.array.dtype))
    out.storage.keep(out.array, numbers)
    return out


def _of_parameters(out, exact):
    return out if out.dtype == exact.dtype else _joined(out, exact)
