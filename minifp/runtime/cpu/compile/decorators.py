"""Kernels: functions of numbers and arrays, compiled at their first call for new types.

Here a function is only marked. When a kernel is called, its code is made of what scripts/
write_kernels.py had lowered to LLVM's text, if its types are among those: see shipped.py. For
others, and where the sources have changed, numba is imported and compiles it: see front_end.py.

No flag allows what NaN, Inf or -0 forbid. `contract` joins a product with the sum that takes it,
which rounds once less; `reassoc`, for sums alone, lets them run in vector registers.
"""

import os
import threading
from functools import cached_property, partial
from importlib import import_module

import numpy as np
from llvmlite import binding

from minifp.runtime.cpu import numba_failed
from minifp.runtime.cpu.compile import entries, machine, shipped

if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
    raise ImportError("NUMBA_DISABLE_JIT is set: these kernels only work compiled")


class Later:
    """A module of numba, imported when something in it is needed."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        try:
            module = import_module(self._name)
        except MemoryError:
            raise
        except Exception as error:  # one made for another NumPy or Python raises anything
            raise numba_failed(error) from error
        return getattr(module, name)


types, cgutils = Later("numba.core.types"), Later("numba.core.cgutils")
front_end = Later("minifp.runtime.cpu.compile.front_end")


# ---- marks --------------------------------------------------------------------------------------


def compiled(fn=None, *, sums=False, takes_rows=False):
    """Make `fn` a kernel that is compiled at its first call for arguments of new types.

    It runs without the GIL and checks no index. sums: its sums may be added up in any order.
    takes_rows: every array that it is given, of whatever axes, is to it one row of numbers.
    """
    make = partial(Kernel, options=options_of(sums), takes_rows=takes_rows)
    return make if fn is None else make(fn)


def inline(fn=None, *, sums=False, how="never"):
    """Make `fn` a part of the kernels that call it, with which it is compiled.

    how: "always" for what is called at one place only.
    """
    if fn is None:
        return lambda fn: inline(fn, sums=sums, how=how)
    return Part(fn, lambda: front_end.part(fn, {**options_of(sums), "inline": how}))


def intrinsic(fn):
    """Make `fn(typing, *types)`, which returns a signature and what generates LLVM's instructions,
    a part of the kernels that call it.
    """
    return Part(fn, lambda: front_end.instruction(fn))


def native(signature, symbol):
    """Make `fn` a function that is compiled by itself, and that kernels call by its symbol.

    What many kernels call is so compiled once, instead of once in each of them. signature: as in
    numba, a text.
    """
    return lambda fn: Native(fn, signature, symbol)


class Part:
    """A function that kernels call. What numba makes of it is made when it is needed."""

    def __init__(self, fn, make):
        self.py_func, self.make = fn, make
        self.__doc__, self.__name__ = fn.__doc__, fn.__name__

    @cached_property
    def of_numba(self):
        """What numba is given in its place."""
        return self.make()

    def __call__(self, *args):
        return self.of_numba(*args)


def options_of(sums=False):
    """numba's options. _nrt: kernels allocate nothing, and so count no references to arrays."""
    fixed = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
    return {**fixed, "fastmath": flags_of(sums)}


def flags_of(sums=False):
    """What LLVM may do with floating arithmetic; see the module."""
    return {"contract", "reassoc"} if sums else {"contract"}


# ---- kernels ------------------------------------------------------------------------------------

LOCK = threading.RLock()


class _Memory:
    """The memory of an array that may not be written to, for a kernel that only reads it."""

    def __init__(self, x):
        self.owner, described = x, x.__array_interface__
        self.__array_interface__ = {**described, "data": (described["data"][0], False)}

    @classmethod
    def of(cls, x):
        """The array, as one that may be written to."""
        return x if x.flags.writeable else np.asarray(cls(x))


def flat(x, order="C"):
    """An array as one row of numbers in this order, a copy only if they do not lie so: of its
    codes, where numba does not know its format."""
    row = x.ravel(order)
    return row.view(entries.CODES[row.dtype]) if row.dtype in entries.CODES else row


class Kernel:
    """A function that is compiled when it is called.

    Each entry refuses arguments of other types than its own, so that those that there are already
    are simply tried. All refuse an array that may not be written to, for which numba would compile
    another kernel: it is taken for one that may.
    """

    def __init__(self, fn, options, takes_rows=False):
        self.py_func, self.options, self.entries, self.by_types = fn, options, [], {}
        self.takes_rows = takes_rows
        self.is_numbas = False  # whether none was lowered, whatever the types
        self.path, self.__name__, self.__doc__ = fn.__code__.co_filename, fn.__name__, fn.__doc__

    def __call__(self, *args):
        for _ in range(2):  # as they are, and as numba takes them
            for entry in self.entries:
                result = entry(*args)
                if result is not NotImplemented:
                    return result
            args = self.taken(args)
        return self.of_numba(*args) if self.is_numbas else self.resolve(args)(*args)

    def taken(self, args):
        """The arguments as numba takes them: arrays that may be written to, perhaps as rows."""
        if self.takes_rows:
            args = [flat(a) if type(a) is np.ndarray else a for a in args]
        return tuple([_Memory.of(a) if type(a) is np.ndarray else a for a in args])

    def types_of(self, args):
        """The types of all arguments, as entries take them."""
        types = entries.signature(self.taken(args))
        return types.replace("[1]", "[]") if self.takes_rows else types

    def resolve(self, args):
        """What computes these arguments: an entry, now loaded, or numba's kernel."""
        types = self.types_of(args)
        with LOCK:
            if types not in self.by_types:
                entry = self.load(types)
                self.by_types[types] = entry or self.of_numba
                self.is_numbas = not (entry or self.entries or self.is_lowered())
                self.entries = [*self.entries, entry] if entry else self.entries
            return self.by_types[types]

    def load(self, types):
        """The entry for these types; None if it was not lowered before."""
        if not types or not entries.can_enter():
            return None
        name = self.py_func.__qualname__
        address = shipped.address(self.path, name, types, shipped.ENTRY, NATIVES)
        return address and machine.callable_at(name, address, entries.table())

    def is_lowered(self):
        """Whether there are entries for any types."""
        name = self.py_func.__qualname__
        return entries.can_enter() and bool(shipped.index(self.path).get(name))

    @cached_property
    def of_numba(self):
        """numba's kernel, which may be one that it kept, and find what it calls by its symbol."""
        for native in NATIVES.values():
            native.publish()
        return front_end.dispatcher(self.py_func, self.options)


# ---- functions that kernels call ----------------------------------------------------------------

NATIVES: dict = {}


class Native(Part):
    """A function of C, compiled by itself; see `native`."""

    def __init__(self, fn, signature, symbol):
        super().__init__(fn, lambda: front_end.external(symbol, signature))
        self.signature, self.symbol, self.path = signature, symbol, fn.__code__.co_filename
        NATIVES[symbol] = self

    def publish(self):
        """Let numba find the code by the symbol."""
        binding.add_symbol(self.symbol, self.address)

    @cached_property
    def address(self):
        """Where its code begins."""
        address = shipped.address(self.path, self.symbol, self.signature, self.symbol, NATIVES)
        if address is None:
            address, self.kernel = front_end.address_of(self.py_func, self.signature)
        return address


# ---- kernels from templates ---------------------------------------------------------------------


def from_text(text, name, made_for, known, takes_rows=False, **options):
    """The function `name` of a text, compiled as if it stood where the function `made_for` does.

    numba finds what it has cached by a function's file, line and name, so that a kernel made of a
    template is found again, and one that is a closure is not.
    """
    return compiled(function_of(text, name, made_for, known), takes_rows=takes_rows, **options)


def function_of(text, name, made_for, known):
    """The function `name` of a text that uses the names in `known`; see `from_text`."""
    code, space = made_for.__code__, dict(known)
    exec(compile("\n" * (code.co_firstlineno - 1) + text, code.co_filename, "exec"), space)
    fn = space[name]
    fn.__module__ = made_for.__module__
    fn.__qualname__ = f"{made_for.__qualname__}.{name}"
    return fn
