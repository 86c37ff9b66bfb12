"""Kernels of what is computed element by element: one pass, whatever is broadcast, one
rounding.

`pointwise` makes a compiled kernel of a function of float32 numbers. Its positional arguments are
arrays of any shapes that broadcast, or numbers; its keywords are numbers.

A kernel is made, and compiled, for the formats that occur, in one of two forms:

- flat: all arrays are contiguous and have one shape, and perhaps there are numbers; what is read is
  widened, computed with and rounded in registers;
- gathered: anything else; of each array BLOCK numbers, in C order of the result, are first widened
  into a workspace that stays in the cache (see gather.py).
"""

import inspect
import math
from importlib import import_module
from typing import Any

import numpy as np

from minifp.runtime.cpu import pool
from minifp.runtime.cpu.compile import from_text, function_of, inline
from minifp.runtime.cpu.half import load, store, view
from minifp.runtime.cpu.sums import sum_over
from minifp.runtime.cpu.threads import get_num_threads
from minifp.runtime.shapes import stretched

RUN = 8192  # elements that are worth a chunk
BLOCK = 1024  # elements that are gathered at a time
WIDTH = 2 * 64 + 1  # numbers that say where the elements of one array lie: NumPy has 64 axes
SLAB = 2**17  # elements that are computed before they are summed
SMALL = 2048  # elements that NumPy stretches sooner than we gather them
NANOSECONDS = 0.25  # an element of a cheap function
GATHERING = 0.25  # nanoseconds more for an element of each argument
F16, F32, BOOL, U16 = (np.dtype(name) for name in ("float16", "float32", "bool", "uint16"))
FLOATS, STORED, NUMBERS = {F16, F32}, {F16, F32, BOOL}, {float, int, bool}
UNCOUNTED = np.zeros(1, np.int64)

# `count` is the number of chunks. One alone is not counted: all callers can share UNCOUNTED.
FLAT = """
def {name}(counter, count, length, total, {arrays}, out{params}):
{floats}
    while True:
        chunk = take_next(counter) if count > 1 else 0
        if chunk >= count:
            break
        for i in range(chunk * length, min(chunk * length + length, total)):
            {write}
        if count == 1:
            break
"""
GATHERED = """
def {name}(counter, count, scratch, length, total, places, {arrays}, out{params}):
{floats}
    while True:
        chunk = take_next(counter) if count > 1 else 0
        if chunk >= count:
            break
        stop = min(chunk * length + length, total)
        for i in range(chunk * length, stop, BLOCK):
            n = min(BLOCK, stop - i)
{gathers}
            for j in range(n):
                {write}
        if count == 1:
            break
"""
# The kernel itself. Where no threads are needed, arrays of one shape go straight to the
# kernel.
KERNEL = """
def {name}({arrays}, *, to{params}):
    dtype = kernels.dtype or to[0]
    if {alike} and dtype in kernels.results:
        n = x0.size
        if 0 < n < {few}:
            out = empty(x0.shape, dtype)
            kernels["{flat}"](UNCOUNTED, 1, n, n, {given})
            return out
    return run(kernels, ({arrays},), dtype, ({numbers}))
"""


class Kernels(dict):
    """The kernels of one function: by which arguments are arrays, "a", and numbers, "n"; or "g",
    where all are gathered.
    """

    def __init__(self, fn, cost, dtype, elsewhere):
        found = inspect.signature(fn).parameters.values()
        self.fn, self.cost, self.dtype, self.elsewhere = fn, cost, dtype, elsewhere
        self.results = FLOATS if dtype is None else {dtype}
        self.arrays = [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD]
        self.params = [p.name for p in found if p.kind is p.KEYWORD_ONLY]
        plain = _positional(fn, self.params)
        self.known = {
            "f": inline(plain, how="always"),
            "load": load,
            "store": store,
            "take_next": pool.take_next,
        }
        self.known |= {"float32": np.float32, "BLOCK": BLOCK}

    def __missing__(self, form):
        arrays = [f"x{k}" for k in range(len(self.arrays))]
        if form == "g":
            self.known["gather"] = import_module("minifp.runtime.cpu.gather").gather
            values = [f"load(scratch, {k} * BLOCK + j)" for k in range(len(arrays))]
            numbers = self.params
        else:
            values = [x if p == "n" else f"load({x}, i)" for x, p in zip(arrays, form)]
            numbers = [x for x, p in zip(arrays, form) if p == "n"] + self.params
        name, value = f"{self.fn.__name__}_{form}", f"f({', '.join([*values, *self.params])})"
        at = "i + j" if form == "g" else "i"
        text = (GATHERED if form == "g" else FLAT).format(
            name=name,
            arrays=", ".join(arrays),
            params="".join(f", {p}" for p in self.params),
            floats="\n".join(f"    {p} = float32({p})" for p in numbers),
            gathers="\n".join(
                f"            gather({x}, places, {k * WIDTH}, i, n, scratch, {k * BLOCK})"
                for k, x in enumerate(arrays)
            ),
            write=f"store(out, {at}, {value})" if self.dtype is None else f"out[{at}] = {value}",
        )
        self[form] = made = from_text(text, name, self.fn, self.known)
        return made


def _positional(fn, params):
    """fn with its keywords as further positional arguments, which numba takes."""
    if not params:
        return fn
    code = fn.__code__
    made = code.replace(co_argcount=code.co_argcount + len(params), co_kwonlyargcount=0)
    plain = type(fn)(made, fn.__globals__, fn.__name__, None, fn.__closure__)
    plain.__module__, plain.__qualname__ = fn.__module__, fn.__qualname__
    return plain


def pointwise(fn, cost=NANOSECONDS, dtype=None, elsewhere=lambda *_: None):
    """A compiled kernel of `fn(*numbers, **numbers)`, which returns None for what it cannot do.

    cost: nanoseconds an element. dtype: that of the result, where it is not told by the call: bool.
    elsewhere: called as elsewhere(args, dtype, numbers) where an argument is neither a number nor
    an array of stored ones.
    """
    kernels = Kernels(fn, cost, dtype and np.dtype(dtype), elsewhere)
    arrays = [f"x{k}" for k in range(len(kernels.arrays))]
    alike = [f"type({x}) is ndarray and {x}.flags.carray and {x}.dtype in STORED" for x in arrays]
    lines = [
        f"{x}.ravel().view(U16) if {x}.dtype == F16 else {x}.ravel()" for x in [*arrays, "out"]
    ]
    text = KERNEL.format(
        name=fn.__name__,
        arrays=", ".join(arrays),
        params="".join(f", {p}" for p in kernels.params),
        alike=" and ".join(alike) + "".join(f" and {x}.shape == x0.shape" for x in arrays[1:]),
        flat="a" * len(arrays),
        few=int(pool.WORTH_A_THREAD / cost),
        given=", ".join([*lines, *(f"float({p})" for p in kernels.params)]),
        numbers="".join(f"float({p}), " for p in kernels.params),
    )
    known = {"kernels": kernels, "run": run, "ndarray": np.ndarray, "empty": np.empty}
    known |= {"UNCOUNTED": UNCOUNTED, "F16": F16, "U16": U16}
    made = function_of(text, fn.__name__, fn, known | {"STORED": STORED})
    made.__doc__, made.__wrapped__ = fn.__doc__, fn
    return made


# ---- larger, broadcast or strided arrays --------------------------------------------------------


def run(kernels, args, dtype, numbers):
    """The function of arrays that broadcast, stored in `dtype`; None where no kernel can do it."""
    if dtype not in kernels.results:
        return None
    shape, form, flat = None, "", True
    given: list[Any] = []
    for a in args:
        if type(a) in NUMBERS:
            form += "n"
            given.append(float(a))
        elif isinstance(a, np.ndarray) and a.dtype in STORED:
            shape = a.shape if shape is None else shape
            flat = flat and a.shape == shape and a.flags.carray
            form += "a"
            given.append(a)
        else:
            return kernels.elsewhere(args, dtype, numbers)
    if shape is None:
        return None
    if not flat:
        shape = np.broadcast(*(a for a in given if type(a) is not float)).shape
        given = [a if type(a) is float or a.ndim or not shape else float(a) for a in given]
        form = "".join("n" if type(a) is float else "a" for a in given)
        if math.prod(shape) > SMALL and not all(_is_flat(a, shape) for a in given):
            return _run_gathered(kernels, given, shape, dtype, numbers)
    out = np.empty(shape, dtype)
    given = [a if type(a) is float else _line(a, shape) for a in (*given, out)]
    kernel, n = kernels[form], out.size
    if n * kernels.cost > pool.WORTH_A_THREAD and get_num_threads() > 1:
        given += numbers
        _in_threads(lambda counter, count, _, *given: kernel(counter, count, *given), n, given)
    elif n:
        kernel(UNCOUNTED, 1, n, n, *given, *numbers)
    return out


def _is_flat(a, shape):
    return type(a) is float or (a.shape == shape and a.flags.c_contiguous and a.flags.aligned)


def _line(a, shape):
    """The numbers of an array stretched to a shape, as kernels read them: in place, or copied."""
    if not _is_flat(a, shape):
        stretched = np.empty(shape, a.dtype)
        stretched[...] = a
        a = stretched
    return view(a).reshape(-1)


def _in_threads(kernel, n, given, workspace=0):
    chunks, length = pool.spans(n, RUN)
    helpers = min(get_num_threads(), chunks) - 1
    pool.POOL.run(kernel, chunks, (length, n, *given), workspace, helpers)


def _run_gathered(kernels, args, shape, dtype, numbers):
    out = np.empty(shape, dtype)
    arrays = [np.asarray(a, F32) if isinstance(a, float) else _upward(a) for a in args]
    places = np.zeros(len(arrays) * WIDTH, np.int64)
    for k, a in enumerate(arrays):
        axes = _axes(a, shape)
        at = 1 + k * WIDTH
        places[at - 1] = len(axes)
        places[at : at + 2 * len(axes)] = [number for axis in reversed(axes) for number in axis]
    given = [places, *map(_memory, arrays), view(out).reshape(-1), *numbers]
    kernel, n, workspace = kernels["g"], out.size, BLOCK * len(arrays)
    cost = n * (kernels.cost + GATHERING * len(arrays))
    if cost > pool.WORTH_A_THREAD and get_num_threads() > 1:
        _in_threads(kernel, n, given, workspace)
    else:
        kernel(UNCOUNTED, 1, pool.scratch(workspace), n, n, *given)
    return out


def _upward(a):
    """a, or a copy where its elements do not lie in steps of whole elements up the memory."""
    up = all(s >= 0 and s % a.itemsize == 0 for s in a.strides)
    return a if up and a.flags.aligned else np.array(a, order="C")


def _axes(a, shape):
    """[size, stride in elements] of the axes of a stretched to `shape`; neighbours that are one
    axis in memory are joined.
    """
    strides = (0,) * (len(shape) - a.ndim) + tuple(
        0 if n == 1 else s // a.itemsize for n, s in zip(a.shape, a.strides)
    )
    axes: list[list[int]] = []
    for n, s in zip(shape, strides):
        if n == 1:
            continue
        if axes and axes[-1][1] == n * s:
            axes[-1] = [axes[-1][0] * n, s]
        else:
            axes.append([n, s])
    return axes or [[1, 1]]


def _memory(a):
    """The memory from an array's first element to its last, as kernels read it."""
    reach = 1 + sum((n - 1) * (s // a.itemsize) for n, s in zip(a.shape, a.strides))
    return view(np.lib.stride_tricks.as_strided(a, (reach,), (a.itemsize,)))


# ---- gradients of what was stretched -------------------------------------------------------------


def summed(function, args, whole, shape, dtype):
    """A compiled kernel's result, of shape `whole`, summed over the axes along which `shape`, which
    is another, was stretched.

    It is computed in slabs, in float32, each of which is summed before the next is computed.
    """
    if dtype not in FLOATS:
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
    stored, parts = dtype if along not in axes or len(slabs) == 1 else F32, []
    for slab in slabs:
        part = function(*(_part(a, slab, along - len(whole)) for a in args), to=(F32,))
        if part is None:
            return None
        parts.append(sum_over(part, axes, stored))
    if len(parts) == 1:
        return parts[0].reshape(shape)
    if along in axes:
        return sum_over(np.stack(parts), (0,), dtype).reshape(shape)
    return np.concatenate(parts, sum(i not in axes for i in range(along))).reshape(shape)


def _part(a, slab, axis):
    """A slab of an argument along an axis, counted from the last, unless it is stretched there."""
    if np.ndim(a) < -axis or a.shape[axis] == 1:
        return a
    return a[(..., slab) + (slice(None),) * (-axis - 1)]
