"""Updates on the CPU: a formula of weights, gradients and states, in place, in one pass.

The loop goes over weights in the order in which they lie, and reads each gradient where it lies.
"""

from typing import Any

from minifp.derive.dtypes import name_of
from minifp.derive.graph import Node
from minifp.derive.llvm import emitter_of
from minifp.derive.trace import Formula
from minifp.runtime.cpu.compile.machine import I64, kernel_of
from minifp.runtime.cpu.emit.formats_ir import BYTES, FORMATS
from minifp.runtime.cpu.emit.loops import CHUNKED, Code, new_module
from minifp.runtime.cpu.emit.random_ir import stochastic_code, word_of
from minifp.runtime.cpu.kernels.scattered import parts_of

GRADIENT = 1  # its place among a rule's arguments, of which the others are its results in order
DRAW = ("k0", "k1", "step", "first")  # what random numbers are drawn from
NAME = "update"  # of all kernels, so that those of one formula share code


def target_of(k: int) -> int:
    """The result that takes the place of argument k."""
    return k if k < GRADIENT else k - 1


def update_text(
    formula: Formula,
    dtypes: dict[int, str],
    copy: str | None,
    is_compensated: bool = False,
    stochastic: Any = None,
) -> str:
    """LLVM's text of a kernel, NAME. dtypes: of the arrays that there are, by the result that each
    is to have. copy: of what the first result is also rounded into. is_compensated: whether what
    rounding leaves over of it is kept and added at the next update. stochastic: the Format to which
    it is rounded by chance, None to the nearest. See optim/narrow_weights.py.

    Its parameters: counter, count, scratch, length, total: chunks, see pool.py; starts, addresses:
    of gradients, see scattered.py; y0, ...: weights and states; copy; rest: what compensates; n0,
    ...: numbers of the call; k0, k1, step, first: of random numbers.
    """
    arrays = {f"y{k}": dtype for k, dtype in dtypes.items()}
    if copy:
        arrays["copy"] = copy
    if is_compensated:
        arrays["rest"] = dtypes[0]
    numbers = {f"n{k}": "f32" for k in range(len(formula.numbers))}
    draw = dict.fromkeys(DRAW, "i64") if stochastic else {}
    takes = {**CHUNKED, "starts": "int64", "addresses": "int64", **arrays, **numbers, **draw}
    code = Code(new_module(NAME), NAME, takes)
    for y in arrays:
        code.function.args[[*code.p].index(y)].add_attribute("noalias")
    with code.chunks() as chunk:
        start = code.b.mul(chunk, code.p["length"])
        stop = code.least(code.b.add(start, code.p["length"]), code.p["total"])
        for g, i, first, n in parts_of(code, formula.loads[GRADIENT], start, stop):
            with code.loop(I64(0), n) as j:
                _element(code, formula, g, code.b.add(i, j), code.b.add(first, j), stochastic)
    code.finish()
    return code.text()


def _element(code, formula, g, i, j, stochastic):
    """Update element i, whose gradient is element j of g."""
    known: dict[Node, Any] = {}
    for node in formula.nodes:
        if node.op == "load":
            k, dtype = node.value
            x = (g, j) if k == GRADIENT else (code.p[f"y{target_of(k)}"], i)
            known[node] = code.load(*x, dtype)
            if k == 0 and "rest" in code.p:
                known[node] = code.b.fadd(known[node], code.load(code.p["rest"], i, dtype))
        elif node.op == "enter":
            known[node] = code.p[f"n{formula.numbers.index(node)}"]
    emitter = emitter_of(formula, code.b, known)
    values = {f"y{k}": emitter.value(node) for k, node in enumerate(formula.results)}
    values["copy"] = values["y0"]
    if stochastic:
        _store_by_chance(code, values.pop("y0"), i, stochastic)
    elif "rest" in code.p:
        _, upcast, downcast = FORMATS[code.dtypes["y0"]]
        w = upcast(code.b, downcast(code.b, values["y0"]))
        values["rest"] = code.b.fsub(values["y0"], w)
    for name in [name for name in values if name in code.p]:
        code.store(values[name], code.p[name], i, code.dtypes[name])


def _store_by_chance(code, x, i, format):
    """Write a weight, rounded up or down by its own random word."""
    p, form = code.p, FORMATS[code.dtypes["y0"]][0]
    word = word_of(code.b, code.b.add(p["first"], i), p["step"], (p["k0"], p["k1"]))
    stored = code.b.store(stochastic_code(code.b, x, word, format), code.b.gep(p["y0"], [i]))
    stored.align = BYTES[form]


def kernel_for(
    formula: Formula, arrays: list, copy: Any, is_compensated: bool, stochastic: Any
) -> Any:
    """The kernel of a formula, for weights and states (None for one that there is not); the rest as
    `update_text` has it."""
    dtypes = {k: name_of(a.dtype) for k, a in enumerate(arrays) if a is not None}
    copied = None if copy is None else name_of(copy.dtype)
    text = update_text(formula, dtypes, copied, is_compensated, stochastic)
    return kernel_of(NAME, text, formula.name)
