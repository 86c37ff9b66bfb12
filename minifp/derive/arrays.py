"""What a reference computes with that reduces along axes: a Symbol that knows its axes.

An axis of an argument is one of the call's: broadcasting finds out which axes of two arguments are
the same one. How long an axis is, is a number of the host, which a formula is told at each call:
only whether it is 1 belongs to the formula, as broadcasting depends on it. An axis of a result that
is kept with size 1 is None.

Nodes that reduce are `sum`, `largest` and `least`: their value is (the axes that are gone, those
that are left). `take` is the element of its first operand at the place along an axis that the
second names; `place` is the place itself. `inside` is its first operand as long as the second names
a place along the axis: the CPU looks before, on a GPU it is NaN where that is not so.
"""

import math
from collections.abc import Callable
from functools import partialmethod
from typing import Any

import numpy as np

from minifp.derive.axes import Axis, found, one_of
from minifp.derive.graph import Node
from minifp.derive.numpy_functions import FUNCTIONS
from minifp.derive.symbol import Symbol, Untraceable
from minifp.derive.trace import Trace

REDUCTIONS = {"sum", "largest", "least", "product"}
SCANS = {"cumsum", "cumprod"}  # running sums and products along an axis, from its end on perhaps
WHOLE_NUMBERS = "int64"  # the dtype of class numbers, which float32 holds


def stretched_axes(operands: Any) -> tuple:
    """The axes of what operands broadcast to."""
    several = [x.axes for x in operands if issubclass(type(x), Array)]
    axes: tuple = ()
    for other in several:
        n = max(len(axes), len(other))
        axes, other = ((None,) * (n - len(a)) + a for a in (axes, other))
        axes = tuple(map(one_of, axes, other))
    return axes


class ArrayTrace(Trace):
    """A tracing whose symbols know their axes. arguments: the axes of each that is an array,
    and of a shape among the settings, by its name."""

    def __init__(self, folds: bool = False) -> None:
        super().__init__(folds)
        self.functions = FUNCTIONS | ARRAY_FUNCTIONS
        self.arguments: dict[Any, tuple] = {}

    def array(self, k: int, dtype: str, shape: tuple[int, ...]) -> "Array":
        """Argument k of a call."""
        return Array(self, self.argument(k, dtype).node, self.new_axes(k, shape))

    def new_axes(self, k: Any, shape: tuple[int, ...]) -> tuple:
        """The axes of argument k, or of the setting of this name, a shape."""
        self.arguments[k] = tuple([Axis(k, i, n) for i, n in enumerate(shape)])
        return self.arguments[k]

    def symbol(self, node: Node, operands: Any = (), value: Any = None) -> Symbol:
        """The symbol of a node, which was made of these operands."""
        if node.extent == "h":
            return Symbol(self, node, value)
        return Array(self, node, stretched_axes(operands))

    def size(self, axis: Axis | None) -> Any:
        """How long an axis is."""
        if axis is None:
            return 1
        return Size(self, self.graph.node("size", (), "f", "h", axis.source), axis)


class Size(Symbol):
    """How long an axis is: a number of the host."""

    def __init__(self, trace: ArrayTrace, node: Node, axis: Axis) -> None:
        super().__init__(trace, node, axis.size)
        self.axis = axis

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, Size) and found(other.axis) is found(self.axis) is not None:
            return True
        return super().__eq__(other)

    def __ne__(self, other: Any) -> Any:
        return not self == other

    __hash__ = Symbol.__hash__


class Array(Symbol):
    """A node of as many numbers as its axes say."""

    trace: ArrayTrace

    def __init__(self, trace: ArrayTrace, node: Node, axes: tuple) -> None:
        super().__init__(trace, node)
        self._axes, self.has_views = axes, False

    @property
    def axes(self) -> tuple:
        """The axis of the call along each of its own; None for size 1."""
        return tuple(map(found, self._axes))

    @property
    def shape(self) -> Any:
        """Sizes, or 1."""
        return tuple([self.trace.size(a) for a in self.axes])

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self._axes)

    @property
    def size(self) -> Any:
        """How many numbers there are."""
        return math.prod(self.shape)

    def of_axes(self, axes: tuple) -> "Array":
        """A view: the same numbers with other axes."""
        self.has_views = True
        view = Array(self.trace, self.node, axes)
        view.has_views = True
        return view

    def of_shape(self, shape: tuple) -> "Array":
        """One number for all, or several that broadcast, in this shape."""
        for n in shape:
            if not isinstance(n, Size) and n != 1:
                raise Untraceable("it broadcasts to a shape of its own")
        return self.of_axes(tuple([n.axis if isinstance(n, Size) else None for n in shape]))

    def write(self, y: Symbol) -> Symbol:
        """See Symbol. Raises Untraceable where other arrays would have to see it too."""
        if self.has_views:
            raise Untraceable("it writes into an array that has views, or is one")
        return super().write(y)

    # ---- reductions ----

    def places(self, axis: Any) -> list[int]:
        """The places of the axes that None, a number or several name."""
        if axis is None:
            return [*range(self.ndim)]
        several = axis if isinstance(axis, tuple) else (axis,)
        return [range(self.ndim)[a.__index__()] for a in several]

    def reduced(self, op: str, axis: Any = None, keepdims: bool = False) -> "Array":
        """A reduction along axes."""
        places, axes = self.places(axis), self.axes
        gone = tuple([axes[i] for i in places if axes[i] is not None])
        left = tuple([a for i, a in enumerate(axes) if i not in places and a is not None])
        node = self.of("mul", self, 1.0).node  # a truth value counts as 0 or 1
        if gone:
            node = self.trace.graph.node(op, (node,), "f", "e", (gone, left))
        kept = [None if i in places else a for i, a in enumerate(axes)]
        return Array(
            self.trace, node, tuple([a for i, a in enumerate(kept) if keepdims or i not in places])
        )

    sum, prod = partialmethod(reduced, "sum"), partialmethod(reduced, "product")

    def mean(self, axis: Any = None, keepdims: bool = False) -> "Array":
        """The mean along axes."""
        count = math.prod([self.shape[i] for i in self.places(axis)])
        return self.sum(axis, keepdims) / count

    def max(self, axis: Any = None, keepdims: bool = False, initial: float = -np.inf) -> Any:
        """The largest along axes."""
        y = self.reduced("largest", axis, keepdims)
        return y if initial == -np.inf else np.maximum(y, initial)

    def min(self, axis: Any = None, keepdims: bool = False, initial: float = np.inf) -> Any:
        """The smallest along axes."""
        y = self.reduced("least", axis, keepdims)
        return y if initial == np.inf else np.minimum(y, initial)

    def running(self, op: str, axis: Any, reverse: bool = False) -> Any:
        """What is added up, or multiplied, along an axis so far, or from there on."""
        own, x = self.axes[axis.__index__()], self.of("mul", self, 1.0)
        if own is None:
            return x
        node = self.trace.graph.node(op, (x.node,), "f", "e", (own, reverse))
        return Array(self.trace, node, x.axes)

    cumsum, cumprod = partialmethod(running, "cumsum"), partialmethod(running, "cumprod")

    # ---- the same numbers along other axes ----

    def reshape(self, *shape: Any) -> "Array":
        """Axes of size 1 more or less. Raises Untraceable for others."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        own = [a for a in self.axes if a is not None]
        axes: list = []
        for n in shape:
            if isinstance(n, Size) and n.axis.size == 1 and not (own and own[0].size == 1):
                n.axis.same = None
                n = 1
            if type(n) is int and n == 1:
                axes.append(None)
                continue
            while own and isinstance(n, Size) and own[0].size == 1 != n.axis.size:
                own.pop(0).same = None
            if not own or not (isinstance(n, Size) or type(n) is int and n == -1 and len(own) == 1):
                raise Untraceable("it reshapes to other axes")
            axis = own.pop(0)
            if isinstance(n, Size) and n.axis.size != axis.size:
                raise Untraceable("it reshapes to other axes")
            axes.append(one_of(n.axis, axis) if isinstance(n, Size) else axis)
        for a in own:
            if a.size != 1:
                raise Untraceable("it reshapes to other axes")
            a.same = None
        return self.of_axes(tuple(axes))

    def squeeze(self, axis: Any = None) -> "Array":
        """Without axes of size 1."""
        gone = self.places(axis)
        if any(self.axes[i] is not None for i in gone):
            raise Untraceable("it squeezes axes that are no sums'")
        return self.of_axes(tuple([a for i, a in enumerate(self._axes) if i not in gone]))

    def __getitem__(self, index: Any) -> "Array":
        """With new axes (None), without those of size 1 (0), or by class numbers."""
        if isinstance(index, Array):
            return _taken(self, index, 0)
        index = index if isinstance(index, tuple) else (index,)
        if index[0] is not Ellipsis or any(i is not None and i != 0 for i in index[1:]):
            raise Untraceable("it takes elements of an array")
        count = sum([i is not None for i in index[1:]])
        axes, last = self.axes[: self.ndim - count], iter(self.axes[self.ndim - count :])
        for i in index[1:]:
            if i is None:
                axes += (None,)
            elif next(last) is not None:
                raise Untraceable("it takes elements of an array")
        return self.of_axes(axes)


def _taken(x, index, axis):
    gone = found(x.axes[axis])
    node = x.trace.graph.node("take", (x.node, index.node), x.node.type, "e", gone)
    return Array(x.trace, node, index.axes)


def _check_single(x, index, axis):
    """Raise Untraceable unless an index names one place along an axis of x."""
    if (own := index.axes[axis]) is not None:
        if own.size != 1:
            raise Untraceable("it takes, or writes, several elements along an axis")
        own.same = None


def _take_along_axis(x, index, axis):
    _check_single(x, index, axis)
    axes = stretched_axes((x, index))
    if any(
        a is not b for i, (a, b) in enumerate(zip(axes, index.axes)) if range(x.ndim)[axis] != i
    ):
        raise Untraceable("it takes elements at places that are stretched")
    return x.of_axes(axes) if x.axes[axis] is None else _taken(x, index, axis)


def _put_along_axis(x, index, values, axis):
    _check_single(x, index, axis)
    if x.axes[axis] is not None:
        node = x.trace.graph.node("place", (), "f", "e", x.axes[axis])
        values = (Array(x.trace, node, x.axes) == index).where(values, x)
        known = values.node, index.node
        node = x.trace.graph.node("inside", known, values.node.type, "e", x.axes[axis])
        values = Array(x.trace, node, values.axes)
    x.write(values)


def _expand_dims(x, axis):
    i = range(x.ndim + 1)[axis.__index__()]
    return x.of_axes((*x.axes[:i], None, *x.axes[i:]))


def _broadcast_to(x, shape):
    return x.of_axes(stretched_axes((x, x.of_shape(shape))))


def _count_nonzero(x, axis=None, keepdims=False):
    return x.trace.symbol(x.truth(x), (x,)).sum(axis, keepdims)


ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{"sum": Array.sum, "mean": Array.mean},
    **{"max": Array.max, "amax": Array.max, "min": Array.min, "amin": Array.min},
    **{"squeeze": Array.squeeze, "expand_dims": _expand_dims, "broadcast_to": _broadcast_to},
    "broadcast_arrays": lambda *several: [x.of_axes(stretched_axes(several)) for x in several],
    **{"count_nonzero": _count_nonzero, "cumsum": Array.cumsum},
    "isneginf": lambda x: x == -np.inf,
    **{"take_along_axis": _take_along_axis, "put_along_axis": _put_along_axis},
}
