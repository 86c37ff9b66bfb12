"""Formulas of rows in LLVM's terms: a pass over the row for the sums that others need, and a last
one that stores. Sums are made of blocks in float32, which are added up in float64.

What is dear and needed again is kept in the thread's workspace. Sums over rows are added up in each
chunk; whoever ends the last chunk adds those of the chunks, in their order.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir

from minifp.derive.graph import Node
from minifp.derive.llvm import ROWS as OPERATIONS
from minifp.derive.llvm import Emitter
from minifp.derive.rows import Rows
from minifp.runtime.cpu.loops import Code, new_module
from minifp.runtime.cpu.machine import F32, F64, I64

BLOCK = 512  # numbers that are added up in float32
FEW = 16  # rows whose columns are added up in float32
NAME = "rows"  # of all kernels, so that those of one formula share code
IDENTITY = {"sum": 0.0, "largest": float("-inf"), "least": float("inf")}
FLAGS = ("reassoc", "contract")  # sums in any order: as many beside each other as a vector holds


def combined(b: ir.IRBuilder, op: str, x: Any, y: Any) -> Any:
    """A reduction of two numbers."""
    if op == "sum":
        return b.fadd(x, y, flags=FLAGS if x.type == F32 else ())
    if x.type == F32:
        return OPERATIONS["max" if op == "largest" else "min"](b, x, y)
    of_two = b.select(b.fcmp_unordered(">" if op == "largest" else "<", x, y), x, y)
    return b.select(b.fcmp_unordered("uno", y, y), y, of_two)  # NaN if one is


class Elements(Emitter):
    """Writes nodes; `read` gives what is read of arrays, and sums that are known."""

    def __init__(self, code: Code, known: dict[Node, Any], read: Callable[..., Any]) -> None:
        super().__init__(code.b, known)
        self.read = read

    def _new(self, node):
        return self.read(node) if node.op in ("load", "take", "place") else super()._new(node)


class RowText:
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

    # ---- sums over rows ----

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


class Blocks:
    """A loop that reduces: in float32 slots, whose sums, of a block each, are added in float64."""

    def __init__(self, code: Code, sums: list, start: Any, stop: Any, known: dict,
                 in_double: bool = False) -> None:  # fmt: skip
        self.code, self.b, self.sums = code, code.b, sums
        self.start, self.stop, self.known, self.in_double = start, stop, known, in_double

    def __enter__(self):
        b, code = self.b, self.code
        self.slots = {n: code.slot(F32) for n in self.sums}
        self.totals = {n: code.slot(F64) for n in self.sums if n.op == "sum"}
        for n in self.sums:
            b.store(ir.Constant(F32, IDENTITY[n.op]), self.slots[n])
        for slot in self.totals.values():
            b.store(ir.Constant(F64, 0.0), slot)
        self.outer = code.loop(self.start, self.stop, I64(BLOCK))
        first = self.outer.__enter__()
        for n in self.totals:
            b.store(ir.Constant(F32, 0.0), self.slots[n])
        self.inner = code.loop(first, code.least(b.add(first, I64(BLOCK)), self.stop))
        return self.inner.__enter__(), self.slots

    def __exit__(self, *error):
        b = self.b
        self.inner.__exit__(*error)
        for n, total in self.totals.items():
            x = b.fpext(b.load(self.slots[n]), F64)
            b.store(b.fadd(b.load(total), x), total)
        self.outer.__exit__(*error)
        for n in self.sums:
            if n in self.totals:
                x = b.load(self.totals[n])
                self.known[n] = x if self.in_double else b.fptrunc(x, F32)
            else:
                x = b.load(self.slots[n])
                self.known[n] = b.fpext(x, F64) if self.in_double else x
