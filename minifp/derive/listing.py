"""Graphs as people read them: a line for each number that is computed, and what is stored how.

A line is a pair of texts: what is computed, `t1 = exp(-x)`, and what happens to formats there, ""
where nothing does: between reading and writing all numbers are float32.
"""

from collections import Counter
from typing import TypeAlias

import numpy as np

from minifp.derive.arrays import REDUCTIONS, SCANS
from minifp.derive.graph import OPERATIONS, Node
from minifp.derive.trace import Formula

Line: TypeAlias = tuple[str, str]
INFIX = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "iadd": "+", "isub": "-"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "ine": "!="},
    **{"and": "and", "or": "or", "iand": "&", "ior": "|", "shl": "<<", "ashr": ">>"},
}
PREFIX = {"neg": "-", "not": "not "}
SHORT = 24  # characters of what is written where it is used, if that is at one place


def number(x: float) -> str:
    """A float32 number, as short as it can be."""
    return str(np.float32(x)).removesuffix(".0")


def text_of(node: Node, operands: list[str], brackets: list[str]) -> str:
    """What a node computes, of its operands' texts; brackets: the same, as infix takes them."""
    if node.op in INFIX:
        return f" {INFIX[node.op]} ".join(brackets)
    if node.op in PREFIX:
        return PREFIX[node.op] + brackets[0]
    if node.op in ("const", "python"):
        return number(node.value)
    if node.op == "int":
        return str(node.value)
    if node.op == "setting":
        name, *places = node.value
        return name + "".join(f"[{i}]" for i in places)
    if node.op in SCANS and node.value[1]:
        operands = [*operands, "reverse=True"]
    name = node.value if node.op == "call" else getattr(OPERATIONS.get(node.op), "__name__", "")
    return f"{node.op if name in ('', '<lambda>') else name}({', '.join(operands)})"


def host_text(node: Node, arguments: list[str]) -> str:
    """What is computed of a call's settings, and of the arguments' sizes, in Python's numbers."""
    if node.op == "size":
        k, axis = node.value
        return f"{k if k == 'shape' else arguments[k] + '.shape'}[{axis}]"
    texts = [host_text(a, arguments) for a in node.args]
    return text_of(node, texts, [f"({t})" if " " in t else t for t in texts])


class Listing:
    """The lines of a formula. arguments: the names of all; stored: the format of each result."""

    def __init__(self, formula: Formula, arguments: list[str], stored: list[str]) -> None:
        self.formula, self.arguments = formula, arguments
        self.uses = Counter(a for node in formula.nodes for a in node.args)
        self.names: dict[Node, str] = {}
        self.inlined: set[Node] = set()  # what is in brackets within another operation
        self.reads: list[Line] = []
        self.steps: list[Line] = []
        for node in formula.nodes:
            if node.extent != "h":
                self._add(node)
        results = ["result"] if len(stored) == 1 else [f"result{k}" for k in range(len(stored))]
        for name, node, dtype in zip(results, formula.results, stored):
            self.steps.append((f"{name} = {self.names[node]}", _writing(node, dtype)))

    def lines(self) -> list[Line]:
        """What is read, what is told, and then what is computed and stored."""
        return [*sorted(self.reads, key=lambda line: line[1] == TOLD), *self.steps]

    def _add(self, node):
        if node.op == "load":
            k, dtype = node.value
            self.names[node] = self.arguments[k]
            self.reads.append((self.arguments[k], f"read as {dtype}{READING.get(dtype, '')}"))
        elif node.op == "enter":
            self.names[node] = host_text(node.args[0], self.arguments)
            if " " in self.names[node]:
                self.inlined.add(node)
            self.reads.append((self.names[node], TOLD))
        else:
            self._compute(node)

    def _compute(self, node):
        texts = [self.names[a] for a in node.args]
        infix = [f"({t})" if a in self.inlined else t for a, t in zip(node.args, texts)]
        text = text_of(node, texts, infix)
        is_whole = node in self.formula.results and not self.uses[node]
        is_short = self.uses[node] == 1 and len(text) <= SHORT and node.op not in REDUCTIONS
        if node.op in ("const", "int") or is_whole or is_short:
            self.names[node] = text
            if node.op in INFIX or node.op in PREFIX or text.startswith("-"):
                self.inlined.add(node)
            return
        self.names[node] = f"t{len(self.steps) + 1}"
        extent = getattr(self.formula, "extent", {}).get(node, node.extent)
        self.steps.append((f"{self.names[node]} = {text}", EXTENTS.get(extent, "")))


READING = {"float16": ", and widened to float32, which is exact", "bool": ": 0 or 1"}
TOLD = "a number that each call tells, rounded to float32 once"
EXTENTS = {"c": "once a call", "r": "once a row", "k": "once for each place in a row"}


def _writing(node, dtype):
    if node.type == "b":
        return "stored as bool"
    return f"stored as {dtype}" + ("" if dtype == "float32" else ": rounded, for the only time")


def guards_of(formula: Formula, arguments: list[str]) -> list[str]:
    """What the reference asked of settings, with the answers: other answers, another graph."""
    return [f"{host_text(node, arguments)} is {answer}" for node, answer in formula.guards.items()]
