"""Formulas of one element on the CPU: the kernel that a call needs, and how it is called.

What kernels consist of, and the letters of their forms, is in pointwise_text.py.
"""

import math
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from minifp.derive.dtypes import COMPILED, name_of
from minifp.derive.trace import SCALARS, Formula, Formulas, kind_of, signature_of
from minifp.runtime.cpu import can_compile, kernels_mode, threads
from minifp.runtime.cpu.compile.machine import kernel_of
from minifp.runtime.cpu.emit.gather import BLOCK, places_of
from minifp.runtime.cpu.emit.pointwise_text import NAME, kernel_text
from minifp.runtime.cpu.kernels import pool
from minifp.runtime.cpu.kernels.checked import Checked
from minifp.runtime.cpu.kernels.convert import number_of
from minifp.runtime.shapes import stretched

RUN = 8192  # elements that are worth a chunk
SLAB = 2**17  # elements that are computed before they are summed
SMALL = 2048  # elements that NumPy stretches sooner than they are gathered
NANOSECONDS = 0.02  # an operation on an element
GATHERING = 0.25  # nanoseconds more for an element of each argument that is gathered
# Operations that take as long as so many.
DEAR = {"div": 8, "sqrt": 8, "fmod": 100, "pow": 500, "call": 500}
FLOAT16, FLOAT32, BOOL = (np.dtype(name) for name in ("float16", "float32", "bool"))
FLOATS, STORED = COMPILED, {*COMPILED, BOOL}
SLOWER = {"sinf", "cosf"}  # calls for one number, where NumPy has loops over vectors
UNCOUNTED = np.zeros(1, np.int64)  # of a kernel of one chunk, which counts none


class Pointwise:
    """The compiled kernel of what computes element by element; see `pointwise`."""

    def __init__(self, formulas: Formulas, elsewhere: Any) -> None:
        self.formulas, self.elsewhere = formulas, elsewhere
        self.kernels: dict = {}  # by formula, forms and dtypes of the results: kernel, cost
        # By dtypes: what most calls need, of few numbers, in arrays with what is none behind them.
        self.plain: dict = {}

    def __call__(self, *args: Any, to: Any, **settings: Any) -> Any:
        if not all(type(a) is np.ndarray or a is None or type(a) in SCALARS for a in args):
            return self.elsewhere(args, to, settings)
        formula, arrays = self.formulas.of_call(args, settings)
        if formula is None or any(n.op == "call" and n.value in SLOWER for n in formula.nodes):
            return None
        outs = tuple([BOOL if n.type == "b" else d for n, d in zip(formula.results, to)])
        if not STORED.issuperset(outs):
            return None
        if len(outs) > 1 and len({a.shape for a in arrays}) > 1:
            return None  # each result has a shape of its own
        results = self.run(formula, arrays, outs, settings)
        found = self.kernels.get((formula, "a" * len(arrays), outs))
        count = sum(type(a) is np.ndarray for a in args)
        is_plain = all(type(a) is np.ndarray for a in args[:count])
        if found is not None and is_plain and len(outs) == 1:
            kernel, cost = found
            key = (*map(kind_of, args), *to, *signature_of(settings))
            few = int(pool.WORTH_A_THREAD / cost)
            of_formula = tuple(formula.loads), formula.told, formula.fits
            self.plain[key] = kernel, count, outs[0], few, *of_formula
        return results if formula.several else results[0]

    def run(self, formula: Formula, arrays: list, outs: tuple, settings: dict) -> tuple:
        """The results of a formula, in these dtypes."""
        shape = arrays[0].shape
        forms, places = "a" * len(arrays), UNCOUNTED
        if not all(a.shape == shape and a.flags.carray for a in arrays):
            if any(a.shape != shape for a in arrays):
                shape = np.broadcast(*arrays).shape
            arrays = [_simpler(a, shape) for a in arrays]
            lie = [(a.shape, a.strides, a.itemsize, a.flags.carray) for a in arrays]
            forms, places = layout(shape, *lie)
        results = tuple([np.empty(shape, d) for d in outs])
        if results[0].size:
            numbers = formula.told(settings)
            kernel, cost = self.kernel(formula, forms, outs)
            launch(kernel, cost, forms, arrays, places, results, numbers)
        return results

    def kernel(self, formula: Formula, forms: str, outs: tuple) -> tuple:
        """(what is called, nanoseconds an element) of a formula."""
        key = formula, forms, outs
        if key not in self.kernels:
            names = tuple([name_of(d) for d in outs])
            kernel = kernel_of(NAME, kernel_text(formula, forms, names), formula.name)
            if kernels_mode() == "checked":
                kernel = self.checked(kernel, formula, forms, names)
            self.kernels[key] = kernel, cost_of(formula)
        return self.kernels[key]

    def checked(self, kernel: Any, formula: Formula, forms: str, outs: tuple) -> Checked:
        """The kernel, which verifies first what its entry trusts."""
        arguments = self.formulas.arguments
        reads = [(arguments[k], d, form) for (k, d), form in zip(formula.loads.items(), forms)]
        return Checked(kernel, formula.name, reads, outs, len(formula.numbers))


def pointwise(reference: Any, formulas: Formulas, elsewhere: Any = lambda *_: None) -> Any:
    """The compiled kernel of a reference: see Kernel.compiled. It returns None for what has no
    formula, and for other arrays than NumPy's what elsewhere(args, to, settings) returns."""
    kernels, arguments = Pointwise(formulas, elsewhere), formulas.arguments

    def compiled(*args: Any, to: Any, **settings: Any) -> Any:
        kinds = [a.dtype if type(a) is np.ndarray else type(a) for a in args]
        if args and type(args[-1]) is float:
            settings[arguments[-1]] = args[-1]
        signature = signature_of(settings) if settings else ()
        known = kernels.plain.get((*kinds, *to, *signature))
        if known is not None:
            kernel, count, dtype, few, loads, told, fits = known
            shape, n, arrays = args[0].shape, args[0].size, [args[k] for k in loads]
            for a in args[:count]:
                if a.shape != shape or not a.flags.carray:
                    shape = np.broadcast(*args[:count]).shape
                    n = math.prod(shape)
                    arrays = stretched_to(shape, n, arrays)
                    break
            if 0 < n < few and arrays is not None and fits(settings):
                y = np.empty(shape, dtype)
                rest = (*arrays, y, *told(settings))
                kernel(UNCOUNTED, 1, pool.NOTHING, n, n, UNCOUNTED, *rest)
                return y
        return kernels(*args, to=to, **settings)

    compiled.__name__ = compiled.__qualname__ = reference.__name__
    compiled.__doc__, compiled.__module__ = reference.__doc__, reference.__module__
    vars(compiled)["formulas"] = formulas
    return compiled


def stretched_to(shape: tuple, n: int, arrays: list) -> list | None:
    """Arrays as they lie one number after the other in a shape of n numbers, if these are few; None
    for others."""
    if n > SMALL or any(a.size == 1 for a in arrays):  # a number is read as one
        return None
    return [a if a.shape == shape and a.flags.carray else _simpler(a, shape) for a in arrays]


def cost_of(formula: Formula) -> float:
    """Nanoseconds an element, roughly."""
    nodes = [n for n in formula.nodes if n.extent == "e"]
    return NANOSECONDS * (10 + sum(DEAR.get(n.op, 1) for n in nodes))


def launch(kernel, cost, forms, arrays, places, results, numbers) -> None:
    """Run a kernel on as many threads as it is worth. places: of arrays that are gathered."""
    n = results[0].size
    cost, workspace = n * cost, 0
    if forms != "a" * len(forms):
        if "g" in forms:
            workspace = BLOCK * len(arrays)
            cost += n * forms.count("g") * GATHERING
        arrays = [number_of(a) if f == "n" else a for a, f in zip(arrays, forms)]
    if cost > pool.WORTH_A_THREAD and threads.number > 1:
        chunks, length = pool.spans(n, RUN)
        rest = (length, n, places, *arrays, *results, *numbers)
        pool.POOL.run(kernel, chunks, rest, workspace)
    else:
        kernel(UNCOUNTED, 1, pool.scratch(workspace), n, n, places, *arrays, *results, *numbers)


@lru_cache(512)
def layout(shape: tuple[int, ...], *lie: tuple) -> tuple[str, np.ndarray]:
    """(forms, places) of arrays that are stretched to a shape. lie: of each its shape, its strides,
    the bytes of an element, and whether it is dense, aligned and writeable."""
    forms = "".join([_form(sizes, is_dense, shape) for sizes, _, _, is_dense in lie])
    return forms, places_of([of[:3] for of in lie], forms, shape)


def _form(sizes, is_dense, shape):
    if sizes == shape and is_dense:
        return "a"
    return "n" if math.prod(sizes) == 1 else "g"


def _simpler(a, shape):
    """a as it is read: stretched by NumPy where that is sooner done, or where it lies in steps that
    are no whole elements, or down the memory."""
    if a.size == 1:
        return a
    if math.prod(shape) <= SMALL:
        stretched = np.empty(shape, a.dtype)
        stretched[...] = a
        return stretched
    up = all(s >= 0 and s % a.itemsize == 0 for s in a.strides)
    return a if up and a.flags.aligned else np.array(a, order="C")


# ---- gradients of what was stretched -------------------------------------------------------------


def summed(function: Any, args: tuple, whole: tuple, shape: tuple, dtype: Any) -> Any:
    """A compiled kernel's result, of shape `whole`, summed over the axes along which `shape`, which
    is another, was stretched.

    It is computed in slabs, in float32, each of which is summed before the next is computed.
    """
    if dtype not in FLOATS or not can_compile():  # sums are compiled by numba
        return None
    if 0 in whole:
        return np.zeros(shape, dtype)
    if math.prod(whole) == math.prod(shape):
        made = function(*args, to=(dtype,))
        return None if made is None else made.reshape(shape)
    axes = stretched(whole, shape)
    along = next(i for i, n in enumerate(whole) if n > 1)
    most = max(1, SLAB * whole[along] // math.prod(whole))
    slabs = [slice(i, i + most) for i in range(0, whole[along], most)]
    stored, parts = dtype if along not in axes or len(slabs) == 1 else FLOAT32, []
    for slab in slabs:
        part = function(*(_part(a, slab, along - len(whole)) for a in args), to=(FLOAT32,))
        if part is None:
            return None
        parts.append(sums().sum_over(part, axes, stored))
    if len(parts) == 1:
        return parts[0].reshape(shape)
    if along in axes:
        return sums().sum_over(np.stack(parts), (0,), dtype).reshape(shape)
    return np.concatenate(parts, sum(i not in axes for i in range(along))).reshape(shape)


def sums() -> Any:
    """The kernels of sums, for which numba is loaded when the first is needed."""
    return import_module("minifp.runtime.cpu.kernels.sums")


def _part(a, slab, axis):
    """A slab of an argument along an axis, counted from the last, unless it is stretched there."""
    if np.ndim(a) < -axis or a.shape[axis] == 1:
        return a
    return a[(..., slab) + (slice(None),) * (-axis - 1)]
