"""Graphs in CUDA C++: a row for each operation."""

import math
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from minifp.derive.graph import Node, in_order
from minifp.derive.trace import Formula

ROWS = {
    **{"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}"},
    **{"abs": "fabsf({})", "sqrt": "sqrtf({})", "floor": "floorf({})", "ceil": "ceilf({})"},
    **{"trunc": "truncf({})", "rint": "rintf({})", "pow": "powf({}, {})"},
    "fmod": "fmodf({}, {})",
    "max": "{0} >= {1} || {0} != {0} ? {0} : {1}",  # NaN if one is
    "min": "{0} <= {1} || {0} != {0} ? {0} : {1}",
    **{"lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}"},
    **{"eq": "{} == {}", "ne": "{} != {}", "ine": "{} != {}", "select": "{} ? {} : {}"},
    **{"and": "{} && {}", "or": "{} || {}", "not": "!{}"},
    **{"bits": "__float_as_int({})", "float": "__int_as_float({})", "tofloat": "(float){}"},
    **{"iadd": "{} + {}", "isub": "{} - {}", "iand": "{} & {}", "ior": "{} | {}"},
    **{"shl": "(int)((unsigned){} << {})", "ashr": "{} >> {}"},
}
TYPES = {"f": "float", "b": "bool", "i": "int"}


def number(x: float) -> str:
    """A float32 number."""
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "(-INFINITY)"
    return f"({float(x)!r}f)"


def function_text(formula: Formula, name: str) -> str:
    """The formula as a device function of floats: name(x0, ..., p0, ...), of what it reads, in the
    order of `loads`, and of its numbers."""
    lines, names = statements(formula)
    (result,) = formula.results
    head = f"__device__ inline float {name}({parameters(formula)}) {{"
    return "\n".join([head, *lines, f"  return {names[result]};", "}\n"])


def results_text(formula: Formula, name: str) -> str:
    """The same of several results, which it writes: name(x0, ..., p0, ..., float *results)."""
    lines, names = statements(formula)
    lines += [f"  results[{k}] = {names[node]};" for k, node in enumerate(formula.results)]
    head = f"__device__ inline void {name}({parameters(formula)}, float *results) {{"
    return "\n".join([head, *lines, "}\n"])


def parameters(formula: Formula) -> str:
    """Those of its function."""
    names = [f"x{k}" for k in range(len(formula.loads))]
    names += [f"p{k}" for k in range(len(formula.numbers))]
    return ", ".join(f"float {name}" for name in names)


def statements(formula: Formula) -> tuple[list[str], dict[Node, str]]:
    """The lines that compute its nodes, and what each is called."""
    places = [*formula.loads]

    def read(node):
        x = f"x{places.index(node.value[0])}"
        return f"{x} != 0.0f" if node.type == "b" else x

    writer = Writer({n: f"p{k}" for k, n in enumerate(formula.numbers)}, read)
    for node in formula.nodes:
        if node.extent != "h":
            writer.value(node)
    return writer.lines, writer.names


class Writer:
    """Writes nodes as lines, each where it is first asked for.

    names: what those are called that are there. read: the text of what is no operation. new: gives
    names.
    """

    def __init__(
        self, names: dict[Node, str], read: Callable[[Node], str], new: Iterator[int] | None = None
    ) -> None:
        self.names, self.read, self.new = names, read, new or count()
        self.lines: list[str] = []

    def value(self, node: Node) -> str:
        """What a node is called, which is computed if it is not there."""
        if node not in self.names:
            self.names[node] = self._written(node)
        return self.names[node]

    def _written(self, node):
        if node.op in ("const", "int"):
            return number(node.value) if node.op == "const" else f"({node.value})"
        if node.op == "call":
            text = f"{node.value}({self.value(node.args[0])})"
        elif node.op in ROWS:
            text = ROWS[node.op].format(*map(self.value, node.args))
        else:
            text = self.read(node)
        name = f"t{next(self.new)}"
        self.lines.append(f"  const {TYPES[node.type]} {name} = {text};")
        return name


# ---- numbers of the host ------------------------------------------------------------------------

IN_DOUBLE = ROWS | {
    **{"abs": "fabs({})", "sqrt": "sqrt({})", "pow": "pow({}, {})"},
    **{"max": "fmax({}, {})", "min": "fmin({}, {})"},
}


def host_statements(
    nodes: list[Node], setting: Callable[[tuple[Any, ...]], str]
) -> tuple[list[str], dict[Node, str]]:
    """The lines that compute nodes of the host on the device, in double, and what each is called.

    setting: what a setting is called, by its name and its place in a tuple.
    """
    names: dict[Node, str] = {}
    lines: list[str] = []
    for node in in_order(nodes):
        if node.op in ("python", "setting"):
            names[node] = repr(float(node.value)) if node.op == "python" else setting(node.value)
        else:
            names[node] = f"h{len(lines)}"
            text = IN_DOUBLE[node.op].format(*[names[a] for a in node.args])
            lines.append(f"  const double {names[node]} = {text};")
    return lines, names
