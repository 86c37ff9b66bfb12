"""The graph of a formula: nodes, each made once, of what is computed for one element.

A node has a type: "f" a float32 number, "b" a truth value, "i" an integer of 32 bits; and an
extent, which says how often it is computed:

    "h"  once, on the host, in Python's own float64: of a call's settings alone
    "c"  once for a call: a constant, or a number of the host as it enters, rounded to float32
    "e"  for each element

Beside the operations of OPERATIONS there is what is read, by its `value`:

    const, int, python   a number that is known when the graph is made
    setting              a setting of the call, by its name and its place in a tuple: of the host
    enter                a number of the host, rounded to float32
    load                 the element of an argument, by its place among them and its dtype
    call                 a function of C's library, by its name
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

# What each operation computes, in NumPy's terms. llvm.py and cuda.py have a row for each.
OPERATIONS: dict[str, Any] = {
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide},
    **{"neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "pow": np.power},
    **{"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint},
    "fmod": np.fmod,
    **{"max": np.maximum, "min": np.minimum, "select": np.where},
    **{"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal},
    **{"eq": np.equal, "ne": np.not_equal},
    **{"and": np.logical_and, "or": np.logical_or, "not": np.logical_not},
    # Of bits: a float32's, as an integer, and back; and whole numbers.
    **{"bits": lambda x: x.view(np.int32), "float": lambda i: i.view(np.float32)},
    **{"tofloat": np.float32, "iadd": np.add, "isub": np.subtract, "iand": np.bitwise_and},
    **{"ior": np.bitwise_or, "shl": np.left_shift, "ashr": np.right_shift, "ine": np.not_equal},
}
TRUTHS = {"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "ine"}
INTEGERS = {"bits", "iadd", "isub", "iand", "ior", "shl", "ashr"}
ARITHMETIC = {"add", "sub", "mul", "div", "neg", "sqrt"}  # of constants: done when they are met
MOST, DEEPEST = 4000, 200  # operations of a graph, and those that wait for one another
EXTENTS = "hce"  # an operation has the last of its operands'


class Untraceable(BaseException):
    """Why a reference is no graph, in one line. It passes what references catch: `except Exception`
    would have them go on with what they do of no array."""


@dataclass(eq=False, slots=True)
class Node:
    """One number of a formula. depth: operations up to this one, each of which needs the last."""

    op: str
    args: tuple["Node", ...]
    type: str
    extent: str
    value: Any = None
    depth: int = 0


class Graph:
    """Nodes, each of which is made once."""

    def __init__(self) -> None:
        self.nodes: dict = {}

    def node(self, op: str, args: tuple, type: str, extent: str, value: Any = None) -> Node:
        """The node with these properties. Raises Untraceable if they become too many."""
        key = (op, *map(id, args), type, extent, value)
        if key not in self.nodes:
            depth = 1 + max([a.depth for a in args], default=0)
            if depth > DEEPEST or len(self.nodes) >= MOST:
                raise Untraceable(f"more than {MOST} operations, or {DEEPEST} one after the other")
            self.nodes[key] = Node(op, args, type, extent, value, depth)
        return self.nodes[key]

    def make(self, op: str, *args: Node) -> Node:
        """The node of an operation: perhaps a simpler one that computes the same number."""
        extent = extent_of(args)
        if extent != "h":
            args = tuple([self.enter(a) for a in args])
            simpler = self._simpler(op, args)
            if simpler is not None:
                return simpler
        type = "b" if op in TRUTHS else "i" if op in INTEGERS else "f"
        return self.node(op, args, args[-1].type if op == "select" else type, extent)

    def _simpler(self, op, args):
        known = [float(a.value) if a.op == "const" else None for a in args]
        if op in ARITHMETIC and None not in known:
            with np.errstate(all="ignore"):
                return self.const(OPERATIONS[op](*map(np.float32, known)))
        if op == "mul" and 1.0 in known:  # 1 x is x, whatever it is; x + 0 is not, where x is -0
            return args[1 - known.index(1.0)]
        if op == "div" and known[1] and math.frexp(known[1])[0] in (0.5, -0.5):
            inverse = np.float32(1) / np.float32(known[1])  # exact: of a power of two
            return self.make("mul", args[0], self.const(inverse)) if np.isfinite(inverse) else None
        return None

    def const(self, x: Any) -> Node:
        """A float32 number, rounded to it as NumPy rounds Python's."""
        with np.errstate(all="ignore"):
            x = float(np.float32(x))
        return self.node("const", (), "f", "c", Exactly(x))

    def integer(self, x: int) -> Node:
        """An integer of 32 bits."""
        return self.node("int", (), "i", "c", int(x))

    def python(self, x: Any) -> Node:
        """A Python number among the host's."""
        return self.node("python", (), "f", "h", Exactly(x))

    def enter(self, node: Node) -> Node:
        """A number of the host as it enters arithmetic with arrays; any other as it is."""
        if node.extent != "h":
            return node
        return (
            self.const(node.value) if node.op == "python" else self.node("enter", (node,), "f", "c")
        )


def extent_of(operands: Iterable[Node]) -> str:
    """The extent of what is computed of these."""
    return max((a.extent for a in operands), key=EXTENTS.index)


class Exactly(float):
    """A float that is another than -0 if it is 0, and the same as NaN if it is NaN: as a key."""

    def __eq__(self, other):
        return type(other) is Exactly and self.hex() == other.hex()

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.hex())


def in_order(nodes: Iterable[Node]) -> list[Node]:
    """What nodes are made of, and they, each behind its operands."""
    found: dict[Node, None] = {}

    def visit(node):
        if node not in found:
            for a in node.args:
                visit(a)
            found[node] = None

    for node in nodes:
        visit(node)
    return [*found]
