"""A step done three times at once, so that each operation's own error is seen apart.

Of each value there are: what the step has `stored`; what the same operation makes of the same
stored arguments under a reference precision, `local`; and what it makes of that precision's own
arguments, `reference`. So stored - local is the error that the operation adds, local - reference
what it inherits. Backward likewise: from the stored gradients and what the step kept for it.
"""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.backward import first_gradient, format_of, run_backward
from minifp.autograd.replay import Outputs, again, arguments_of, leaf_like
from minifp.autograd.tape import Node, Tensor
from minifp.numerics.formats import as_dtype, downcast, float64, is_float, upcast
from minifp.numerics.operand_codes import OperandCodes
from minifp.numerics.policy import Precision
from minifp.scope.tracing.repeating import Arrivals, arguments_named, operation_of, summed
from minifp.training.diagnosis import BACKWARD, FORWARD, SUM, Recorded


class Value(NamedTuple):
    """One value of the step, in the three ways above.

    number: of the visit to its node, in the order of the step, from 1 on. node: of the step.
    operation: as in ReferenceRow. name: "y", or "dx" for the gradient of an argument x.
    """

    number: int
    phase: str
    node: Any
    operation: str
    name: str
    stored: np.ndarray
    local: np.ndarray
    reference: np.ndarray

    @property
    def added(self) -> np.ndarray:
        """The error that the operation adds, in float64."""
        return difference(self.stored, self.local)

    @property
    def inherited(self) -> np.ndarray:
        """The error that it would hand on without one of its own, in float64."""
        return difference(self.local, self.reference)


class Errors:
    """What one node adds: to its outputs, to what it keeps for backward, to the sums of gradients
    that meet at it (by output), and to the gradients that it sends.
    """

    def __init__(self, outputs: tuple, saved: Any = ()) -> None:
        self.outputs, self.saved = outputs, saved
        self.sums: dict[int, np.ndarray] = {}
        self.gradients: tuple = ()


class PairedRuns:
    """The three graphs of one step. `values()` makes them, and goes through all values once.

    order: the step's nodes, the first first. stored, reference: by node, its outputs. errors:
    by node. gradients: by leaf, its gradient as stored and of the reference.
    """

    def __init__(self, recorded: Recorded, seed: float, precision: Precision) -> None:
        self.loss, self.seed, self.precision = recorded.loss, seed, precision
        self.format = as_dtype(precision.activations)
        self.order = recorded.order[::-1]
        self.stored: Outputs = {}
        self.reference: Outputs = {}
        self.local: dict[Node, Node] = {}
        self.errors: dict[Any, Errors] = {}
        self.gradients: dict[Tensor, tuple] = {}

    def values(self) -> Iterator[Value]:
        """All values, in the order of the step."""
        for number, node in enumerate(self.order, 1):
            if isinstance(node, Tensor):
                yield self._leaf(number, node)
            else:
                yield from self._forward(number, node)
        yield from self._backward()

    def under_reference(self, node: Node, arguments: list) -> tuple[Tensor, ...]:
        """What an operation returns under the reference precision, which casts do not leave."""
        if node.params.get("dtype") is not None:
            node = copy(node)
            node.params = {**node.params, "dtype": self.format}
        return again(node, arguments, self.precision)

    def wide(self, value: Any) -> Any:
        """A floating array in the reference's format; all else as it is."""
        if isinstance(value, np.ndarray) and is_float(value.dtype):
            return upcast(value, self.format)
        return value

    def alone(self, argument: Any) -> Any:
        """A stored argument in the reference's format, as a leaf where it has a gradient."""
        if isinstance(argument, Tensor):
            return leaf_like(argument, self.wide(argument.array))
        return self.wide(argument)

    # ---- forward ----

    def _leaf(self, number, leaf):
        wide = self.wide(leaf.array if leaf.exact is None else leaf.exact)
        self.stored[leaf] = (leaf_like(leaf),)
        self.reference[leaf] = (leaf_like(leaf, wide),)
        value = Value(number, FORWARD, leaf, operation_of(leaf), "y", leaf.array, wide, wide)
        self.errors[leaf] = Errors((value.added,))
        return value

    def _forward(self, number, node):
        arguments = arguments_of(node, self.stored)
        stored = self.stored[node] = again(node, arguments)
        local = self.under_reference(node, list(map(self.alone, arguments)))
        wide_arguments = arguments_of(node, self.reference, self.wide)
        reference = self.reference[node] = self.under_reference(node, wide_arguments)
        self.local[node] = _node(local)
        saved = nested(difference, _node(stored).saved, _node(local).saved)
        added = tuple(difference(s.array, x.array) for s, x in zip(stored, local))
        self.errors[node] = Errors(added, saved)
        for i, each in enumerate(zip(stored, local, reference)):
            name = f"y{i}" if len(stored) > 1 else "y"
            if is_float(each[0].array.dtype):
                yield Value(number, FORWARD, node, node.op, name, *(t.array for t in each))

    # ---- backward ----

    def _backward(self):
        stored, reference, number = Arrivals(), Arrivals(), len(self.order)
        node, index = self.loss.gradient_node, self.loss.index
        first = first_gradient(self.stored[node][index], None, self.seed)
        stored.add(node, index, first, self.precision)
        reference.add(node, index, self.wide(first), self.precision)
        for node in reversed(self.order):
            number += 1
            lists = stored.take(node), reference.take(node)
            if not lists[0]:
                continue
            sums: list[dict] = [{}, {}]
            for i, addends in lists[0].items():
                value = self._met(number, node, i, addends, lists[1][i])
                sums[0][i], sums[1][i] = value.stored, value.reference
                if len(addends) > 1:
                    self.errors[node].sums[i] = value.added
                    yield value
            if isinstance(node, Tensor):
                self.gradients[node] = sums[0][0], sums[1][0]
                continue
            yield from self._sent(number, node, sums, stored, reference)

    def _met(self, number, node, i, addends, of_reference):
        """The sum of the gradients that meet at one output."""
        own = self.stored[node][0].gradient_node
        local = [(self.wide(g), self.precision) for g, _ in addends]
        sums = summed(addends, format_of(own, i)), summed(local, self.format)
        total = summed(of_reference, self.format)
        return Value(number, BACKWARD, node, SUM, f"dy{i}" if i else "dy", *sums, total)

    def _sent(self, number, node, sums, stored, reference):
        """The gradients that an operation sends back."""
        own, local, other = _node(self.stored[node]), self.local[node], _node(self.reference[node])
        gradients = run_backward(own, sums[0])
        local.saved = nested(lambda array, _: self.wide(array), own.saved, local.saved)
        alone = run_backward(local, {i: self.wide(g) for i, g in sums[0].items()})
        of_reference = run_backward(other, sums[1])
        stored.send(node, gradients, own.precision)
        reference.send(node, of_reference, self.precision)
        self.errors[node].gradients = tuple(
            None if parent is None else difference(g, x)
            for (parent, _), g, x in zip(node.parents, gradients, alone)
        )
        names = arguments_named(node)
        for (parent, _), name, *each in zip(node.parents, names, gradients, alone, of_reference):
            if parent is not None:
                yield Value(number, BACKWARD, node, node.op, f"d{name}", *each)


def _node(results):
    """The node that made them."""
    return results[0].node


def difference(a: Any, b: Any) -> np.ndarray:
    """a - b in float64: 0 where both are the same Inf or both NaN, Inf where only one is NaN."""
    a, b = (upcast(np.asarray(x), float64) for x in (a, b))
    with np.errstate(all="ignore"):
        d = np.asarray(a - b)
    d[(a == b) | (np.isnan(a) & np.isnan(b))] = 0
    d[np.isnan(d)] = np.inf
    return d


def nested(fn: Callable, saved: Any, other: Any) -> Any:
    """fn(array, that of `other`) of each floating array in nested tuples and lists; else `kept`.

    Of an operand in its codes, that of `other` twice: there the argument itself is kept, which is
    the stored one where both were given the same. So the operand's rounding is counted in backward,
    as where it is done there.
    """
    if isinstance(saved, OperandCodes):
        return fn(other, other)
    if isinstance(saved, (tuple, list)):
        make = getattr(saved, "_make", type(saved))  # of named tuples
        return make(nested(fn, k, o) for k, o in zip(saved, other))
    if isinstance(saved, np.ndarray) and is_float(saved.dtype):
        return fn(saved, other)
    return saved


def added_to(array: np.ndarray, error: np.ndarray) -> np.ndarray:
    """An array plus an error, in the array's format."""
    return downcast(upcast(array, float64) + error, array.dtype)
