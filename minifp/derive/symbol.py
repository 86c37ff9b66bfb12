"""What a reference computes with while it is traced: a Symbol stands for an array, or a setting.

Symbols answer to Python's operators and to NumPy's functions; each answer is a symbol of a further
node. What they cannot answer, because it depends on numbers that are not known yet, or because no
operation of graph.py computes it, raises Untraceable, with the reason.

A setting's symbol also knows the value of the call that is traced. A branch on it (`if alpha == 1`)
is taken as that value says, and what was asked is remembered: the graph is for calls whose settings
give the same answers (`Trace.guards`, in trace.py).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from minifp.derive.graph import Node, Untraceable, extent_of
from minifp.derive.host import HOST


class Whole:
    """The shape of what is computed for each element: all are alike, and none is known."""

    def __getattr__(self, name: str) -> Any:
        raise Untraceable("it reads a shape")

    __iter__ = __len__ = __getitem__ = lambda self, *_: self.__getattr__("")
    __hash__ = None  # type: ignore

    def __eq__(self, other: Any) -> bool:
        return other is self or self.__getattr__("")


WHOLE = Whole()


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """A node, of one trace, under the name that the reference has for it.

    A function that writes into an array (`y *= x`) gives its symbol another node.
    """

    axes: Any = None  # see arrays.py

    def __init__(self, trace: Any, node: Node, value: Any = None) -> None:
        self.trace, self.node, self.value = trace, node, value

    # ---- making further ones ----

    def lift(self, x: Any) -> Node:
        """The node of an operand."""
        if isinstance(x, Symbol):
            return x.node
        if isinstance(x, np.ndarray) and x.ndim == 0:
            x = x.item()
        if isinstance(x, (np.bool_, bool, int, float, np.integer, np.floating)):
            graph, kind = self.trace.graph, type(x)
            if kind is np.int32:
                return graph.integer(int(x))
            return graph.python(x)
        raise Untraceable(f"it computes with a {type(x).__name__}")

    def of(self, op: str, *operands: Any) -> "Symbol":
        """The symbol of an operation on numbers: a truth value among them is 0 or 1."""
        nodes = [self.lift(x) for x in operands]
        if any(n.extent != "h" for n in nodes):
            if op in OF_TRUTHS and all(n.type == "b" and n.extent != "h" for n in nodes):
                return self.logical(OF_TRUTHS[op], *operands)
            nodes = [self._as_number(n) for n in nodes]
        return self.made(op, nodes, operands)

    def entered(self, x: Any) -> "Symbol":
        """The symbol of a number as it is in arithmetic with arrays."""
        return self.trace.symbol(self.trace.graph.enter(self.of("mul", x, 1.0).node), (x,))

    def made(self, op: str, nodes: list, operands: Any) -> "Symbol":
        """The symbol of an operation on nodes; of settings alone with its value."""
        node, value = self.trace.graph.make(op, *nodes), None
        if node.extent == "h":
            value = HOST[op](*[x.value if isinstance(x, Symbol) else x for x in operands])
        return self.trace.symbol(node, operands, value)

    def _as_number(self, node):
        graph = self.trace.graph
        if node.type == "b":
            return graph.make("select", node, graph.const(1.0), graph.const(0.0))
        return graph.make("tofloat", node) if node.type == "i" else node

    def truth(self, x: Any) -> Node:
        """The node of a truth value: of a number, whether it is not 0."""
        node = self.trace.graph.enter(self.lift(x))
        if node.type == "b":
            return node
        if node.type == "i":
            return self.trace.graph.make("ine", node, self.trace.graph.integer(0))
        return self.trace.graph.make("ne", node, self.trace.graph.const(0.0))

    def logical(self, op: str, *operands: Any) -> "Symbol":
        """The symbol of an operation on truth values."""
        return self.trace.symbol(self.trace.graph.make(op, *map(self.truth, operands)), operands)

    def where(self, yes: Any, no: Any) -> "Symbol":
        """Where this is not 0 the one, or else the other."""
        graph, a, b = self.trace.graph, self.lift(yes), self.lift(no)
        a, b = graph.enter(a), graph.enter(b)
        if a.type != b.type:
            a, b = self._as_number(a), self._as_number(b)
        return self.trace.symbol(graph.make("select", self.truth(self), a, b), (self, yes, no))

    def bitwise(self, op: str, *operands: Any) -> "Symbol":
        """The symbol of an operation on integers of 32 bits."""
        return self.trace.symbol(self.trace.graph.make(op, *map(self.lift, operands)), operands)

    def call(self, name: str, *others: Any) -> "Symbol":
        """The symbol of a function of C's library, or, for people, of one of elementary.py."""
        graph = self.trace.graph
        nodes = tuple([graph.enter(self.lift(x)) for x in (self, *others)])
        node = graph.node("call", nodes, "f", extent_of(nodes), name)
        return self.trace.symbol(node, (self, *others))

    def is_half(self) -> bool:
        """Whether this is a float16 number as it was stored."""
        return self.node.op == "load" and self.node.value[1] == "float16"

    # ---- what NumPy and Python ask ----

    def __array_ufunc__(self, ufunc, method, *operands, out=None, **options):
        if method != "__call__" or options:
            raise Untraceable(f"it calls np.{ufunc.__name__} with {method} or {[*options]}")
        function = self.trace.ufuncs.get(ufunc.__name__)
        if function is None:
            raise Untraceable(f"np.{ufunc.__name__} has no formula")
        first = next(x for x in operands if isinstance(x, Symbol))
        result = function(first, *operands)
        if out is None:
            return result
        if not isinstance(out[0], Symbol):
            raise Untraceable("it writes into an array of its own")
        if out[0].node.extent == "h":  # a Python number is not written to: `a *= 2`
            return result
        return out[0].write(result)

    def __array_function__(self, function, types, operands, options):
        known = self.trace.functions.get(function.__name__)
        if known is None:
            raise Untraceable(f"np.{function.__name__} has no formula")
        return known(*operands, **options)

    def write(self, y: "Symbol") -> "Symbol":
        """Become y, which is of the same shape, in the own format."""
        if y.axes != self.axes or self.node.type not in ("f", y.node.type):
            raise Untraceable("it writes into an array of another shape, or of truth values")
        node = self.trace.graph.enter(y.node)
        self.node = self._as_number(node) if self.node.type == "f" else node
        return self

    def __array__(self, dtype=None, **_):
        return np.asarray(self._asked("makes an array of NumPy's"), dtype)

    def __getattr__(self, name):
        if name.startswith("__array_"):  # what NumPy looks for first
            raise AttributeError(name)
        raise Untraceable(f"it asks for .{name}")

    def __getitem__(self, index):
        raise Untraceable("it takes elements of an array")

    def __setitem__(self, index, value):
        """Write a number where a condition holds, or what is to be everywhere: x[x < 0] = 0."""
        is_number = not isinstance(value, Symbol) or value.node.extent == "h"
        is_condition = isinstance(index, Symbol) and index.node.type == "b"
        if index is Ellipsis or isinstance(index, slice) and index == slice(None):
            self.write(self.trace.symbol(self.lift(value), (self, value)))
        elif is_condition and is_number and self.shape == index.shape:
            self.write(index.where(value, self))
        else:
            raise Untraceable("it writes elements of an array")

    def __iter__(self):
        raise Untraceable("it goes through an array")

    __len__ = __iter__

    @property  # type: ignore[misc]
    def __class__(self):
        """What isinstance shall see: an array's type, or that of the setting."""
        return type(self.value) if self.node.extent == "h" else np.ndarray

    @property
    def dtype(self):
        """What the array would be of."""
        return np.dtype({"f": "float32", "b": "bool", "i": "int32"}[self.node.type])

    @property
    def shape(self):
        """The shape that all have."""
        return WHOLE

    def astype(self, dtype, copy=True):
        """Itself: in a kernel all is computed in one format. Raises Untraceable for others."""
        if np.dtype(dtype) == self.dtype:
            return self.copy() if copy else self
        if np.dtype(dtype) == np.float32:
            return self.trace.symbol(self._as_number(self.node), (self,))
        if np.dtype(dtype) == bool:
            return self.trace.symbol(self.truth(self), (self,))
        raise Untraceable(f"it converts to {np.dtype(dtype)}")

    def copy(self):
        """A symbol that can be written to."""
        return self.trace.symbol(self.node, (self,), self.value)

    def _asked(self, question):
        """The value of a setting, which calls of the same graph share."""
        if self.node.extent != "h":
            raise Untraceable(f"it {question} on numbers that are not known yet")
        self.trace.guards[self.node] = self.value
        return self.value

    def __bool__(self):
        if self.node.extent == "h" and self.node.op == "setting":
            return bool(self != 0)
        return bool(self._asked("branches"))

    def __index__(self):
        return self._asked("counts").__index__()

    def __float__(self):
        return float(self._asked("makes a Python number, as math.sqrt does,"))

    def __hash__(self):
        raise Untraceable("it looks a number up")  # what is found would outlive the trace


OF_TRUTHS = {"add": "or", "max": "or", "mul": "and", "min": "and"}  # of booleans alone, as in NumPy


def in_formulas(formula: Callable[..., Any]) -> Callable[[Callable], Callable]:
    """Let `formula` compute, in formulas, what the decorated function computes of arrays."""

    def decorate(function):
        @wraps(function)
        def either(x, *rest):
            if not isinstance(x, Symbol):
                return function(x, *rest)
            return x.call(formula.__name__, *rest) if x.trace.folds else formula(x, *rest)

        return either

    return decorate
