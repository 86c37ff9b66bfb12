"""Formulas of rows that lie beside each other, their numbers `step` apart, in LLVM's terms.

A chunk is `width` neighbouring rows: they lie beside each other in memory, and so in vectors. What
is one number for a row is kept in a line of the workspace, one number for each of them.
"""

from typing import Any

from llvmlite import ir

from minifp.derive.graph import Node
from minifp.runtime.cpu.machine import F32, F64, I64
from minifp.runtime.cpu.row_sums import IDENTITY, combined
from minifp.runtime.cpu.row_totals import Elements
from minifp.runtime.cpu.rows_text import FEW, RowText

LINES = 3  # of the workspace, for each sum: its part in float32, and itself in float64


class BesideText(RowText):
    """The text of such a kernel. Its parameters are those of rows, but per is the width of a chunk
    and rows the step."""

    def text(self) -> str:
        """The module."""
        b, p, formula = self.b, self.p, self.formula
        self.total_slots = {n: self.code.slot(F64) for n in self.totals}
        self.sums = [n for n in formula.sums if formula.extent[n] == "r"]
        self.lines = lines_of(formula)
        with self.code.chunks() as chunk:
            across = b.sdiv(b.add(p["rows"], b.sub(p["per"], I64(1))), p["per"])
            first = b.sdiv(chunk, across)
            lane = b.mul(b.srem(chunk, across), p["per"])
            self.width = self.code.least(p["per"], b.sub(p["rows"], lane))
            self.row0 = b.add(b.mul(first, p["rows"]), lane)
            self.base = b.add(b.mul(b.mul(first, p["n"]), p["rows"]), lane)
            self.begin(chunk)
            for at in range(1, formula.passes + 2):
                self.know_lines(at)
                if at <= formula.passes:
                    self.sums_of_lines(at)
            self.store_elements()
            with self.code.loop(I64(0), self.width) as j:
                known = self.known_of(j, formula.passes + 1)
                self.know(known, b.add(self.row0, j), self.base, formula.passes + 1)
                self.store_row(known, b.add(self.row0, j))
            self.end(chunk)
        self.code.finish()
        return self.code.text()

    # ---- the workspace ----

    def at(self, base: Any, i: Any) -> Any:
        """Where number i of the lane's row lies."""
        b = self.b
        return b.add(b.add(base, b.mul(i, self.p["rows"])), self.lane)

    def line(self, k: int, j: Any, type: Any = F32) -> Any:
        """Number j of line k; of the two from there on, where it is wider."""
        b = self.b
        even = b.and_(b.add(self.p["per"], I64(1)), I64(-2))
        start = b.gep(self.p["scratch"], [b.mul(even, I64(k))])
        return b.gep(b.bitcast(start, type.as_pointer()), [j])

    def space(self, slot: int, i: Any) -> Any:
        """Where a number of the lane's row is kept."""
        b, n, width = self.b, self.p["n"], self.p["per"]
        first = len(self.lines) + LINES * len(self.sums)
        place = b.add(b.mul(b.add(b.mul(n, I64(slot)), i), width), self.lane)
        return b.gep(self.line(first, I64(0)), [place])

    def known_of(self, j: Any, at: int) -> dict:
        """What is known of row j before pass `at`."""
        self.lane, known = j, dict(self.once)
        for k, n in enumerate(self.lines):
            if self.formula.level[n] < at:
                known[n] = self.b.load(self.line(k, j))
        return known

    # ---- passes ----

    def know_lines(self, at: int) -> None:
        """Compute the lines that are known before pass `at`, and not earlier."""
        formula = self.formula
        new = [n for n in self.lines if formula.level[n] == at - 1 and n not in self.sums]
        if new:
            with self.code.lanes(self.width) as j:
                known = self.known_of(j, at - 1)
                for n in self.lines:
                    if n in self.sums and formula.level[n] == at - 1:
                        known[n] = self.b.load(self.line(self.lines.index(n), j))
                row = self.b.add(self.row0, j)
                for n in new:
                    read = self.reader(known, row, None, self.base)
                    x = Elements(self.code, known, read).value(n)
                    self.b.store(x, self.line(self.lines.index(n), j))

    def sums_of_lines(self, at: int) -> None:
        """Compute the sums that are known after pass `at`."""
        b, code = self.b, self.code
        sums = [n for n in self.sums if self.formula.level[n] == at]
        with code.lanes(self.width) as j:
            for n in sums:
                b.store(ir.Constant(F32, IDENTITY[n.op]), self.part_of(n, j))
                if n.op == "sum":
                    b.store(ir.Constant(F64, 0.0), self.total_of(n, j))
        with code.loop(I64(0), self.p["n"], I64(FEW)) as first:
            last = code.least(b.add(first, I64(FEW)), self.p["n"])
            with code.loop(first, last) as i, code.lanes(self.width) as j:
                here, row = self.known_of(j, at), b.add(self.row0, j)
                for n in sums:
                    x = self.element(n.args[0], here, row, i, self.base, at)
                    part = self.part_of(n, j)
                    b.store(combined(b, n.op, b.load(part), x), part)
            with code.lanes(self.width) as j:
                for n in sums:
                    if n.op == "sum":
                        self.add_part(n, j)
        with code.lanes(self.width) as j:
            for n in sums:
                is_sum = n.op == "sum"
                x = b.load(self.total_of(n, j) if is_sum else self.part_of(n, j))
                x = b.fptrunc(x, F32) if is_sum else x
                b.store(x, self.line(self.lines.index(n), j))

    def part_of(self, node: Node, j: Any) -> Any:
        """The part of a sum that is added up in float32."""
        return self.line(len(self.lines) + LINES * self.sums.index(node), j)

    def total_of(self, node: Node, j: Any) -> Any:
        """A sum."""
        return self.line(len(self.lines) + LINES * self.sums.index(node) + 1, j, F64)

    def add_part(self, node: Node, j: Any) -> None:
        """Add the part to the sum."""
        b, part, total = self.b, self.part_of(node, j), self.total_of(node, j)
        b.store(b.fadd(b.load(total), b.fpext(b.load(part), F64)), total)
        b.store(ir.Constant(F32, 0.0), part)

    def store_elements(self) -> None:
        """The last pass."""
        formula, last = self.formula, self.formula.passes + 1
        if "e" not in formula.forms:
            return
        with self.code.loop(I64(0), self.p["n"]) as i, self.code.lanes(self.width) as j:
            here, row = self.known_of(j, last), self.b.add(self.row0, j)
            for k, (node, form) in enumerate(zip(formula.results, formula.forms)):
                if form == "e":
                    x = self.element(node, here, row, i, self.base, last)
                    self.code.store(x, self.p[f"y{k}"], self.at(self.base, i), self.outs[k])


def lines_of(formula: Any) -> list[Node]:
    """What is one number for a row, and computed once for it: sums, and what elements need."""
    sums = [n for n in formula.sums if formula.extent[n] == "r"]
    used = {a for n in formula.nodes if formula.extent.get(n) == "e" for a in n.args}
    return [
        n for n in formula.nodes
        if n in sums or n in used and formula.extent[n] == "r" and n.type == "f" and n.args
        and n not in formula.early_nodes
    ]  # fmt: skip


def workspace_of(formula: Any, n: int, width: int) -> int:
    """How many float32 numbers a kernel needs."""
    sums = [s for s in formula.sums if formula.extent[s] == "r"]
    lines = len(lines_of(formula)) + LINES * len(sums)
    return lines * (width + 1) + len(formula.kept) * n * width + 2
