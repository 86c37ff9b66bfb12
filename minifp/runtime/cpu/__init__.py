"""The CPU: which kernels there can be, how many threads they use, and the memory they leave.

kernels/ has the kernels, emit/ what writes them as LLVM's text, compile/ what makes machine code of
it. These need llvmlite or numba, and are imported when the first kernel is called.
"""

import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from minifp.runtime import variables
from minifp.runtime.browser import IN_BROWSER


def kernels_mode() -> str:
    """What MINIFP_KERNELS says; by itself "numpy" in a browser, which cannot compile, else "numba".

    "checked" verifies what derived kernels trust (see kernels/checked.py). Raises ArgumentError for
    others.
    """
    return variables.read("MINIFP_KERNELS") or ("numpy" if IN_BROWSER else "numba")


@cache
def can_compile() -> bool:
    """Whether kernels that are written by hand can be compiled: MINIFP_KERNELS does not forbid it,
    and numba is there. Warns, once, where it is missing or does not load. Raises ArgumentError as
    `kernels_mode`."""
    if kernels_mode() == "numpy":
        return False
    error = numba_error()
    if error is not None:
        what = "minifp runs on its NumPy references"
        if can_derive():
            what = "minifp runs products, convolutions and all else that numba compiles in NumPy"
        warnings.warn(
            f"{what}, many times slower than compiled: {error}; "
            f"install numba (pip install numba), or set MINIFP_KERNELS=numpy if that is meant",
            RuntimeWarning,
            stacklevel=2,
        )
    return error is None


def can_derive() -> bool:
    """Whether kernels are derived from references: MINIFP_KERNELS does not forbid it, and llvmlite
    is there; numba is not needed. Raises ArgumentError as `kernels_mode`."""
    return not why_not_derived()


@cache
def why_not_derived() -> str:
    """Why no kernel is derived from its reference; "" where they are."""
    if kernels_mode() == "numpy":
        return "a browser has no compiler" if IN_BROWSER else "MINIFP_KERNELS=numpy"
    error = _error_of("minifp.runtime.cpu.kernels.pointwise")
    return "" if error is None else f"compiled kernels do not load: {type(error).__name__}: {error}"


class NumbaError(ImportError):
    """numba is there, but it does not load: who called a kernel that it compiles uses the
    reference."""


@cache
def numba_error(is_tried: bool = False) -> Exception | None:
    """Why kernels by hand cannot be compiled, if numba or what it needs is not there; else None.

    is_tried: import it, which takes a second, to be sure that it loads. Otherwise that is known
    when something must be compiled first: see `numba_failed`.
    """
    if FAILED:
        return FAILED[0]
    if find_spec("numba") is None:
        return ModuleNotFoundError("No module named 'numba'")
    return (_error_of("numba") if is_tried else None) or _error_of(
        "minifp.runtime.cpu.kernels.pool"
    )


FAILED: list[Exception] = []


def numba_failed(error: Exception) -> NumbaError:
    """Remember, and warn once, that numba does not load; what is to be raised."""
    if not FAILED:
        FAILED.append(error)
        numba_error.cache_clear()
        can_compile.cache_clear()
        can_compile()
    return NumbaError(f"numba does not load: {type(error).__name__}: {error}")


def _error_of(module):
    try:
        import_module(module)
    except MemoryError:
        raise
    except Exception as error:  # one made for another NumPy or Python raises anything
        return error
    return None
