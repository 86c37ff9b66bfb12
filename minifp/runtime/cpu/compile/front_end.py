"""numba, of which a kernel is made that was not lowered before; with a cache on disk.

Only what is called is compiled, at its first call, and kept in a folder: see kernel_cache.py. Where
that cannot be written or read, each process compiles anew, and a warning says so.
"""

import shutil
from types import CellType, FunctionType
from typing import Any

import numba
from numba.core import event
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from minifp.runtime.cpu.compile.kernel_cache import cache_folder, warn_unkept
from minifp.runtime.cpu.compile.numba_cache import Tolerant
from minifp.runtime.cpu.compile.progress import PROGRESS


def dispatcher(fn, options):
    """numba's kernel of a function, which it compiles at its first call for new types."""
    fn = understood(fn)

    def make(cache):
        kernel = numba.njit(cache=cache, **options)(fn)
        if cache:
            kernel._cache = Tolerant(kernel._cache)
        return kernel

    return _cached(fn, make)


def part(fn, options):
    """What numba compiles with the kernels that call it."""
    return numba.njit(**options, no_cpython_wrapper=True)(understood(fn))


def instruction(fn):
    """numba's intrinsic: what generates LLVM's instructions in kernels that call it."""
    return intrinsic(fn)


def address_of(fn, signature):
    """(the address of a C function that numba compiles now, what must be kept as long as it is)."""
    fn, options = understood(fn), {"nopython": True, "error_model": "numpy"}

    def make(cache):
        kernel: Any = CFunc(fn, numba.core.sigutils.normalize_signature(signature), {}, options)
        if cache:
            kernel.enable_caching()
            kernel._cache = Tolerant(kernel._cache)
        kernel.compile()
        return kernel

    kernel = _cached(fn, make)
    return kernel.address, kernel


def external(symbol, signature):
    """What kernels call of it."""
    args, result = numba.core.sigutils.normalize_signature(signature)
    return numba.types.ExternalFunction(symbol, result(*args))


# ---- what functions call ------------------------------------------------------------------------


def understood(fn):
    """A function that calls numba's own objects in place of our parts: see decorators.py."""
    space = dict(fn.__globals__)
    for name in names_in(fn.__code__):
        if name in space:
            space[name] = real(space[name])
    cells = tuple(CellType(real(cell.cell_contents)) for cell in fn.__closure__ or ())
    copy = FunctionType(fn.__code__, space, fn.__name__, fn.__defaults__, cells or None)
    copy.__module__, copy.__qualname__ = fn.__module__, fn.__qualname__
    return copy


def names_in(code):
    """The names that code, and functions in it, look up."""
    return set(code.co_names).union(*(names_in(c) for c in code.co_consts if hasattr(c, "co_code")))


def real(x):
    """numba's object for a part or a kernel; anything else as it is."""
    return getattr(x, "of_numba", x)


# ---- the cache ----------------------------------------------------------------------------------


def _cached(fn, make):
    """make(cache): with our folder, if there is one."""
    folder = cache_folder(fn.__code__.co_filename)
    if folder is None:
        return make(False)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
    try:
        return make(True)
    except MemoryError:
        raise
    except Exception as error:  # of what is compiled at once; or the folder went away
        warn_unkept(folder, error)
        if not isinstance(error, OSError):  # it is damaged
            shutil.rmtree(folder, ignore_errors=True)
        return make(False)
    finally:
        numba.config.CACHE_DIR = before


# ---- saying what is happening -------------------------------------------------------------------


class Listener(event.Listener):
    """Tells the line of progress what numba compiles."""

    def on_start(self, event):
        """numba begins to compile."""
        PROGRESS.begin(
            event.data["dispatcher"].py_func.__qualname__.partition(".")[0]
            if _is_ours(event)
            else None
        )

    def on_end(self, event):
        """numba has compiled, or found that it had."""
        PROGRESS.end()


def _is_ours(event):
    module = getattr(event.data.get("dispatcher"), "py_func", None)
    return getattr(module, "__module__", "").startswith("minifp.")


event.register("numba:compile", Listener())
