"""Formulas of rows that lie beside each other, their numbers `step` apart, in LLVM's terms.

A chunk is `width` neighbouring rows: they lie beside each other in memory, and so in vectors. What
is one number for a row is kept in a line of the workspace, one number for each of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minifp.derive.graph import Node
from minifp.derive.rows import Rows
from minifp.runtime.cpu.compile.machine import F32, I64
from minifp.runtime.cpu.emit.row_code import lines_of
from minifp.runtime.cpu.emit.row_totals import FEW
from minifp.runtime.cpu.emit.rows_text import RowText

# Lines of the workspace for what is added up, and where in them: a float64 takes two.
LINES, WHERE = 5, {"part": 0, "total": 1, "exponent": 3}


class BesideText(RowText):
    """The text of such a kernel. Its parameters are those of rows, but per is the width of a chunk
    and rows the step."""

    block = FEW

    def chunk(self, chunk: Any) -> None:
        """The rows of a chunk."""
        b, p = self.b, self.p
        self.added = added_up(self.formula)
        across = b.sdiv(b.add(p["rows"], b.sub(p["per"], I64(1))), p["per"])
        first, lane = b.sdiv(chunk, across), b.mul(b.srem(chunk, across), p["per"])
        self.width = self.code.least(p["per"], b.sub(p["rows"], lane))
        self.row0 = b.add(b.mul(first, p["rows"]), lane)
        self.base0 = b.add(b.mul(b.mul(first, p["n"]), p["rows"]), lane)
        self.row()

    @contextmanager
    def each(self) -> Iterator[None]:
        """For each of the rows."""
        with self.code.lanes(self.width) as self.lane:
            self.r = self.b.add(self.row0, self.lane)
            yield

    def at(self, i: Any) -> Any:
        """Where number i of the lane's row lies."""
        return self.b.add(self.b.add(self.base0, self.b.mul(i, self.p["rows"])), self.lane)

    def place(self, node: Node, what: str = "value", type: Any = F32) -> Any:
        """See RowCode: a number of a line."""
        if what == "value":
            return self.line(self.lines.index(node), self.lane)
        if node in self.totals:
            return super().place(node, what, type)
        k = len(self.lines) + LINES * self.added.index(node) + WHERE[what]
        return self.line(k, self.lane, type)

    def line(self, k: int, j: Any, type: Any = F32) -> Any:
        """Number j of line k; of the two from there on, where it is wider."""
        b = self.b
        even = b.and_(b.add(self.p["per"], I64(1)), I64(-2))
        start = b.gep(self.p["scratch"], [b.mul(even, I64(k))])
        return b.gep(b.bitcast(start, type.as_pointer()), [j])

    def space(self, slot: int, i: Any) -> Any:
        """Where number i of the lane's row is kept."""
        b, place = self.b, self.b.add(self.b.mul(self.p["n"], I64(slot)), i)
        first = len(self.lines) + LINES * len(self.added)
        return self.line(first, b.add(b.mul(place, self.p["per"]), self.lane))


def added_up(formula: Rows) -> list[Node]:
    """What is added up along a row."""
    return [*formula.row_sums, *formula.scans]


def workspace_of(formula: Rows, n: int, width: int) -> int:
    """How many float32 numbers a kernel needs."""
    lines = len(lines_of(formula)) + LINES * len(added_up(formula))
    return lines * (width + 1) + len(formula.kept) * n * width + 2
