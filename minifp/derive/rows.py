"""References that reduce along axes become formulas of rows: what is computed how often, and when.

The axes of a call are in two groups: those along which rows lie, and those along which the numbers
of a row do. A node's extent says which of them it has:

    "c"  none: one number for the call        "r"  one for each row
    "k"  one for each place in a row          "e"  one for each element

and "t" is an array from which elements are taken,
and its level in which pass over a row it is known: one more than what its sums are made of. Sums
over rows, of "r" or of "e", are added up beside and known when all rows are done; where rows need
them (the weight of all rows, in a mean), they are a formula of their own, which is computed first.
"""

from functools import cached_property

from minifp.derive.arrays import REDUCTIONS, SCANS, Array, ArrayTrace
from minifp.derive.axes import found
from minifp.derive.graph import Graph, Node, in_order
from minifp.derive.symbol import Untraceable
from minifp.derive.trace import Formula

DEAR = 12  # operations that are worth a place in memory


class Rows(Formula):
    """What one kernel computes, row by row, of a tracing.

    rows: whether it is one of rows, or else element by element. axes: of the call, in order; along:
    those of a row. arguments: of each array its axes. shapes: the axes of each result, None for
    size 1. forms: the extent of what is stored of each. extent, level: of each node. early: the
    formula of what must be known before, or None: of early_nodes.
    """

    def __init__(self, name: str, trace: ArrayTrace, results: list[Array], several: bool) -> None:
        nodes = [trace.graph.enter(r.node) for r in results]
        super().__init__(name, nodes, several, trace.guards, [])
        self.axes_of = trace.arguments
        self.shapes = [r.axes for r in results]
        self.arguments = {
            k: tuple(map(found, axes)) for k, axes in trace.arguments.items() if k in self.loads
        }
        self.sums = [n for n in self.nodes if n.op in REDUCTIONS]
        self.scans = [n for n in self.nodes if n.op in SCANS]
        self.rows = self._find_axes() if self.sums else self._find_rows()
        if self.rows:
            self._divide()
            early = [Array(trace, n, ()) for n in self.early_nodes]
            self.early = Rows(name, trace, early, True) if early else None

    # ---- axes ----

    @cached_property
    def spans(self) -> dict[Node, frozenset]:
        """The axes of each node."""
        spans: dict[Node, frozenset] = {}
        for n in self.nodes:
            if n.op == "load":
                spans[n] = frozenset(self.arguments[n.value[0]]) - {None}
            elif n.op in REDUCTIONS:
                spans[n] = _set(n.value[1])
            elif n.op == "place":
                spans[n] = _set((n.value,))
            else:
                operands = n.args[1:] if n.op == "take" else n.args
                spans[n] = frozenset().union(*[spans[a] for a in operands])
        return spans

    def _find_axes(self):
        """Those of the call, and those of a row: of the sums that others need."""
        domains = [_set(n.value[0] + n.value[1]) for n in self.sums]
        whole = self._find_whole(domains)
        gone = {_set(n.value[0]) for n, domain in zip(self.sums, domains) if domain == whole}
        if gone == {whole} and self._ends_in_sums():
            gone = {frozenset()}  # rows of one number
        gone = {_set(n.value[:1]) for n in self.scans} or gone
        gone = gone or {whole - domain for domain in domains}
        self.along = max(gone, key=lambda g: [a in g for a in reversed(self.axes)])
        return True

    def _find_whole(self, domains):
        """All axes of the call, of which sums, results, and what is taken from have some."""
        tables = [self.spans[n.args[0]] for n in self.nodes if n.op == "take"]
        tables = [t for t in tables if len(t) > 1]
        whole = max([*map(_set, self.shapes), *domains, *tables], key=len)
        ordered = [n.value[0] + n.value[1] for n in self.sums] + [*self.arguments.values()]
        ordered = next((t for t in [*ordered[::-1], *self.shapes] if _set(t) == whole), ())
        self.axes = tuple([a for a in map(found, ordered) if a is not None])
        if not all(part <= whole for part in [*map(_set, self.shapes), *domains]):
            raise Untraceable("its sums and its results have different axes")
        return whole

    def _find_rows(self):
        """The same where nothing is summed: rows are what one number is for, if any is."""
        whole = self._find_whole([])
        places = [n.value for n in self.nodes if n.op in ("take", "place")]
        places += [n.value[0] for n in self.scans]
        several = {frozenset(own) - {None} for own in self.arguments.values()} - {frozenset()}
        several = {s for s in several if s < whole}
        self.along = _set(places) & whole
        if not places and len(several) == 1:
            self.along = whole - several.pop()
        return bool(places or self.along)

    def _ends_in_sums(self):
        """Whether nothing that has axes is made of a sum."""
        of_sums = {
            n for n in self.nodes if any(a in self.sums for a in in_order([n]) if a is not n)
        }
        is_inner = any(self.spans[n] or n.op in REDUCTIONS for n in of_sums)
        products = [n for n in self.sums if n.op == "product"]
        return not (is_inner or products or any(map(_set, self.shapes)))

    # ---- extents and levels ----

    def _divide(self):
        self.extent: dict[Node, str] = {}
        self.level: dict[Node, int] = {}
        for n in self.nodes:
            if n.extent != "h":
                self.extent[n] = self._reduction(n) if n.op in REDUCTIONS else self._extent(n)
                below = max([self.level[a] for a in n.args if a in self.level], default=0)
                is_sum = n.op in REDUCTIONS and self.extent[n] == "r"
                self.level[n] = below + (is_sum or n.op in SCANS)
        self.passes = max(self.level.values())
        over_rows = [n for n in self.sums if self.extent[n] in "kc"]
        rest = [m for m in self.nodes if self.extent.get(m) in ("r", "e", "k")]
        rest = [m for m in rest if m not in over_rows]
        self.early_nodes = [
            n for n in over_rows if self.extent[n] == "c" and not self.made_of([n]).isdisjoint(rest)
        ]
        self.late = [n for n in over_rows if n not in self.early_nodes]
        self.forms = [self._form(axes) for axes in self.shapes]
        self.has_elements = self.passes > 0 or "e" in self.forms  # or one of them for each row

    def _form(self, axes):
        """The extent of what is stored of a result."""
        own, across = _set(axes), frozenset(self.axes) - self.along
        if own == frozenset(self.axes):
            return "e" if self.along else "r"
        forms = {self.along: "k", frozenset(): "c", across: "r"}
        if own not in forms:
            raise Untraceable("its result has some axes of its sums")
        return forms[own]

    def _extent(self, n):
        span = self.spans[n]
        if n.op == "load" and not span <= set(self.axes):
            return "t"
        along, across = bool(span & self.along), bool(span - self.along)
        is_element = along and (across or self.along == set(self.axes))
        if n.op == "take" and not {*in_order(n.args[:1])}.isdisjoint(self.scans):
            raise Untraceable("it takes elements of running sums")
        if n.op in SCANS and not (is_element and _set(n.value[:1]) == self.along):
            raise Untraceable("it adds up along different axes")
        if is_element:
            return "e"
        below = {self.extent[a] for a in n.args if a in self.extent}  # "e": of what is taken
        return "k" if along else "r" if across or below & {"r", "e"} else "c"

    def _reduction(self, n):
        gone, left = map(_set, n.value)
        if gone == self.along and gone | left == set(self.axes):
            return "r"
        if gone == set(self.axes) - self.along and n.op == "sum":
            return "k" if left else "c"
        if gone == set(self.axes) - self.along and not left and n.op != "product":
            return "c"
        raise Untraceable("it reduces along different axes")

    def made_of(self, nodes: list[Node]) -> set[Node]:
        """These nodes, and all that need one of them."""
        above = {*nodes}
        for n in self.nodes:
            if not above.isdisjoint(n.args):
                above.add(n)
        return above

    def sizes(self, shapes: dict) -> dict:
        """How long each axis of a call is, of the shapes of its arguments."""
        pairs = [p for k, s in shapes.items() for p in zip(self.axes_of.get(k, ()), s)]
        return {found(a): n for a, n in pairs if found(a) is not None}

    # ---- as formulas of their own ----

    def part(self, node: Node, known: dict[Node, int]) -> Formula:
        """A node element by element, where those of `known` are read, as further arguments."""
        graph, made = Graph(), {}
        for n in in_order([node]):
            if n in known:
                made[n] = graph.node("load", (), n.type, "e", (known[n], "float32"))
            elif n.extent == "h" or n.op == "enter":
                made[n] = n
            else:
                args = tuple([made[a] for a in n.args])
                made[n] = graph.node(n.op, args, n.type, n.extent, n.value)
        return Formula(self.name, [made[node]], False, self.guards, [])

    def lines_in(self, node: Node) -> list[Node]:
        """What a node is made of that a row has one number of, which is made of sums along it."""
        lines: dict[Node, None] = {}
        of_sums = self.made_of(self.row_sums)

        def visit(n):
            if n in of_sums and self.extent[n] == "r" and n.type == "f":
                lines[n] = None
            elif n in of_sums:
                for a in n.args:
                    visit(a)

        visit(node)
        return [*lines]

    @cached_property
    def loaded(self) -> dict[int, str]:
        """The extent of each argument that is read."""
        return {n.value[0]: self.extent[n] for n in self.nodes if n.op == "load"}

    @cached_property
    def row_sums(self) -> list[Node]:
        """The sums along a row."""
        return [n for n in self.sums if self.extent[n] == "r"]

    # ---- what is kept from pass to pass ----

    @cached_property
    def uses(self) -> dict[Node, set[int]]:
        """In which passes each element is computed; the last one stores."""
        last = self.passes + 1
        wanted = [(n.args[0], self.level[n]) for n in self.row_sums]
        wanted += [(n, last) for n, form in zip(self.results, self.forms) if form == "e"]
        wanted += [(n.args[0], last) for n in self.late] + [(n, self.level[n]) for n in self.scans]
        uses: dict[Node, set[int]] = {}
        for n, at in wanted:
            for m in self.elements(n):
                uses.setdefault(m, set()).add(at)
        return uses

    def elements(self, node: Node) -> list[Node]:
        """What is computed for each element, of an element."""
        found: dict[Node, None] = {}

        def visit(n):
            if n not in found and self.extent.get(n) == "e" and n.op not in ("load", "place"):
                for a in n.args:
                    visit(a)
                found[n] = None

        visit(node)
        return [*found]

    @cached_property
    def kept(self) -> list[Node]:
        """Running sums; and elements that are dear, and needed in later passes again."""
        uses = self.uses
        dear = [m for m in uses if len(uses[m]) > 1 and len(self.elements(m)) >= DEAR]
        dear = [m for m in dear if m not in self.scans]
        return self.scans + [
            m
            for m in dear
            if not any(m in self.elements(u) and uses[m] <= uses[u] for u in dear if u is not m)
        ]


def _set(axes):
    """The axes that stand for these."""
    return frozenset([a for a in map(found, axes) if a is not None])
