"""Compiling kernels: numba with the flags that numerics allow, and a cache on disk.

Only what is called is compiled, at its first call, and kept in a folder: see kernel_cache.py. Where
that cannot be written or read, each process compiles anew, and a warning says so.

No flag allows what NaN, Inf or -0 forbid. `contract` joins a product with the sum that takes it,
which rounds once less; `reassoc`, for sums alone, lets them run in vector registers.
"""

import shutil
from contextlib import suppress
from pathlib import Path

import numba
from llvmlite import binding
from numba import types
from numba.core import event

from minifp.runtime.cpu.compiling import PROGRESS
from minifp.runtime.cpu.kernel_cache import cache_folder, warn_unkept

if numba.config.DISABLE_JIT:
    raise ImportError("NUMBA_DISABLE_JIT is set: these kernels only work compiled")


def compiled(fn=None, *, sums=False):
    """Make `fn` a kernel that is compiled at its first call for arguments of new types.

    It runs without the GIL and checks no index. sums: its sums may be added up in any order.
    """
    if fn is None:
        return lambda fn: compiled(fn, sums=sums)
    options = options_of(sums)

    def make(cache):
        made = numba.njit(cache=cache, **options)(fn)
        if cache:
            made._cache = Tolerant(made._cache)
        return made

    return _cached(fn, make)


def inline(fn=None, *, sums=False, how="never"):
    """Make `fn` a part of the kernels that call it, with which it is compiled.

    how: "always" for what is called at one place only.
    """
    if fn is None:
        return lambda fn: inline(fn, sums=sums, how=how)
    return numba.njit(**options_of(sums), inline=how, no_cpython_wrapper=True)(fn)


class Tolerant:
    """numba's cache of one kernel, of which nothing that fails ends a program.

    A file that is cut off, a full disk, a folder that is gone, or what another process has written
    at the same time: the kernel is compiled, and a warning says so, once.
    """

    def __init__(self, cache):
        self.cache, self.folder = cache, Path(cache.cache_path).parent

    def __getattr__(self, name):
        return getattr(self.cache, name)

    def load_overload(self, sig, context):
        """The kernel for these types, or None where there is none that can be used."""
        try:
            found = self.cache.load_overload(sig, context)
            if found is None or tuple(found.signature.args) == tuple(sig):
                return found
        except Exception as error:  # unpickling what is damaged raises anything
            warn_unkept(self.folder, error)
        with suppress(Exception):
            self.cache.flush()
        return None

    def save_overload(self, sig, data):
        """Keep a kernel, if that is possible."""
        try:
            self.cache.save_overload(sig, data)
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
    except Exception as error:  # of what is compiled at once; or the folder went away
        warn_unkept(folder, error)
        if not isinstance(error, OSError):  # it is damaged
            shutil.rmtree(folder, ignore_errors=True)
        return make(False)
    finally:
        numba.config.CACHE_DIR = before


def native(signature, symbol):
    """Make `fn` a function that is compiled by itself, now, and that kernels call by its symbol.

    What many kernels call is so compiled once, instead of once in each of them.
    """

    def decorate(fn):
        options = {"nopython": True, "error_model": "numpy"}
        made = _cached(fn, lambda cache: numba.cfunc(signature, cache=cache, **options)(fn))
        binding.add_symbol(symbol, made.address)
        KEPT.append(made)
        return types.ExternalFunction(symbol, signature)

    return decorate


KEPT: list = []  # what symbols point to


def options_of(sums=False):
    """numba's options. _nrt: kernels allocate nothing, and so count no references to arrays."""
    return {
        "nogil": True, "error_model": "numpy", "fastmath": flags_of(sums),
        "no_cfunc_wrapper": True, "_nrt": False,
    }  # fmt: skip


def flags_of(sums=False):
    """What LLVM may do with floating arithmetic; see the module."""
    return {"contract", "reassoc"} if sums else {"contract"}


def from_text(text, name, made_for, known, **options):
    """The function `name` of a text, compiled as if it stood where the function `made_for` does.

    numba finds what it has cached by a function's file, line and name, so that a kernel made of a
    template is found again, and one that is a closure is not.
    """
    return compiled(function_of(text, name, made_for, known), **options)


def function_of(text, name, made_for, known):
    """The function `name` of a text that uses the names in `known`; see `from_text`."""
    code, space = made_for.__code__, dict(known)
    exec(compile("\n" * (code.co_firstlineno - 1) + text, code.co_filename, "exec"), space)
    fn = space[name]
    fn.__module__ = made_for.__module__
    fn.__qualname__ = f"{made_for.__qualname__}.{name}"
    return fn


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
