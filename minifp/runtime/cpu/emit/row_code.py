"""What kernels of rows have in common, in LLVM's terms: parameters, reading, and where numbers are.

What is one number for a row has a place: a variable, which LLVM puts into a register, or, of rows
beside each other, a number of a line of the workspace (see beside_text.py).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minifp.derive.arrays import SCANS
from minifp.derive.graph import Node
from minifp.derive.llvm import Emitter
from minifp.derive.rows import Rows
from minifp.runtime.cpu.compile.machine import F32, I64
from minifp.runtime.cpu.emit.loops import Code, new_module, parameters
from minifp.runtime.cpu.emit.row_sums import Accumulators

NAME = "rows"  # of all kernels, so that those of one formula share code


class RowCode(Accumulators):
    """The code of a kernel of rows.

    Its parameters: counter, count, scratch, per, rows: chunks, see pool.py; n: numbers of a row;
    parts: sums of chunks; x0, ...: arrays; early0, ...: sums that are known before; y0, ...:
    results; n0, ...: numbers of the call.
    """

    r: Any  # the row
    base: Any  # where it begins

    def __init__(self, formula: Rows, outs: tuple[str, ...]) -> None:
        self.formula, self.outs = formula, outs
        takes = parameters("counter int64, count i64, scratch float32, per i64, rows i64, n i64")
        takes |= {"parts": "float64"} | {f"x{k}": dtype for k, dtype in formula.loads.items()}
        takes |= {f"early{k}": "float32" for k in range(len(formula.early_nodes))}
        takes |= {f"y{k}": dtype for k, dtype in enumerate(outs)}
        takes |= {f"n{k}": "f32" for k in range(len(formula.numbers))}
        self.code = code = Code(new_module(NAME), NAME, takes)
        for name, argument in code.p.items():
            if name[0] == "y" or name in ("scratch", "parts"):
                argument.add_attribute("noalias")
        self.b, self.p = code.b, code.p
        self.variables: dict = {}
        self.lines, self.sums = lines_of(formula), formula.row_sums
        self.once = self._once()

    def _once(self):
        """What is known of the call."""
        formula = self.formula
        known = {n: self.p[f"n{k}"] for k, n in enumerate(formula.numbers)}
        for k, n in enumerate(formula.early_nodes):
            known[n] = self.code.load(self.p[f"early{k}"], I64(0), "float32")
        late = formula.made_of(formula.late)
        for n in formula.nodes:
            if formula.extent.get(n) == "c" and n not in late:
                self.elements(known).value(n)
        return known

    # ---- places: others, of rows beside each other ----

    @contextmanager
    def each(self) -> Iterator[None]:
        """For each of the rows that are computed together: here one."""
        yield

    def place(self, node: Node, what: str = "value", type: Any = F32) -> Any:
        """Where a number of a node, that a row has one of, is kept."""
        if (node, what) not in self.variables:
            self.variables[node, what] = self.code.slot(type)
        return self.variables[node, what]

    def at(self, i: Any) -> Any:
        """Where number i of the row lies."""
        return self.b.add(self.base, i)

    def space(self, slot: int, i: Any) -> Any:
        """Where number i of the row is kept, of those that all have a slot."""
        return self.b.gep(self.p["scratch"], [self.b.add(self.b.mul(self.p["n"], I64(slot)), i)])

    # ---- reading ----

    def elements(self, known: dict, i: Any = None) -> Emitter:
        """What writes nodes, at place i of the row."""
        b, extent = self.b, self.formula.extent

        def read(node):
            if node.op == "place":
                return b.sitofp(i, F32)
            if node.op == "load":
                places = {"c": lambda: I64(0), "r": lambda: self.r, "k": lambda: i}
                return self.load(node, places.get(extent[node], lambda: self.at(i))())
            if node.op == "inside":
                return here.value(node.args[0])
            if node.op in SCANS:
                self.add(node, here.value(node.args[0]))
                return self.result(node)
            table, index = node.args
            j = b.fptosi(here.value(index), I64)
            j = self.code.least(j, b.sub(self.p["n"], I64(1)))
            j = b.select(b.icmp_signed("<", j, I64(0)), I64(0), j)
            if table.op == "load" and extent[table] != "e":
                return self.load(table, j)
            there = {m: v for m, v in known.items() if extent.get(m) != "e"}
            return self.elements(there, j).value(table)

        here = Emitter(b, known, read=read)
        return here

    def load(self, node: Node, i: Any) -> Any:
        """A number of an argument."""
        k, dtype = node.value
        return self.code.load(self.p[f"x{k}"], i, dtype)

    def known(self, at: int) -> dict[Node, Any]:
        """What is known of the row before pass `at`."""
        lines = [n for n in self.lines if self.formula.level[n] < at]
        return self.once | {n: self.b.load(self.place(n)) for n in lines}

    def element(self, node: Node, here: dict, i: Any, at: int) -> Any:
        """The value of a node at place i, in pass `at`; what is kept is read, or written."""
        formula, elements = self.formula, self.elements(here, i)
        for k, m in enumerate(formula.kept):
            if m in formula.elements(node) and m not in here:
                if at > min(formula.uses[m]):
                    here[m] = self.b.load(self.space(k, i))
                else:
                    self.b.store(elements.value(m), self.space(k, i))
        return elements.value(node)

    def store(self, form: str, value: Callable[[Node], Any], i: Any) -> None:
        """Store the results of an extent, at a place."""
        for k, (node, of) in enumerate(zip(self.formula.results, self.formula.forms)):
            if of == form:
                self.code.store(value(node), self.p[f"y{k}"], i, self.outs[k])


def lines_of(formula: Rows) -> list[Node]:
    """What is one number for a row, and computed once for it: sums, and what elements need."""
    sums = formula.row_sums
    used = {a for n in formula.nodes if formula.extent.get(n) == "e" for a in n.args}
    return [
        n
        for n in formula.nodes
        if n in sums or n in used and formula.extent.get(n) == "r" and n.type == "f" and n.args
    ]
