"""Formulas of one element on a GPU: element by element, and summed over axes.

A kernel is made for each formula, the formats of its arrays, and the number of axes along which
they lie: see pointwise.cu, gathered.cu and sums.cu. The formulas are those of the CPU.
"""

import math
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from minifp.derive.cuda import function_text
from minifp.derive.trace import Formula as Graph
from minifp.runtime.cuda.arrays import (
    collapsed,
    empty,
    is_aligned,
    is_on_device,
    is_whole,
    steps_of,
)
from minifp.runtime.cuda.source import THREADS, TYPES, blocks_for, module_of
from minifp.runtime.cuda.translate import PRELUDE, symbol, translated
from minifp.runtime.shapes import stretched

F16, F32, BOOL = (np.dtype(name) for name in ("float16", "float32", "bool"))
FLOATS, STORED = {F16, F32}, {F16, F32, BOOL}
PACK = 8  # elements that a thread takes at once
AXES = (1, 2, 3, 4, 6, 8, 12)  # for how many axes there are kernels
FEW = 2**31  # elements that 32 bits can count
RUN = 32  # addends that a thread sums one after the other, if it can be arranged


@cache
def template(name: str) -> str:
    """One of the texts beside this file."""
    return (files("minifp.runtime.cuda") / name).read_text(encoding="utf-8")


class Formula:
    """A Python function of float32 numbers, of which kernels are made: of arrays, or numbers in
    their place, by its positional parameters, and of numbers by its keywords.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.texts: dict = {}

    def as_function(self) -> tuple[str, str]:
        """(text, name) of it as a device function."""
        return translated(self.function)[0], symbol(self.function)

    def module(self, kind: str, formats: tuple, numbers: int, axes: Any, wide: bool) -> Any:
        """The module of kernels. kind: of the text. formats: of the arrays, None for a number that
        takes an array's place, and last of the result. axes: how many an index has, those that are
        kept and those that are summed over. wide: whether 32 bits cannot count the elements."""
        key = kind, formats, numbers, axes, wide
        if key not in self.texts:
            self.texts[key] = module_of(self._text(*key))
        return self.texts[key]

    def _text(self, kind, formats, numbers, axes, wide):
        text, name = self.as_function()
        given = [k for k, dtype in enumerate(formats[:-1]) if dtype is not None]
        scalars = [k for k, dtype in enumerate(formats[:-1]) if dtype is None]
        params = [f"p{k}" for k in range(numbers)]

        def values(of):
            taken = [of(k) if k in given else f"v{k}" for k in range(len(formats) - 1)]
            return ", ".join([*taken, *params])

        numbered = [*(f"v{k}" for k in scalars), *params]
        parts = {
            "ARRAYS": ", ".join(f"const X{k} *x{k}" for k in given),
            "NUMBERS": "".join(f", float {name}" for name in numbered),
            "VALUES": values(lambda k: f"load(x{k}, i)"),
            "GATHERED": values(lambda k: f"load(x{k}, at{k})"),
            "PACKED": values(lambda k: f"load(a{k}.v, k)"),
            "PACKS": " ".join(f"auto a{k} = load_pack<X{k}, PACK>(x{k}, i);" for k in given),
        }
        own, summed = axes if isinstance(axes, tuple) else (axes, 0)
        names = [f"k{a}" for a in range(own)] + [f"r{a}" for a in range(summed)]
        parts["SIZES"] = "".join(
            f", size n_{a}" + "".join(f", size s{k}_{a}" for k in given) for a in names
        )
        parts["KEPT"] = _places(given, names[:own], "base", "0")
        parts["PLACES"] = (
            _places(given, names[own:], "at", "base")
            if kind == "sums.cu"
            else _places(given, names, "at", "0")
        )
        body = template(kind)
        for name, value in parts.items():
            body = body.replace("$" + name, value)
        types = [f"typedef {TYPES[formats[k]]} X{k};" for k in given]
        types += [f"typedef {TYPES[formats[-1]]} Y;", f"#define PACK {PACK}"]
        types += [f"typedef {'size' if wide else 'unsigned'} INDEX;", f"#define THREADS {THREADS}"]
        call = f"#define f {name}"
        return "\n".join([*types, PRELUDE, text, call, body])


class Derived(Formula):
    """The formula of a graph: of what it reads, and of its numbers."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.texts = graph, {}

    def as_function(self) -> tuple[str, str]:
        """(text, name) of it as a device function."""
        name = f"{self.graph.name}_"  # so that none is a word of C++
        return function_text(self.graph, name), name


def _places(given, axes, name, start):
    """Code that finds where element `rest` of each array is, from the last axis to the first."""
    lines = [f"size {name}{k} = {start}{k if start != '0' else ''};" for k in given]
    for i, a in enumerate(reversed(axes)):
        last = i == len(axes) - 1
        at = "rest" if last else f"c_{a}"
        if not last:
            lines.append(f"INDEX c_{a} = rest % (INDEX)n_{a}; rest /= (INDEX)n_{a};")
        lines += [f"{name}{k} += (size){at} * s{k}_{a};" for k in given]
    return "\n    ".join(lines)


# ---- element by element -------------------------------------------------------------------------


def run(formula: Formula, args: tuple, dtype: Any, numbers: tuple, out: Any = None) -> Any:
    """The formula of device arrays that broadcast, and numbers, stored in `dtype`, or in `out`.

    Returns None for what there is no kernel for: other formats, or more than 12 axes.
    """
    args = tuple([_entered(a) for a in args])
    arrays = [a for a in args if is_on_device(a)]
    if dtype not in STORED or any(a.dtype not in STORED for a in arrays):
        return None
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    out = empty(shape, dtype) if out is None else out
    if not out.size:
        return out
    scalars = [float(a) for a in args if not is_on_device(a)]
    formats = (*(a.dtype if is_on_device(a) else None for a in args), out.dtype)
    given = [*arrays, out, *scalars, *map(float, numbers)]
    if all(is_whole(a, shape) for a in arrays):
        module = formula.module("pointwise.cu", formats, len(numbers), 0, False)
        if out.size >= PACK and all(map(is_aligned, (*arrays, out))):
            module.launch("packed", blocks_for(out.size, each=PACK), THREADS, out.size, *given)
        else:
            module.launch("flat", blocks_for(out.size), THREADS, out.size, *given)
        return out
    places = _padded(*collapsed(shape, [steps_of(a, shape) for a in arrays]))
    if places is None:
        return None
    module = formula.module("gathered.cu", formats, len(numbers), places[0], out.size >= FEW)
    module.launch("gathered", blocks_for(out.size), THREADS, out.size, *places[1], *given)
    return out


def _entered(a):
    """An argument as kernels take it: a number where it is an array of the host's with one."""
    return a.item() if isinstance(a, (np.generic, np.ndarray)) else a


def _padded(sizes, steps):
    """(how many axes, their sizes and steps in a kernel's order), with axes of size 1 in front."""
    axes = next((n for n in AXES if n >= len(sizes)), None)
    if axes is None:
        return None
    more = axes - len(sizes)
    sizes, steps = [1] * more + sizes, [[0] * more + s for s in steps]
    return axes, [n for a in range(axes) for n in (sizes[a], *(s[a] for s in steps))]


# ---- summed -------------------------------------------------------------------------------------


def summed(formula: Formula, args: tuple, axes: tuple, dtype: Any, numbers: tuple = (),
           scale: float = 1.0) -> Any:  # fmt: skip
    """`scale` times the sum of the formula over `axes`, in float32, rounded once to `dtype`.

    args: device arrays that broadcast, and numbers. The result has no more the axes summed over.
    Returns None as `run` does. Addends are summed by threads in runs, then pairwise: |error| <=
    (RUN + log2 n) 2^-24 sum|f|, as long as n <= 2^21; beyond, runs of a second sum are longer.
    """
    args = tuple([_entered(a) for a in args])
    arrays = [a for a in args if is_on_device(a)]
    if dtype not in FLOATS or any(a.dtype not in STORED for a in arrays):
        return None
    whole = np.broadcast_shapes(*(a.shape for a in arrays))
    kept_shape = tuple(n for i, n in enumerate(whole) if i not in axes)
    count, out = math.prod(whole[i] for i in axes), empty(kept_shape, dtype)
    if not out.size:
        return out
    if not count:
        out.fill(0)
        return out
    steps = [steps_of(a, whole) for a in arrays]
    axes = tuple(sorted(axes))
    others = tuple(i for i in range(len(whole)) if i not in axes)
    kept, reduced = (
        _padded(*collapsed([whole[i] for i in part], [[s[i] for i in part] for s in steps]))
        for part in (others, axes)
    )
    if kept is None or reduced is None:
        return None
    scalars = [float(a) for a in args if not is_on_device(a)]
    formats = tuple(a.dtype if is_on_device(a) else None for a in args)
    wide = max(out.size, count) >= FEW
    inner = _is_inner(whole, steps[0], axes)
    across = 1 if count >= THREADS else THREADS // _power_above(count)
    across = across if inner else max(32, across)
    while across > 1 and across // 2 >= out.size:
        across //= 2
    length, parts = _divided(count, THREADS // across, -(-out.size // across))
    target = out if parts == 1 else empty((parts, *kept_shape), F32)
    module = formula.module(
        "sums.cu", (*formats, target.dtype), len(numbers), (kept[0], reduced[0]), wide
    )
    blocks = min(2**20, -(-out.size // across) * parts)
    module.launch(
        *("sums", blocks, THREADS, out.size, count, length, np.int32(across), np.int32(inner)),
        *(*kept[1], *reduced[1], *arrays, target, scale if parts == 1 else 1.0),
        *(*scalars, *map(float, numbers)),
    )
    return out if parts == 1 else summed(IDENTITY, (target,), (0,), dtype, (), scale)


def _is_inner(shape, steps, axes):
    """Whether what is summed lies closer together than what is kept."""
    found = [(abs(s), i) for i, (n, s) in enumerate(zip(shape, steps)) if n > 1 and s]
    return not found or min(found)[1] in axes


def summed_to(formula: Formula, args: tuple, whole: tuple, shape: tuple, dtype: Any,
              numbers: tuple = ()) -> Any:  # fmt: skip
    """The formula, whose result is of shape `whole`, summed over the axes along which `shape` was
    stretched, rounded once to `dtype`; None as `run`."""
    if whole == shape:
        return run(formula, args, dtype, numbers)
    made = summed(formula, args, stretched(whole, shape), dtype, numbers)
    return None if made is None else made.reshape(shape)


def _power_above(n):
    """The smallest power of two that is at least n."""
    return 1 << max(0, n - 1).bit_length()


def _divided(count, along, groups):
    """(addends of one part, parts) of a sum that `along` threads take: runs of about RUN."""
    length = along * RUN
    if count <= 2 * length or groups >= 1024 and count <= 32 * length:
        return count, 1
    return length, -(-count // length)


def identity(x):
    """x."""
    return x


IDENTITY = Formula(identity)


def sum_over(x: Any, axes: tuple, dtype: Any, scale: float = 1.0) -> Any:
    """`scale` times the sum of a device array over `axes`, rounded once to `dtype`."""
    return summed(IDENTITY, (x,), tuple(axes), dtype, (), float(scale))


def cast(x: Any, dtype: Any) -> Any:
    """x rounded once to `dtype`, in C order, in a new array."""
    found = run(IDENTITY, (x,), np.dtype(dtype), ())
    return x.astype(dtype) if found is None else found
