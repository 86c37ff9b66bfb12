"""A recorded step done once more while memory is watched, and what operations hold inside.

The operations are done again one after the other (see replay.py), what nobody reads any more is
freed as it is in training, and gradients are taken back by the same backward; so what is held
meanwhile is what the step held. What an operation holds inside, beyond its arguments and results,
is read from tracemalloc, to which NumPy reports the memory of every array.
"""

import gc
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minifp.autograd import tape
from minifp.autograd.backward import propagate
from minifp.autograd.replay import Outputs, again, arguments_of, leaf_like, unobserved
from minifp.autograd.tape import Node, Tensor
from minifp.numerics import kernels
from minifp.numerics.policy import Precision
from minifp.scope.memory.threads import ask_threads
from minifp.training.diagnosis import Recorded

CAST = "cast"


def do_again(
    recorded: Recorded, observer: Any, leaves: dict[Tensor, Tensor],
    precision: Precision | None = None, entering: Callable | None = None,
) -> None:  # fmt: skip
    """Do the forward and the backward of a step again, seen by one observer of tape and kernels.

    observer: also told `began(node, copy)` for leaves, with their copy, and `began(node)` before
    an operation is done. leaves: copies of leaves that were made before, to which new ones are
    added; gradients are added up there. precision: instead of the recorded ones; casts into other
    formats, which a step in one format has not, are then left out. entering: of arrays that are
    given, as to widen them; leaves are on what it returns.
    """
    with unobserved(), np.errstate(all="ignore"):
        tape.observers.append(observer)
        kernels.observers.append(observer)
        propagate(_forward(recorded, observer, leaves, precision, entering), None, 1.0, False)


def _forward(recorded, observer, leaves, precision, entering):
    """The loss, made again. Values are let go of when the last operation has read them."""
    order = recorded.order
    outputs: Outputs = {}
    readers = Counter(parent for v in order for parent, _ in v.parents)
    readers[recorded.loss.gradient_node] += 1  # the caller
    for node in reversed(order):
        if isinstance(node, Tensor):
            if node not in leaves:
                array = node.array if entering is None else entering(node.array)
                leaves[node] = leaf_like(node, array)
            outputs[node] = (leaves[node],)
            observer.began(node, leaves[node])
            continue
        observer.began(node)
        if precision is not None and node.op == CAST:
            (parent, i) = node.parents[0]
            outputs[node] = (outputs[parent][i],)
        else:
            outputs[node] = again(node, arguments_of(node, outputs, entering), precision)
        for parent, _ in node.parents:
            readers[parent] -= 1
            if parent is not None and readers[parent] == 0:
                del outputs[parent]
    return outputs[recorded.loss.gradient_node][recorded.loss.index]


@contextmanager
def tracing() -> Iterator[None]:
    """Let tracemalloc trace in the `with` block, if it does not already, and garbage be collected
    afterwards: what is freed in the middle of an operation would count as held inside of it."""
    started, collects = not tracemalloc.is_tracing(), gc.isenabled()
    gc.disable()
    if started:
        tracemalloc.start()
    try:
        yield
    finally:
        if collects:
            gc.enable()
        if started:
            tracemalloc.stop()


class Inside:
    """Reads from tracemalloc what was held for a while only, while an operation ran."""

    def __init__(self) -> None:
        self.before, self.between = 0, 0
        self.begin()
        self.between = 0

    def begin(self) -> None:
        """An operation begins; what the one before has used up is freed by now."""
        ask_threads()
        now, peak = tracemalloc.get_traced_memory()
        self.between = max(self.between, peak - max(self.before, now))
        self._reset(now)

    def end(self) -> int:
        """It ends: the bytes that it held, at the most, beyond what is held now."""
        ask_threads()  # one that is late keeps what is not needed any more
        now, peak = tracemalloc.get_traced_memory()
        bytes_inside, self.between = max(peak - now, self.between), 0
        self._reset(now)
        return bytes_inside

    def _reset(self, now):
        self.before = now
        tracemalloc.reset_peak()


class Unseen:
    """An observer that looks at nothing."""

    def began(self, node: Any, copy: Any = None) -> None:
        """A leaf or an operation is next."""

    def on_record(self, node: Node, outputs: tuple) -> None:
        """An operation is done, forward."""

    def on_gradient(self, node: Any, gradient: Any) -> None:
        """A gradient has arrived."""

    def on_release(self, node: Node) -> None:
        """An operation is done, backward."""

    def on_kernel(self, kernel: Any, args: tuple, results: tuple, formats: Any) -> None:
        """A kernel was called."""


class Workspaces(Unseen):
    """The observer that finds the workspace of each operation of a step that is done again.

    found: (phase, id of the recorded node) -> bytes.
    """

    def __init__(self) -> None:
        self.largest: Counter = Counter()
        self.originals: dict[Node, int] = {}
        self.at = 0
        self.inside = Inside()

    def began(self, node: Any, copy: Any = None) -> None:
        """The next operation is this one."""
        self.at = id(node)
        self.inside.begin()

    def on_record(self, node: Node, outputs: tuple) -> None:
        """It is done, forward."""
        self.originals[node] = self.at
        self._keep("forward", self.at)

    def on_gradient(self, node: Any, gradient: Any) -> None:
        """What has arrived is rounded, and the backward of an operation begins."""
        self.inside.begin()

    def on_release(self, node: Node) -> None:
        """It is done, backward."""
        self._keep("backward", self.originals[node])

    def _keep(self, phase, of):
        self.largest[phase, of] = max(self.largest[phase, of], self.inside.end())


def workspaces(backwards: list[Recorded]) -> Counter:
    """What each operation of a step holds inside: (phase, id of its node) -> bytes."""
    largest: Counter = Counter()
    leaves: dict[Tensor, Tensor] = {}
    with tracing():
        for recorded in backwards:
            if can_be_done(recorded):
                observer = Workspaces()
                do_again(recorded, observer, leaves)
                largest |= observer.largest
    return largest


def can_be_done(recorded: Recorded) -> bool:
    """Whether what its operations were called with is still known."""
    return recorded.known
