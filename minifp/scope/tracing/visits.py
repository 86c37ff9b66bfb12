"""A step done again with its kernels looked at: what each operation was given, called and made.

Kernels are looked at where they are called: `Kernel.__call__` is wrapped for as long as it takes,
because observers of kernels are told neither parameters nor when a call began.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

from minifp.autograd.backward import first_gradient, format_of, run_backward
from minifp.autograd.replay import Outputs, again, arguments_of, leaf_like
from minifp.autograd.tape import Tensor
from minifp.numerics.kernels import Kernel
from minifp.numerics.policy import Precision, get_precision
from minifp.scope.tracing.repeating import Arrivals, summed
from minifp.training.diagnosis import BACKWARD, FORWARD, SUM, Recorded


class Call(NamedTuple):
    """A call of a kernel, the precision under which it ran, and how long it took."""

    kernel: Any
    args: tuple
    params: dict
    results: tuple
    precision: Precision
    seconds: float


class Visit(NamedTuple):
    """One operation, forward or backward, or the sum of the gradients that meet at a node.

    given, made: what it read and made, arrays or tensors. seconds: all that it took.
    """

    phase: str
    node: Any
    operation: str
    inputs: list
    outputs: list
    calls: list[Call]
    seconds: float
    precision: Precision


@contextmanager
def calls_heard() -> Iterator[list[Call]]:
    """A list of all calls of kernels in the `with` block. On the CPU no kernel calls another."""
    calls: list[Call] = []
    original = Kernel.__call__

    def heard(kernel: Any, *args: Any, to: Any = None, **params: Any) -> Any:
        start = perf_counter()
        results = original(kernel, *args, to=to, **params)
        seconds = perf_counter() - start
        several = results if isinstance(results, tuple) else (results,)
        calls.append(Call(kernel, args, params, several, get_precision(), seconds))
        return results

    kind: Any = Kernel
    kind.__call__ = heard
    try:
        yield calls
    finally:
        kind.__call__ = original


def visits(recorded: Recorded, seed: float) -> Iterator[Visit]:
    """All that a step does, in order, done again; what is used up is let go as the step does."""
    outputs: Outputs = {}
    with calls_heard() as calls:
        yield from forward(recorded.order[::-1], outputs, calls)
        yield from backward(recorded, seed, outputs, calls)


def visit(
    place: tuple, precision: Precision, inputs: Any, calls: list, do: Callable, *args: Any
) -> Visit:
    """Do one operation. place: the first three fields of a Visit."""
    calls.clear()
    start = perf_counter()
    outputs = do(*args)
    phase, node, name = place
    seconds = perf_counter() - start
    return Visit(phase, node, name, list(inputs), list(outputs), [*calls], seconds, precision)


def forward(order: list, outputs: Outputs, calls: list[Call]) -> Iterator[Visit]:
    """All operations, whose outputs are put into `outputs`."""
    for node in order:
        if isinstance(node, Tensor):
            outputs[node] = (leaf_like(node),)
            continue
        arguments, place = arguments_of(node, outputs), (FORWARD, node, node.op)
        result = visit(place, node.precision, arguments, calls, again, node, arguments)
        outputs[node] = tuple(result.outputs)
        yield result


def backward(
    recorded: Recorded, seed: float, outputs: Outputs, calls: list[Call]
) -> Iterator[Visit]:
    """All operations backward, and where gradients meet their sums."""
    arrivals, loss = Arrivals(), recorded.loss
    first = first_gradient(outputs[loss.gradient_node][loss.index], None, seed)
    arrivals.add(loss.gradient_node, loss.index, first, get_precision())
    for node in recorded.order:
        own, sums = outputs.pop(node)[0].gradient_node, {}
        for i, addends in arrivals.take(node).items():
            inputs, place = [g for g, _ in addends], (BACKWARD, node, SUM)
            do = added_up, addends, format_of(own, i)
            result = visit(place, addends[-1][1], inputs, calls, *do)
            sums[i] = result.outputs[0]
            if len(addends) > 1:
                yield result
        if isinstance(node, Tensor) or not sums:
            continue
        place, inputs = (BACKWARD, node, node.op), list(sums.values())
        result = visit(place, node.precision, inputs, calls, run_backward, own, sums)
        arrivals.send(node, tuple(result.outputs), node.precision)
        yield result


def added_up(addends: list, format: Any) -> list:
    """The sum of the gradients that meet, as the only thing made."""
    return [summed(addends, format)]
