"""numba, of which a kernel is made that was not lowered before; with a cache on disk.

Only what is called is compiled, at its first call, and kept in a folder: see kernel_cache.py. Where
that cannot be written or read, each process compiles anew, and a warning says so.
"""

import shutil
from contextlib import suppress
from pathlib import Path
from types import CellType, FunctionType

import numba
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from numba.extending import intrinsic

from minifp.runtime.cpu.compiling import PROGRESS
from minifp.runtime.cpu.kernel_cache import cache_folder, warn_unkept


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
    kernel = _cached(fn, lambda cache: numba.cfunc(signature, cache=cache, **options)(fn))
    return kernel.address, kernel


def external(symbol, signature):
    """What kernels call of it."""
    args, result = numba.core.sigutils.normalize_signature(signature)
    return numba.types.ExternalFunction(symbol, result(*args))


# ---- what functions call ------------------------------------------------------------------------


def understood(fn):
    """A function that calls numba's own objects in place of our parts: see compile.py."""
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


STAMP = "as the folder says"  # whose name has a hash of the sources


class Tolerant:
    """numba's cache of one kernel, of which nothing that fails ends a program.

    A file that is cut off, a full disk, a folder that is gone, or what another process has written
    at the same time: the kernel is compiled, and a warning says so, once.
    """

    def __init__(self, cache):
        self.cache, self.folder = cache, Path(cache.cache_path).parent
        base = cache._impl.filename_base  # the same wherever the sources lie, and whenever copied
        cache._cache_file = IndexDataCacheFile(str(self.folder), base, source_stamp=STAMP)

    def __getattr__(self, name):
        return getattr(self.cache, name)

    def load_overload(self, sig, context):
        """The kernel for these types, or None where there is none that can be used."""
        try:
            found = self.cache.load_overload(sig, context)
            if found is None or tuple(found.signature.args) == tuple(sig):
                return found
        except MemoryError:
            raise
        except Exception as error:  # unpickling what is damaged raises anything
            warn_unkept(self.folder, error)
        with suppress(Exception):
            self.cache.flush()
        return None

    def save_overload(self, sig, data):
        """Keep a kernel, if that is possible."""
        try:
            self.cache.save_overload(sig, data)
        except MemoryError:
            raise
        except Exception as error:
            warn_unkept(self.folder, error)
            with suppress(Exception):
                self.cache.flush()  # or it may name a file of another kernel


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
