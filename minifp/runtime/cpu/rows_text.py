"""Formulas of rows in LLVM's terms: a pass over the row for the sums that others need, and a last
one that stores. Sums are made of blocks in float32, which are added up in float64.

What is dear and needed again is kept in the thread's workspace. Sums over rows are added up in each
chunk; whoever ends the last chunk adds those of the chunks, in their order.
"""

from collections.abc import Callable
from typing import Any

from minifp.derive.graph import Node
from minifp.derive.rows import Rows
from minifp.runtime.cpu.loops import Code, new_module
from minifp.runtime.cpu.machine import F32, F64, I64
from minifp.runtime.cpu.row_sums import Blocks, combined
from minifp.runtime.cpu.row_totals import Elements, Totals

FEW = 16  # rows whose columns are added up in float32
NAME = "rows"  # of all kernels, so that those of one formula share code


class RowText(Totals):
    """The text of a kernel of rows that lie one behind the other.

    Its parameters: counter, count, scratch, per, rows: chunks, see pool.py; n: numbers of a row;
    parts: sums of chunks; x0, ...: arrays; early0, ...: sums that are known before; y0, ...:
    results; n0, ...: numbers of the call.
    """

    def __init__(self, formula: Rows, outs: tuple[str, ...]) -> None:
        self.formula, self.outs = formula, outs
        self.code = code = Code(new_module(NAME), NAME, {
            **{"counter": "int64", "count": "i64", "scratch": "float32", "per": "i64"},
            **{"rows": "i64", "n": "i64", "parts": "float64"},
            **{f"x{k}": dtype for k, dtype in formula.loads.items()},
            **{f"early{k}": "float32" for k in range(len(formula.early_nodes))},
            **{f"y{k}": dtype for k, dtype in enumerate(outs)},
            **{f"n{k}": "f32" for k in range(len(formula.numbers))},
        })  # fmt: skip
        for name, argument in code.p.items():
            if name[0] == "y" or name in ("scratch", "parts"):
                argument.add_attribute("noalias")
        self.b, self.p = code.b, code.p
        self.columns = [n for n in formula.late if formula.extent[n] == "k"]
        self.totals = [n for n in formula.late if formula.extent[n] == "c"]
        self.once = self._once()

    def text(self) -> str:
        """The module."""
        b, p = self.b, self.p
        self.total_slots = {n: self.code.slot(F64) for n in self.totals}
        with self.code.chunks() as chunk:
            first = b.mul(chunk, p["per"])
            stop = self.code.least(b.add(first, p["per"]), p["rows"])
            self.begin(chunk)
            if self.totals and not self.formula.along:
                self.numbers(first, stop)
            elif self.columns:
                with self.code.loop(first, stop, I64(FEW)) as few:
                    with self.code.loop(few, self.code.least(b.add(few, I64(FEW)), stop)) as r:
                        self.row(r)
                    self.add_columns(chunk)
            else:
                with self.code.loop(first, stop) as r:
                    self.row(r)
            self.end(chunk)
        self.code.finish()
        return self.code.text()

    # ---- what is known ----

    def _once(self):
        """What is known of the call."""
        formula = self.formula
        known = {n: self.p[f"n{k}"] for k, n in enumerate(formula.numbers)}
        for k, n in enumerate(formula.early_nodes):
            known[n] = self.code.load(self.p[f"early{k}"], I64(0), "float32")
        for n in formula.nodes:
            if formula.extent.get(n) == "c" and n not in known and not self._is_late(n):
                Elements(self.code, known, self.reader(known, None, None, None)).value(n)
        return known

    def _is_late(self, node):
        late = {*self.formula.late}
        return node in late or not late.isdisjoint(self.formula.closure(node))

    def load(self, node: Node, i: Any) -> Any:
        """A number of an argument."""
        k, dtype = node.value
        return self.code.load(self.p[f"x{k}"], i, dtype)

    def reader(self, known: dict, r: Any, i: Any, base: Any) -> Callable[[Node], Any]:
        """What reads, at place i of row r, which begins at `base`."""
        b, extent = self.b, self.formula.extent

        def read(node):
            if node.op == "place":
                return b.sitofp(i, F32)
            if node.op == "load":
                places = {"c": lambda: I64(0), "r": lambda: r, "k": lambda: i}
                return self.load(node, places.get(extent[node], lambda: self.at(base, i))())
            table, index = node.args
            j = b.fptosi(Elements(self.code, known, read).value(index), I64)
            j = self.code.least(j, b.sub(self.p["n"], I64(1)))
            j = b.select(b.icmp_signed("<", j, I64(0)), I64(0), j)
            if table.op == "load" and extent[table] != "e":
                return self.load(table, j)
            there = {m: v for m, v in known.items() if extent.get(m) != "e"}
            return Elements(self.code, there, self.reader(there, r, j, base)).value(table)

        return read

    # ---- rows ----

    def row(self, r: Any) -> None:
        """Row r."""
        formula = self.formula
        known, base = dict(self.once), self.b.mul(r, self.p["n"])
        for at in range(1, formula.passes + 1):
            self.know(known, r, base, at)
            self.sums_of_pass(known, r, base, at)
        last = formula.passes + 1
        self.know(known, r, base, last)
        if "e" in formula.forms or self.columns:
            with self.code.loop(I64(0), self.p["n"]) as i:
                here = dict(known)
                for k, (node, form) in enumerate(zip(formula.results, formula.forms)):
                    if form == "e":
                        x = self.element(node, here, r, i, base, last)
                        self.code.store(x, self.p[f"y{k}"], self.at(base, i), self.outs[k])
                for k, node in enumerate(self.columns):
                    x = self.element(node.args[0], here, r, i, base, last)
                    at = self.space(len(formula.kept) + k, i)
                    self.b.store(self.b.fadd(self.b.load(at), x, flags=("contract",)), at)
        self.store_row(known, r)

    def store_row(self, known: dict, r: Any) -> None:
        """Store what is one number for the row, and add it to the sums over rows."""
        elements = Elements(self.code, known, self.reader(known, r, None, None))
        for k, (node, form) in enumerate(zip(self.formula.results, self.formula.forms)):
            if form == "r":
                self.code.store(elements.value(node), self.p[f"y{k}"], r, self.outs[k])
        for node, slot in self.total_slots.items():
            x = self.b.fpext(elements.value(node.args[0]), F64)
            self.b.store(combined(self.b, node.op, self.b.load(slot), x), slot)

    def know(self, known: dict, r: Any, base: Any, at: int) -> None:
        """Compute what is known of a row before pass `at`."""
        for n in self.formula.nodes:
            if (
                self.formula.extent.get(n) == "r"
                and self.formula.level[n] < at
                and not self._is_late(n)
            ):
                Elements(self.code, known, self.reader(known, r, None, base)).value(n)

    def element(self, node: Node, here: dict, r: Any, i: Any, base: Any, at: int) -> Any:
        """The value of a node at place i, in pass `at`; what is kept is read, or written."""
        formula = self.formula
        elements = Elements(self.code, here, self.reader(here, r, i, base))
        for k, m in enumerate(formula.kept):
            if m in formula.elements(node) and m not in here:
                if at > min(formula.uses[m]):
                    here[m] = self.b.load(self.space(k, i))
                else:
                    self.b.store(elements.value(m), self.space(k, i))
        return elements.value(node)

    def at(self, base: Any, i: Any) -> Any:
        """Where number i of a row lies, which begins at `base`."""
        return self.b.add(base, i)

    def space(self, slot: int, i: Any) -> Any:
        """Where a number of a row is kept."""
        return self.b.gep(self.p["scratch"], [self.b.add(self.b.mul(self.p["n"], I64(slot)), i)])

    def sums_of_pass(self, known: dict, r: Any, base: Any, at: int) -> None:
        """Compute the sums that are known after pass `at`."""
        formula = self.formula
        sums = [n for n in formula.sums if formula.extent[n] == "r" and formula.level[n] == at]
        with Blocks(self.code, sums, I64(0), self.p["n"], known) as (i, slots):
            here = dict(known)
            for n in sums:
                x = self.element(n.args[0], here, r, i, base, at)
                slot = slots[n]
                self.b.store(combined(self.b, n.op, self.b.load(slot), x), slot)
