"""Compiled kernels: what computes the same as a reference, faster, and where it is found.

The references of `matmul.py`, say, have theirs in `matmul_numba.py` for the CPU and in
`matmul_cuda.py` for a GPU, by the same name and with a mark.
"""

from collections.abc import Callable
from functools import cache, partial, wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from minifp.errors import CompileError
from minifp.numerics.device_references import not_compiled, warn_of_text
from minifp.numerics.policy import active, get_precision
from minifp.runtime import cpu
from minifp.runtime.device import device_of
from minifp.typing import F


def compiled_kernel(fn: Any = None, **abilities: bool) -> Any:
    """Mark the compiled kernel of a reference: see `Kernel.compiled` for how it is called.

    abilities of one for a GPU: takes_integers, as well as floating numbers; sums_in_half, that is
    it takes compute="float16", and chunk=, and then sums products in that format, or in chunks.
    """
    if fn is None:
        return partial(compiled_kernel, **abilities)
    vars(fn).update(abilities, is_compiled_kernel=True)
    return fn


def any_device(fn: Any = None, **abilities: bool) -> Any:
    """Mark a compiled kernel of `*_numba.py` that is also the one for arrays of a GPU, as it only
    calls others that are: see dispatch.py."""
    return compiled_kernel(fn, is_any_device=True, **abilities)


def compilable(reference: F) -> F:
    """Let a function be computed by its compiled kernel where its first argument is.

    Where there is none, or it returns None, the function itself computes it.
    """

    @wraps(reference)
    def apply(*args, **settings):
        resolved, key = active.get().value.resolved, (reference, type(args[0]) if args else None)
        if key not in resolved:
            resolved[key] = _compiled_under(get_precision(), reference, args)
        compiled = resolved[key]
        try:
            result = None if compiled is None else compiled(*args, **settings)
        except cpu.NumbaError:  # which has warned
            result = None
        except CompileError as error:
            warn_of_text(reference.__name__, error)
            result = resolved[key] = None
        return reference(*args, **settings) if result is None else result

    return cast(F, apply)


def _compiled_under(precision, reference, args):
    """The compiled kernel of a call under a precision, or None."""
    if precision.by_references or reference.__name__ in not_compiled:
        return None
    return compiled_kernel_of(reference, device_of(args[0]) if args else "cpu")


@cache
def compiled_kernels_in(module: str, kind: str = "numba") -> dict[str, Any]:
    """The compiled kernels of a module of references, by name: none where there is no such file."""
    if kind == "numba" and not cpu.can_compile() or not _is_there(f"{module}_{kind}"):
        return {}
    return vars(import_module(f"{module}_{kind}"))


def _is_there(module):
    """Whether a module can be imported; False of one beside code that is in no package at all."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def compiled_kernel_of(
    reference: Callable[..., Any], device: str = "cpu"
) -> Callable[..., Any] | None:
    """The compiled kernel of a reference: what has its name in the file beside its own.

    For a GPU that is `*_cuda.py`, or else `*_numba.py` for what serves arrays everywhere; None
    under MINIFP_KERNELS=numpy.
    """
    name = reference.__name__
    if device != "cpu" and cpu.kernels_mode() != "numpy":
        kernel = compiled_kernels_in(reference.__module__, "cuda").get(name)
        if getattr(kernel, "is_compiled_kernel", False):
            return kernel
    kernel = compiled_kernels_in(reference.__module__).get(name)
    mark = "is_compiled_kernel" if device == "cpu" else "is_any_device"
    return kernel if getattr(kernel, mark, False) else None
