"""The CPU: stored numbers in kernels, their threads, their products, and compiling them.

What needs numba is in the other files, which are imported when the first kernel is called.
"""

import os
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from minifp.errors import ArgumentError


@cache
def can_compile() -> bool:
    """Whether kernels can be compiled: numba is there, and MINIFP_KERNELS is not "numpy".

    Warns, once, where numba is missing or does not load. Raises ArgumentError for a MINIFP_KERNELS
    that is neither "numba", which is the same as none, nor "numpy".
    """
    given = os.environ.get("MINIFP_KERNELS") or "numba"
    if given not in ("numba", "numpy"):
        raise ArgumentError(
            f"environment variable MINIFP_KERNELS={given!r}: expected numba or numpy"
        )
    if given == "numpy":
        return False
    error = numba_error()
    if error is not None:
        warnings.warn(
            f"minifp runs on its NumPy references, many times slower than compiled: {error}; "
            f"install numba (pip install numba), or set MINIFP_KERNELS=numpy if that is meant",
            RuntimeWarning,
            stacklevel=2,
        )
    return error is None


@cache
def numba_error() -> Exception | None:
    """Why kernels cannot be compiled, if numba or what it needs is not there; else None."""
    if find_spec("numba") is None:  # it is not imported before something must be compiled
        return ModuleNotFoundError("No module named 'numba'")
    try:
        import_module("minifp.runtime.cpu.pool")
    except Exception as error:  # an llvmlite that does not load, or of another Python
        return error
    return None
