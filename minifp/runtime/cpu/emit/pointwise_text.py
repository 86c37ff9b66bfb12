"""Formulas of one element as LLVM's text: one pass, whatever is broadcast, one rounding.

A kernel is made of a formula (see minifp/derive) for the formats of its results and the form of
each array that it reads, which is a letter:

- a: it has the shape of the result, and is contiguous: read in place;
- n: it is one number for all elements;
- g: anything else: BLOCK numbers of it at a time, in C order of the result, are first widened into
  a workspace that stays in the cache (see gather.py).
"""

from typing import Any

from llvmlite import ir

from minifp.derive.graph import Node
from minifp.derive.llvm import emitter_of
from minifp.derive.trace import Formula
from minifp.runtime.cpu.compile.machine import F32, I64
from minifp.runtime.cpu.emit.gather import BLOCK, add_gather
from minifp.runtime.cpu.emit.loops import CHUNKED, Code, new_module

NAME = "formula"  # of all kernels, so that those of one formula share code, whatever it is called


def kernel_text(formula: Formula, forms: str, outs: tuple[str, ...]) -> str:
    """LLVM's text of a kernel, NAME. outs: the dtypes of the results.

    Its parameters: counter, count, scratch, length, total: chunks, see pool.py; places, see
    gather.py; x0, ...: the arrays; y0, ...: the results; n0, ...: numbers of the call.
    """
    arrays = {f"x{k}": dtype for k, dtype in enumerate(formula.loads.values())}
    results = {f"y{k}": dtype for k, dtype in enumerate(outs)}
    module = new_module(NAME)
    read = {x: "f32" if form == "n" else arrays[x] for x, form in zip(arrays, forms)}
    numbers = {f"n{k}": "f32" for k in range(len(formula.numbers))}
    code = Code(module, NAME, {**CHUNKED, "places": "int64", **read, **results, **numbers})
    for y in results:
        code.function.args[[*code.p].index(y)].add_attribute("noalias")
    gathered = {dtype for dtype, form in zip(arrays.values(), forms) if form == "g"}
    gathers = {dtype: add_gather(module, dtype) for dtype in sorted(gathered)}
    with code.chunks() as chunk:
        start = code.b.mul(chunk, code.p["length"])
        stop = code.least(code.b.add(start, code.p["length"]), code.p["total"])
        if not gathers:
            with code.loop(start, stop) as i:
                _element(code, formula, forms, results, i, i)
        else:
            with code.loop(start, stop, I64(BLOCK)) as first:
                n = code.least(code.b.sub(stop, first), I64(BLOCK))
                for k, (x, form) in enumerate(zip(arrays, forms)):
                    if form == "g":
                        gathers[arrays[x]](code, k, code.p[x], first, n)
                with code.loop(I64(0), n) as j:
                    _element(code, formula, forms, results, code.b.add(first, j), j)
    code.finish()
    return code.text()


def _element(code, formula, forms, results, i, j):
    """Compute and store element i, which is j of a block."""
    known: dict[Node, Any] = {}
    for node in formula.nodes:
        if node.op == "load":
            k = [*formula.loads].index(node.value[0])
            known[node] = _loaded(code, k, node, forms[k], i, j)
        elif node.op == "enter":
            known[node] = code.p[f"n{formula.numbers.index(node)}"]
    emitter = emitter_of(formula, code.b, known)
    values = [emitter.value(node) for node in formula.results]
    for (y, dtype), value in zip(results.items(), values):
        code.store(value, code.p[y], i, dtype)


def _loaded(code, k, node, form, i, j):
    x = code.p[f"x{k}"]
    if form == "a":
        return code.load(x, i, node.value[1])
    if form == "g":
        x = code.load(code.p["scratch"], code.b.add(I64(k * BLOCK), j), "float32")
    return code.b.fcmp_unordered("!=", x, ir.Constant(F32, 0)) if node.type == "b" else x
