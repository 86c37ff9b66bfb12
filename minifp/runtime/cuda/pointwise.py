"""Formulas of one element on a GPU: element by element, and summed over axes.

A formula is a function of symbols: see minifp/derive. Of its graph for a call a kernel is made, for
the formats of its arrays, and the number of axes along which they lie: see pointwise.cu,
gathered.cu and sums.cu. What a function is called with beside arrays, and its keywords, are numbers
of the call.
"""

import math
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from minifp.derive.cuda import function_text
from minifp.derive.dtypes import CODED, COMPILED
from minifp.derive.trace import Formula, Formulas
from minifp.runtime.cuda.arrays import collapsed, empty, is_aligned, is_whole, steps_of
from minifp.runtime.cuda.source import THREADS, blocks_for, module_of, type_of
from minifp.runtime.shapes import stretched

F16, F32, BOOL = (np.dtype(name) for name in ("float16", "float32", "bool"))
FLOATS, STORED = COMPILED, {*COMPILED, BOOL}
PACK = 8  # elements that a thread takes at once
AXES = (1, 2, 3, 4, 6, 8, 12)  # for how many axes there are kernels
FEW = 2**31  # elements that 32 bits can count
NOTHING = {"sum": 0, "largest": -math.inf, "least": math.inf}  # reductions of no number
RUN = 32  # addends that a thread sums one after the other, if it can be arranged


# ---- texts --------------------------------------------------------------------------------------


@cache
def template(name: str) -> str:
    """One of the texts beside this file."""
    return (files("minifp.runtime.cuda") / name).read_text(encoding="utf-8")


@cache
def module(
    formula: Formula, kind: str, result: Any, axes: Any = 0, wide: bool = False, op: str = "sum"
) -> Any:
    """The module of a formula's kernels.

    kind: of the text. result: its dtype. axes: how many an index has, those that are kept and those
    that are summed over. wide: whether 32 bits cannot count the elements. op: the reduction.
    """
    types = [f"typedef {type_of(d)} X{k};" for k, d in enumerate(formula.loads.values())]
    types += [f"typedef {type_of(result)} Y;", f"#define PACK {PACK}"]
    types += [f"typedef {'size' if wide else 'unsigned'} INDEX;", f"#define THREADS {THREADS}"]
    types += [f"#define OP {op.upper()}"] * (kind == "sums.cu")
    own, summed = axes if isinstance(axes, tuple) else (axes, 0)
    body = template(kind)
    for name, value in _parts(formula, own, summed).items():
        body = body.replace("$" + name, value)
    return module_of("\n".join([*types, function_text(formula, "f"), body]))


def _parts(formula, own, summed):
    """What is put in place of the names with a dollar: see pointwise.cu."""
    arrays = range(len(formula.loads))
    numbers = [f"p{k}" for k in range(len(formula.numbers))]
    kept, along = [f"k{a}" for a in range(own)], [f"r{a}" for a in range(summed)]
    sizes = [f"n_{a}" + "".join(f", size s{k}_{a}" for k in arrays) for a in kept + along]

    def values(element):
        return ", ".join([*(element.format(k) for k in arrays), *numbers])

    return {
        "ARRAYS": ", ".join(f"const X{k} *x{k}" for k in arrays),
        "NUMBERS": "".join(f", float {name}" for name in numbers),
        "VALUES": values("load(x{0}, i)"),
        "GATHERED": values("load(x{0}, at{0})"),
        "PACKED": values("load(a{0}.v, k)"),
        "PACKS": " ".join(f"auto a{k} = load_pack<X{k}, PACK>(x{k}, i);" for k in arrays),
        "SIZES": "".join(f", size {size}" for size in sizes),
        "KEPT": places_of(arrays, kept, "base", "0"),
        "PLACES": places_of(arrays, *((along, "at", "base") if summed else (kept, "at", "0"))),
    }


def places_of(arrays: Any, axes: list[str], name: str, start: str) -> str:
    """Code that finds where element `rest` of each array is, from the last axis to the first."""
    lines = [f"size {name}{k} = {start}{k if start != '0' else ''};" for k in arrays]
    for i, a in enumerate(reversed(axes)):
        last = i == len(axes) - 1
        at = "rest" if last else f"c_{a}"
        if not last:
            lines.append(f"INDEX c_{a} = rest % (INDEX)n_{a}; rest /= (INDEX)n_{a};")
        lines += [f"{name}{k} += (size){at} * s{k}_{a};" for k in arrays]
    return "\n    ".join(lines)


# ---- element by element -------------------------------------------------------------------------


def run(formulas: Formulas, args: tuple, dtype: Any, out: Any = None, /, **settings: Any) -> Any:
    """The formula of device arrays that broadcast, and numbers, stored in `dtype`, or in `out`;
    truth values as booleans.

    Returns None for what there is no kernel for: other formats, or more than 12 axes.
    """
    formula, arrays = of_call(formulas, args, settings)
    if formula is None:
        return None
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return stored(formula, arrays, shape, dtype, out, settings)


def of_call(formulas: Formulas, args: tuple, settings: dict) -> tuple[Formula | None, list]:
    """The formula of a call with one result, or None, and the arrays that it reads; settings get
    what arguments are numbers."""
    formula, arrays = formulas.of_call(tuple(map(entered, args)), settings)
    return (None if formula is None or formula.several else formula), arrays


def stored(
    formula: Formula, arrays: list, shape: tuple, dtype: Any, out: Any, settings: dict[str, Any]
) -> Any:
    """A formula's result, of this shape, in `dtype`, or in `out`; None for more than 12 axes."""
    dtype = BOOL if formula.results[0].type == "b" else dtype
    if dtype not in STORED:
        return None
    out = empty(shape, dtype) if out is None else out
    if not out.size:
        return out
    rest = *arrays, out, *map(float, formula.told(settings))
    if all(is_whole(a, shape) for a in arrays):
        flat = module(formula, "pointwise.cu", out.dtype)
        if out.size >= PACK and all(map(is_aligned, (*arrays, out))):
            flat.launch("packed", blocks_for(out.size, each=PACK), THREADS, out.size, *rest)
        else:
            flat.launch("flat", blocks_for(out.size), THREADS, out.size, *rest)
        return out
    places = padded(*collapsed(shape, [steps_of(a, shape) for a in arrays]))
    if places is None:
        return None
    gathered = module(formula, "gathered.cu", out.dtype, places[0], out.size >= FEW)
    gathered.launch("gathered", blocks_for(out.size), THREADS, out.size, *places[1], *rest)
    return out


def entered(a: Any) -> Any:
    """An argument as formulas take it: a number where it is an array of the host's with one."""
    a = a.item() if isinstance(a, (np.generic, np.ndarray)) else a
    return float(a) if type(a) is bool else a


def padded(sizes: list[int], steps: list[list[int]]) -> Any:
    """(how many axes, their sizes and steps in a kernel's order), with axes of size 1 in front."""
    axes = next((n for n in AXES if n >= len(sizes)), None)
    if axes is None:
        return None
    more = axes - len(sizes)
    sizes, steps = [1] * more + sizes, [[0] * more + s for s in steps]
    return axes, [n for a in range(axes) for n in (sizes[a], *(s[a] for s in steps))]


# ---- summed -------------------------------------------------------------------------------------


def summed(
    formulas: Formulas, args: tuple, axes: tuple, dtype: Any, scale: float = 1.0, /, **settings: Any
) -> Any:
    """`scale` times the sum of the formula over `axes`, in float32, rounded once to `dtype`.

    args: device arrays that broadcast, and numbers. The result has no more the axes summed over.
    Returns None as `run` does. Addends are summed by threads in runs, then pairwise: |error| <=
    (RUN + log2 n) 2^-24 sum|f|, as long as n <= 2^21; beyond, runs of a second sum are longer.
    """
    formula, arrays = of_call(formulas, args, settings)
    if formula is None or dtype not in FLOATS:
        return None
    whole = np.broadcast_shapes(*(a.shape for a in arrays))
    return reduced(formula, arrays, whole, axes, dtype, settings, scale)


def reduced(
    formula: Formula, arrays, whole, axes, dtype, settings, scale: float = 1.0, op: str = "sum"
) -> Any:
    """`scale` times the sum of a formula's results, of shape `whole`, over `axes`, rounded once.

    op: "sum", or "largest" or "least". Returns None for more than 12 axes.
    """
    kept_shape = tuple(n for i, n in enumerate(whole) if i not in axes)
    count, out = math.prod(whole[i] for i in axes), empty(kept_shape, dtype)
    if not out.size:
        return out
    if not count:
        nothing = empty(kept_shape, F32)
        nothing.fill(NOTHING[op])
        return in_format(nothing, dtype)
    steps = [steps_of(a, whole) for a in arrays]
    axes = tuple(sorted(axes))
    others = tuple(i for i in range(len(whole)) if i not in axes)
    kept, summed = (
        padded(*collapsed([whole[i] for i in part], [[s[i] for i in part] for s in steps]))
        for part in (others, axes)
    )
    if kept is None or summed is None:
        return None
    wide = max(out.size, count) >= FEW
    inner = is_inner(whole, steps[0], axes)
    across = 1 if count >= THREADS else THREADS // _power_above(count)
    across = across if inner else max(32, across)
    while across > 1 and across // 2 >= out.size:
        across //= 2
    length, parts = _divided(count, THREADS // across, -(-out.size // across))
    target = out if parts == 1 else empty((parts, *kept_shape), F32)
    sums = module(formula, "sums.cu", target.dtype, (kept[0], summed[0]), wide, op)
    blocks = min(2**20, -(-out.size // across) * parts)
    sizes = out.size, count, length, np.int32(across), np.int32(inner), *kept[1], *summed[1]
    numbers = scale if parts == 1 else 1.0, *map(float, formula.told(settings))
    sums.launch("sums", blocks, THREADS, *sizes, *arrays, target, *numbers)
    if parts == 1:
        return out
    sums_of_parts: Any = of_call(identity, (target,), {})[0]
    return reduced(sums_of_parts, [target], target.shape, (0,), dtype, {}, scale, op)


def is_inner(shape: tuple, steps: list[int], axes: tuple[int, ...]) -> bool:
    """Whether what is summed lies closer together than what is kept."""
    found = [(abs(s), i) for i, (n, s) in enumerate(zip(shape, steps)) if n > 1 and s]
    return not found or min(found)[1] in axes


def summed_to(
    formulas: Formulas, args: tuple, whole: tuple, shape: tuple, dtype: Any, /, **settings: Any
) -> Any:
    """The formula, whose result is of shape `whole`, summed over the axes along which `shape` was
    stretched, rounded once to `dtype`; None as `run`."""
    formula, arrays = of_call(formulas, args, settings)
    if formula is None or dtype not in FLOATS:
        return None
    if whole == shape:
        return stored(formula, arrays, whole, dtype, None, settings)
    sums = reduced(formula, arrays, whole, stretched(whole, shape), dtype, settings)
    return None if sums is None else sums.reshape(shape)


def _power_above(n):
    """The smallest power of two that is at least n."""
    return 1 << max(0, n - 1).bit_length()


def _divided(count, along, groups):
    """(addends of one part, parts) of a sum that `along` threads take: runs of about RUN."""
    length = along * RUN
    if count <= 2 * length or groups >= 1024 and count <= 32 * length:
        return count, 1
    return length, -(-count // length)


@Formulas
def identity(x: Any) -> Any:
    """x, as a number."""
    return 1.0 * x


def sum_over(x: Any, axes: tuple, dtype: Any, scale: float = 1.0) -> Any:
    """`scale` times the sum of a device array over `axes`, rounded once to `dtype`."""
    return summed(identity, (x,), tuple(axes), dtype, float(scale))


def cast(x: Any, dtype: Any) -> Any:
    """x rounded once to `dtype`, in C order, in a new array. CuPy casts what no kernel reads."""
    dtype = np.dtype(dtype)
    stored = run(identity, (x,), dtype)
    if stored is not None:
        return stored
    if x.dtype in STORED and dtype in FLOATS:  # along more axes than kernels have
        return cast(x.copy(), dtype)
    if dtype in CODED:
        return cast(rounded_to_odd(x), dtype)
    return (cast(x, F32) if x.dtype in CODED else x).astype(dtype)


def rounded_to_odd(x: Any) -> Any:
    """x, integers or float64, in float32: what that cannot hold on the same side of everything that
    a narrower format can be rounded at (Boldo and Melquiond 2008: see cpu/kernels/convert.py)."""
    wide = x.astype(np.float64)
    single = wide.astype(F32)
    bits, back = single.view(np.int32), single.astype(np.float64)
    odd = (bits - np.where(np.abs(back) > np.abs(wide), 1, 0).astype(np.int32)) | np.int32(1)
    return np.where(back == wide, bits, odd).view(F32)


def in_format(x: Any, dtype: Any) -> Any:
    """x itself if it is of `dtype`, or else cast to it."""
    return x if x.dtype == dtype else cast(x, dtype)
