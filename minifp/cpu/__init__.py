"""The CPU: stored numbers in kernels, their threads, their products, and compiling them.

What needs numba is in the other files, which are imported when the first kernel is called.
"""

import os
import warnings
from functools import cache
from importlib import import_module


@cache
def can_compile() -> bool:
    """Whether kernels can be compiled: numba is there, and MINIFP_KERNELS is not "numpy".

    Warns, once, where numba is missing or does not load.
    """
    if os.environ.get("MINIFP_KERNELS") == "numpy":
        return False
    try:
        import_module("minifp.cpu.pool")
    except (ImportError, OSError) as error:  # OSError: a numba whose libraries do not load
        warnings.warn(
            f"minifp runs on its NumPy references, many times slower than compiled: {error}; "
            f"install numba (pip install numba), or set MINIFP_KERNELS=numpy if that is meant",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


def twin(fn):
    """Mark the twin of a kernel's reference: see `Kernel.twin` in backend.py."""
    fn.is_twin = True
    return fn
