"""Formulas of rows in CUDA C++: the body of the kernel in rows.cu.

What is one number for a row is computed by each of its threads; of an element, by the thread that
takes it: in a pass over the row for the sums of each level, and in a last one that stores.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from minifp.derive.axes import found
from minifp.derive.cuda import Writer
from minifp.derive.graph import Node
from minifp.derive.rows import Rows
from minifp.runtime.cuda.pointwise import places_of, template
from minifp.runtime.cuda.source import type_of

LOOP = "#pragma unroll", "for (int k = 0; k < CHUNK; k++) {"
PLACED = {"take", "place", "inside"}  # what has to do with a place in a row


class Layout(NamedTuple):
    """How a kernel reads: for calls that are alike in this, it is one.

    axes: of rows, and of the numbers of one, that an index has. group: of threads that share a row.
    is_along: whether its numbers lie side by side. chunks: of a row, that a thread holds, or 0.
    is_packed: whether chunks are read at once. is_wide: whether 32 bits cannot count the elements.
    """

    axes: tuple[int, int]
    group: int
    is_along: bool
    chunks: int
    is_packed: bool
    is_wide: bool


class Result(NamedTuple):
    """What a kernel stores. form: "e" for each element, "r" for each row; axes: see Rows."""

    name: str
    node: Node
    form: str
    axes: tuple
    dtype: Any


class RowText:
    """The text of the kernel of a formula. results: what it stores; layout: how it reads."""

    def __init__(self, formula: Rows, results: tuple[Result, ...], layout: Layout) -> None:
        self.formula, self.results, self.layout = formula, results, layout
        self.new, self.body = count(), list[str]()
        self.arrays = {k: f"x{j}" for j, k in enumerate(formula.loads)}
        self.read: dict[int, None] = {}  # of which arguments elements were read
        names = {n: f"p{k}" for k, n in enumerate(formula.numbers)}
        names |= {n: f"load(z{k}, 0)" for k, n in enumerate(formula.early_nodes)}
        self.row = Writer(names, self.of_row, self.new)
        self.own = [f"k{a}" for a in range(layout.axes[0])]
        self.along = [f"r{a}" for a in range(layout.axes[1])]
        self.held = layout.chunks > 0
        self.tables = tables_of(formula)
        self.at = "c * CHUNK + k" if self.held else "k"
        self.kept = formula.kept if self.held else []

    def text(self) -> str:
        """All of it."""
        names = [*self.arrays.values(), *[r.name for r in self.results]]
        self.write_body()
        formula, early = self.formula, self.formula.early_nodes
        types = {f"X{j}": d for j, d in enumerate(formula.loads.values())}
        types |= {r.name.upper(): r.dtype for r in self.results}
        axes = self.own + self.along
        sizes = [f", size n_{a}" + "".join(f", size s{x}_{a}" for x in names) for a in axes]
        sizes += [f", size m{k}, size u{k}" for k in self.tables]
        arrays = [f", const {x.upper()} *{x}" for x in self.arrays.values()]
        arrays += [f", const float *z{k}" for k in range(len(early))]
        parts = {
            "SIZES": "".join(sizes),
            "ARRAYS": "".join(arrays),
            "RESULTS": "".join(f", {r.name.upper()} *{r.name}" for r in self.results),
            "NUMBERS": "".join(f", float p{k}" for k in range(len(formula.numbers))),
            "KEPT": places_of(names, self.own, "base", "0"),
            "BODY": "\n    ".join(self.body),
        }
        text = template("rows.cu")
        for name, part in parts.items():
            text = text.replace("$" + name, part)
        lines = [f"typedef {type_of(d)} {name};" for name, d in types.items()]
        lines += [f"typedef {'size' if self.layout.is_wide else 'unsigned'} INDEX;"]
        lines += [f"#define PACKED {int(self.layout.is_packed)}"]
        lines += [f"#define GROUP {self.layout.group}"]
        lines += [f"#define STEP {1 if self.layout.is_along else 2}"]
        return "\n".join([*lines, text])

    # ---- what is read ----

    def of_row(self, node: Node) -> str:
        """A number that a row has one of."""
        if node.op == "load":
            return self.loaded(node, f"base{self.arrays[node.value[0]]}")
        return self.placed(self.row, node)

    def loaded(self, node: Node, at: str) -> str:
        """An argument's number at a place in memory."""
        text = f"load({self.arrays[node.value[0]]}, {at})"
        return f"{text} != 0.0f" if node.type == "b" else text

    def placed(self, writer: Writer, node: Node) -> str:
        """What is taken from a place, or is there if a place is one of the row's."""
        x, index = node.args[0], writer.value(node.args[1])
        table = x.value[0] if x.op == "load" and self.formula.extent[x] == "t" else None
        j, n = f"j{next(self.new)}", "n" if table is None else f"m{table}"
        writer.lines.append(f"  const bool is_{j} = {index} >= 0.0f && {index} < (float){n};")
        if node.op == "inside":
            return f"is_{j} ? {writer.value(x)} : NAN"
        writer.lines.append(f"  const size {j} = is_{j} ? (size){index} : 0;")
        if table is not None:
            array = self.arrays[table]
            value = self.loaded(x, f"base{array} + {j} * u{table}")
            return f"is_{j} ? {value} : {'NAN' if node.type == 'f' else 'false'}"
        self.know([x])

        def there(m):
            if m.op == "place":
                return f"(float){j}"
            if m.op != "load":
                return self.placed(inner, m)
            array = self.arrays[m.value[0]]
            return self.loaded(m, f"base{array} + {j} * s{array}_r0")

        inner = Writer(dict(self.row.names), there, self.new)
        value = inner.value(x)
        writer.lines += inner.lines
        return f"is_{j} ? {value} : NAN" if node.type == "f" else value

    def of_element(self, writer: Writer, node: Node) -> str:
        """A number of element e."""
        if node.op == "place":
            return "(float)e"
        if node.op != "load":
            return self.placed(writer, node)
        self.read[node.value[0]] = None
        at = self.at if self.is_held(node.value[0]) else "k"
        text = f"load({self.holds(node.value[0])}, {at})"
        return f"{text} != 0.0f" if node.type == "b" else text

    # ---- passes ----

    def write_body(self) -> None:
        """Hold the row, sum in each pass, store in the last."""
        formula, last = self.formula, self.formula.passes + 1
        if self.held:
            size = self.layout.chunks * 8
            loads = [k for k, extent in formula.loaded.items() if extent == "e"]
            self.body += [f"X{self.arrays[k][1:]} {self.holds(k)}[{size}] = {{}};" for k in loads]
            self.body += [f"float g{i}[{size}];" for i in range(len(self.kept))]
            self.loop(self.fetched(loads))
        for at in range(1, last):
            self.sum([n for n in formula.row_sums if formula.level[n] == at], at)
        of_rows, elements = (
            [(r.name, r.node) for r in self.results if r.form == form] for form in "re"
        )
        if elements:
            self.store(elements, last)
        stored = [f"  store({y}, base{y}, {self.row.value(node)});" for y, node in of_rows]
        self.flush()
        self.body += ["if (r.lane == 0 && r.is_in) {", *stored, "}"] if of_rows else []

    def sum(self, sums: list[Node], at: int) -> None:
        """The sums of a pass."""
        names = {n: f"v{next(self.new)}" for n in sums}
        ops = {n: n.op.upper() for n in sums}
        self.know([n.args[0] for n in sums])
        self.body += [f"float a{v} = nothing<{ops[n]}>();" for n, v in names.items()]

        def use(writer):
            values = {n: writer.value(n.args[0]) for n in sums}
            text = "{}[k] = e < r.n ? {} : nothing<{}>();".format
            return [text(names[n], x, ops[n]) for n, x in values.items()]

        lines = self.elements([n.args[0] for n in sums], at, use)
        before = [f"float {v}[CHUNK];" for v in names.values()]
        joined = "a{0} = joined<{1}>(a{0}, chunk_joined<{1}>({0}));".format
        after = [joined(v, ops[n]) for n, v in names.items()]
        self.loop([*before, *lines, *after])
        for n, v in names.items():
            self.body.append(f"const float l{v} = row_joined<{ops[n]}>(r, a{v});")
            self.row.names[n] = f"l{v}"

    def store(self, results: list[tuple[str, Node]], at: int) -> None:
        """The last pass, which stores."""
        self.know([node for _, node in results])
        names, packed = [name for name, _ in results], self.layout.is_packed

        def use(writer):
            values = {y: writer.value(node) for y, node in results}
            if packed:
                return [f"store(o{y}.v, k, {x});" for y, x in values.items()]
            puts = " ".join(f"store({y}, at{y}, {x});" for y, x in values.items())
            return ["if (e < r.n) {", self.place(names), puts, "}"]

        lines = self.elements([node for _, node in results], at, use)
        if packed:
            lines = [f"Pack<{y.upper()}, CHUNK> o{y};" for y in names] + lines
            puts = [f"store_pack<{y.upper()}, CHUNK>({y}, base{y} + first, o{y});" for y in names]
            lines += ["size first = element<true>(r, c, 0);", "if (first < r.n) {", *puts, "}"]
        self.loop(lines)

    def place(self, names: list[str]) -> str:
        """Code that finds where element e is in each array."""
        return f"INDEX rest = (INDEX)e; {places_of(names, self.along, 'at', 'base')}"

    def elements(self, nodes: list[Node], at: int, use: Callable[[Writer], list[str]]) -> list[str]:
        """Code for each element of chunk c that computes nodes, and uses them."""
        writer = Writer(dict(self.row.names), lambda node: self.of_element(writer, node), self.new)
        met = {m for node in nodes for m in self.formula.elements(node)}
        kept = {m: f"g{i}[{self.at}]" for i, m in enumerate(self.kept) if m in met}
        first = {m for m in kept if at == min(self.formula.uses[m])}
        writer.names |= {m: place for m, place in kept.items() if m not in first}
        self.read.clear()
        for m in first:
            writer.lines.append(f"  {kept[m]} = {writer.value(m)};")
        used = use(writer)
        fresh = [k for k in self.read if not self.is_held(k)]
        head = [f"X{self.arrays[k][1:]} {self.holds(k)}[CHUNK] = {{}};" for k in fresh]
        lines = [*head, *self.fetched(fresh, "0"), *LOOP, "  size e = element<PACKED>(r, c, k);"]
        return [*lines, *writer.lines, *[f"  {line}" for line in used], "}"]

    def is_held(self, k: int) -> bool:
        """Whether a thread holds all it takes of an argument."""
        return self.held and self.formula.loaded[k] == "e"

    def holds(self, k: int) -> str:
        """What holds numbers of an argument."""
        return f"h{self.arrays[k][1:]}"

    def fetched(self, loads: list[int], start: str = "c * CHUNK") -> list[str]:
        """Code that reads chunk c of arguments."""
        if not loads:
            return []
        if self.layout.is_packed:
            reads = [
                f"  read_chunk({x} + base{x} + element<true>(r, c, 0), h{x[1:]} + {start});"
                for x in (self.arrays[k] for k in loads)
            ]
            return ["if (element<true>(r, c, 0) < r.n) {", *reads, "}"]
        names = [self.arrays[k] for k in loads]
        reads = [f"h{x[1:]}[{start} + k] = {x}[at{x}];" for x in names]
        body = [f"    {line}" for line in (self.place(names), *reads)]
        return [*LOOP, "  size e = element<false>(r, c, k);", "  if (e < r.n) {", *body, "  }", "}"]

    def loop(self, lines: list[str]) -> None:
        """Code for each chunk c of the row."""
        self.flush()
        if self.held:
            head = ["#pragma unroll", f"for (int c = 0; c < {self.layout.chunks}; c++) {{"]
        else:
            head = ["for (size c = 0; c < chunks(r); c++) {"]
        self.body += [*head, *[f"  {line}" for line in lines], "}"]

    def know(self, nodes: list[Node]) -> None:
        """Compute what these need that a row has one of."""
        formula, seen = self.formula, set[Node]()

        def visit(n):
            if n in seen or n in self.row.names or n.extent == "h":
                return
            seen.add(n)
            if formula.extent[n] in ("r", "c"):
                self.row.value(n)
            else:
                for a in n.args:
                    visit(a)

        for node in nodes:
            visit(node)

    def flush(self) -> None:
        """Put what was computed of the row where the text stands."""
        self.body += [line.strip() for line in self.row.lines]
        self.row.lines.clear()


def tables_of(formula: Rows) -> dict[int, Any]:
    """The arguments of which elements are taken along an axis that rows have not, and this axis."""
    tables = {n.args[0]: found(n.value) for n in formula.nodes if n.op == "take"}
    return {n.value[0]: axis for n, axis in tables.items() if formula.extent[n] == "t"}
