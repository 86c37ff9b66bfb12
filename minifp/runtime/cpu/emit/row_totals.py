"""Sums over rows in LLVM's terms: of each chunk, and of all of them, in their order.

Totals are of one number for each row; columns of one for each place in it. Whoever ends the last
chunk adds up those of all.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir

from minifp.derive.graph import Node
from minifp.derive.rows import Rows
from minifp.runtime.cpu.compile.machine import F32, F64, I64
from minifp.runtime.cpu.emit.row_code import RowCode

FEW = 16  # rows whose columns are added up in float32


class Totals(RowCode):
    """What kernels of rows do with sums over them."""

    def __init__(self, formula: Rows, outs: tuple[str, ...]) -> None:
        super().__init__(formula, outs)
        self.columns = [n for n in formula.late if formula.extent[n] == "k"]
        self.totals = [n for n in formula.late if formula.extent[n] == "c"]

    def part(self, chunk: Any, k: int, i: Any = None) -> Any:
        """Where a chunk's sum lies: total k, or column i of those of k."""
        b, n, many = self.b, self.p["n"], I64(len(self.totals))
        at = b.mul(chunk, b.add(many, b.mul(n, I64(len(self.columns)))))
        more = I64(k) if i is None else b.add(many, b.add(b.mul(n, I64(k)), i))
        return b.gep(self.p["parts"], [b.add(at, more)])

    def begin(self, chunk: Any) -> None:
        """All sums over rows are 0."""
        self.start(self.totals)
        if self.columns:
            with self.code.loop(I64(0), self.p["n"]) as i:
                for k in range(len(self.columns)):
                    self.b.store(ir.Constant(F64, 0.0), self.part(chunk, k, i))
                    self.b.store(ir.Constant(F32, 0.0), self.column(k, i))

    def column(self, k: int, i: Any) -> Any:
        """Where number i of a column of a few rows is added up."""
        return self.space(len(self.formula.kept) + k, i)

    def add_columns(self, chunk: Any) -> None:
        """Add the columns of a few rows to those of the chunk."""
        b = self.b
        for k in range(len(self.columns)):
            with self.code.loop(I64(0), self.p["n"]) as i:
                few, total = self.column(k, i), self.part(chunk, k, i)
                b.store(b.fadd(b.load(total), b.fpext(b.load(few), F64)), total)
                b.store(ir.Constant(F32, 0.0), few)

    def end(self, chunk: Any) -> None:
        """Put the chunk's sums where they are added up, if it is the last to end."""
        b, count = self.b, self.p["count"]
        if not self.formula.late and "c" not in self.formula.forms:
            return
        for k, n in enumerate(self.totals):
            b.store(self.as_type(b.load(self.total(n)), F64), self.part(chunk, k))
        ended = b.gep(self.p["counter"], [I64(1)])
        before = b.atomic_rmw("add", ended, I64(1), "seq_cst")
        with b.if_then(b.icmp_signed("==", before, b.sub(count, I64(1)))):
            known = dict(self.once)
            for k, n in enumerate(self.totals):
                known[n] = self.in_all(n, partial(self.part, k=k))
            self.store("c", self.elements(known).value, I64(0))
            if "k" in self.formula.forms:
                with self.code.loop(I64(0), self.p["n"]) as i:
                    here = dict(known)
                    for k, n in enumerate(self.columns):
                        here[n] = self.in_all(n, partial(self.part, k=k, i=i))
                    self.store("k", self.elements(here, i).value, i)

    def in_all(self, node: Node, part: Callable[[Any], Any]) -> Any:
        """The chunks' sums, added up."""
        self.start([node])
        with self.code.loop(I64(0), self.p["count"]) as chunk:
            self.join(node, self.b.load(part(chunk)))
        return self.result(node)
