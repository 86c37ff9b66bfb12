"""Sums over rows in LLVM's terms: of each chunk, and of all of them, in their order.

Totals are of one number for each row; columns of one for each place in it. Whoever ends the last
chunk adds up those of all.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir

from minifp.derive.graph import Node
from minifp.derive.llvm import Emitter
from minifp.derive.rows import Rows
from minifp.runtime.cpu.loops import Code
from minifp.runtime.cpu.machine import F32, F64, I64
from minifp.runtime.cpu.row_sums import IDENTITY, Blocks, combined


class Elements(Emitter):
    """Writes nodes; `read` gives what is read of arrays, and sums that are known."""

    def __init__(self, code: Code, known: dict[Node, Any], read: Callable[..., Any]) -> None:
        super().__init__(code.b, known)
        self.read = read

    def _new(self, node):
        return self.read(node) if node.op in ("load", "take", "place") else super()._new(node)


class Totals:
    """What kernels of rows do with sums over them; RowText has the rest."""

    formula: Rows
    code: Code
    b: Any
    p: dict[str, Any]
    outs: tuple[str, ...]
    once: dict[Node, Any]
    columns: list[Node]
    totals: list[Node]
    total_slots: dict[Node, Any]
    know: Callable[..., None]
    space: Callable[..., Any]
    reader: Callable[..., Any]

    def numbers(self, first: Any, stop: Any) -> None:
        """Rows of one number: nothing but sums of them."""
        sums: dict = {}
        with Blocks(self.code, self.totals, first, stop, sums, in_double=True) as (r, slots):
            known = dict(self.once)
            self.know(known, r, None, 1)
            for n in self.totals:
                x = known[n.args[0]]
                self.b.store(combined(self.b, n.op, self.b.load(slots[n]), x), slots[n])
        for n, slot in self.total_slots.items():
            self.b.store(sums[n], slot)

    def part(self, chunk: Any, k: int, i: Any = None) -> Any:
        """Where a chunk's sum lies: total k, or column i of those of k."""
        b, n, many = self.b, self.p["n"], I64(len(self.totals))
        length = b.add(many, b.mul(n, I64(len(self.columns))))
        at = b.mul(chunk, length)
        if i is None:
            return b.gep(self.p["parts"], [b.add(at, I64(k))])
        return b.gep(self.p["parts"], [b.add(b.add(at, many), b.add(b.mul(n, I64(k)), i))])

    def begin(self, chunk: Any) -> None:
        """All sums over rows are 0."""
        for n, slot in self.total_slots.items():
            self.b.store(ir.Constant(F64, IDENTITY[n.op]), slot)
        if self.columns:
            with self.code.loop(I64(0), self.p["n"]) as i:
                for k in range(len(self.columns)):
                    self.b.store(ir.Constant(F64, 0.0), self.part(chunk, k, i))
                    self.b.store(ir.Constant(F32, 0.0), self.space(len(self.formula.kept) + k, i))

    def add_columns(self, chunk: Any) -> None:
        """Add the columns of a few rows to those of the chunk."""
        b = self.b
        for k in range(len(self.columns)):
            with self.code.loop(I64(0), self.p["n"]) as i:
                few, total = self.space(len(self.formula.kept) + k, i), self.part(chunk, k, i)
                b.store(b.fadd(b.load(total), b.fpext(b.load(few), F64)), total)
                b.store(ir.Constant(F32, 0.0), few)

    def end(self, chunk: Any) -> None:
        """Put the chunk's sums where they are added up, if it is the last to end."""
        b, count = self.b, self.p["count"]
        if not self.formula.late and "c" not in self.formula.forms:
            return
        for k, slot in enumerate(self.total_slots.values()):
            b.store(b.load(slot), self.part(chunk, k))
        ended = b.gep(self.p["counter"], [I64(1)])
        before = b.atomic_rmw("add", ended, I64(1), "seq_cst")
        with b.if_then(b.icmp_signed("==", before, b.sub(count, I64(1)))):
            known = dict(self.once)
            for k, n in enumerate(self.totals):
                known[n] = self.in_all(n, partial(self.part, k=k))
            self.store_results("c", known, I64(0))
            if "k" in self.formula.forms:
                with self.code.loop(I64(0), self.p["n"]) as i:
                    here = dict(known)
                    for k, n in enumerate(self.columns):
                        here[n] = self.in_all(n, partial(self.part, k=k, i=i))
                    self.store_results("k", here, i)

    def in_all(self, node: Node, part: Callable[[Any], Any]) -> Any:
        """The chunks' sums, added up."""
        b, slot = self.b, self.code.slot(F64)
        b.store(ir.Constant(F64, IDENTITY[node.op]), slot)
        with self.code.loop(I64(0), self.p["count"]) as chunk:
            b.store(combined(b, node.op, b.load(slot), b.load(part(chunk))), slot)
        return b.fptrunc(b.load(slot), F32)

    def store_results(self, form: str, known: dict, i: Any) -> None:
        """Store the results of an extent."""
        for k, (node, of) in enumerate(zip(self.formula.results, self.formula.forms)):
            if of == form:
                x = Elements(self.code, known, self.reader(known, I64(0), i, I64(0))).value(node)
                self.code.store(x, self.p[f"y{k}"], i, self.outs[k])
