"""A recorded step done once more while memory is watched, and what operations hold inside.

The operations are done again one after the other (see replay.py), what nobody reads any more is
freed as it is in training, and gradients are taken back by the same walk; so what is held in between
is what the step held. What an operation holds inside, beyond what is there before or after it, is
read from tracemalloc, to which NumPy reports the memory of every array.
"""

import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minifp import backend, cpu, tape
from minifp.cpu.threads import get_num_threads
from minifp.diagnosis import Recorded
from minifp.policy import Precision
from minifp.replay import again, arguments_of, leaf_like, unobserved
from minifp.tape import Node, Tensor
from minifp.walk import propagate

CAST = "cast"
PATIENCE = 1.0  # seconds to wait for threads that are asked for their scratch


def do_again(
    recorded: Recorded, observer: Any, precision: Precision | None = None,
    entering: Callable | None = None,
) -> None:  # fmt: skip
    """Do the forward and the backward of a step again, seen by one observer of tape and kernels.

    observer: also told `began(vertex, copy)` for leaves, with their copy, and `began(node)` before
    an operation is done. precision: instead of the recorded ones; casts into other formats, which
    a step in one format has not, are then left out. entering: of arrays that are given, as to
    widen them; leaves are on what it returns.
    """
    with unobserved(), np.errstate(all="ignore"):
        tape.observers.append(observer)
        backend.observers.append(observer)
        propagate(_forward(recorded, observer, precision, entering), None, 1.0, False)


def _forward(recorded, observer, precision, entering):
    """The loss, made again. Values are let go of when the last operation has read them."""
    order, made = recorded.order, {}
    readers = Counter(parent for v in order for parent, _ in v.parents)
    readers[recorded.loss.vertex] += 1  # the caller
    for vertex in reversed(order):
        if isinstance(vertex, Tensor):
            array = vertex.array if entering is None else entering(vertex.array)
            made[vertex] = (leaf_like(vertex, array),)
            observer.began(vertex, made[vertex][0])
            continue
        observer.began(vertex)
        if precision is not None and vertex.op == CAST:
            (parent, i) = vertex.parents[0]
            made[vertex] = (made[parent][i],)
        else:
            made[vertex] = again(vertex, arguments_of(vertex, made, entering), precision)
        for parent, _ in vertex.parents:
            readers[parent] -= 1
            if parent is not None and readers[parent] == 0:
                del made[parent]
    return made[recorded.loss.vertex][recorded.loss.index]


@contextmanager
def tracing() -> Iterator[None]:
    """Let tracemalloc trace in the `with` block, if it does not already."""
    started = not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    try:
        yield
    finally:
        if started:
            tracemalloc.stop()


class Inside:
    """Reads from tracemalloc what was held for a while only: between two calls of `cut`."""

    def __init__(self) -> None:
        self.before = 0
        self.cut()

    def cut(self) -> int:
        """Bytes, at the most since the last cut, beyond what was held then or is held now."""
        now, peak = tracemalloc.get_traced_memory()
        found, self.before = peak - max(self.before, now), now
        tracemalloc.reset_peak()
        return max(found, 0)


class Workspaces:
    """The observer that finds the workspace of each operation of a step that is done again.

    found: (phase, id of the recorded node) -> bytes.
    """

    def __init__(self) -> None:
        self.found: Counter = Counter()
        self.originals: dict[Node, int] = {}
        self.at = 0
        self.inside = Inside()

    def began(self, vertex: Any, copy: Any = None) -> None:
        """The next operation is this one."""
        self.at = id(vertex)
        self._keep("forward", self.at)

    def on_record(self, node: Node, outputs: tuple) -> None:
        """It is done, forward."""
        self.originals[node] = self.at
        self._keep("forward", self.at)

    def on_gradient(self, vertex: Any, gradient: Any) -> None:
        """Nothing to do: what is rounded on arrival belongs to what follows."""

    def on_release(self, node: Node) -> None:
        """It is done, backward."""
        self._keep("backward", self.originals[node])

    def on_kernel(self, kernel: Any, args: tuple, results: tuple, formats: Any) -> None:
        """Nothing to do."""

    def _keep(self, phase, of):
        self.found[phase, of] = max(self.found[phase, of], self.inside.cut())


def workspaces(backwards: list[Recorded]) -> Counter:
    """What each operation of a step holds inside: (phase, id of its node) -> bytes."""
    found: Counter = Counter()
    with tracing():
        for recorded in backwards:
            if can_be_done(recorded):
                seen = Workspaces()
                do_again(recorded, seen)
                found |= seen.found
    return found


def can_be_done(recorded: Recorded) -> bool:
    """Whether what its operations were called with is still known."""
    return all(v.call is not None for v in recorded.order if isinstance(v, Node))


# ---- scratch of threads -------------------------------------------------------------------------


class Question:
    """What a worker of the pool is asked, as if it were work: how large its scratch is."""

    def __init__(self, scratch_of: Callable[[], Any], others: threading.Barrier) -> None:
        self.scratch_of, self.others, self.bytes = scratch_of, others, 0

    def work(self) -> None:
        """Answer, and wait until each of the others has: so that none answers twice."""
        self.bytes = getattr(self.scratch_of(), "nbytes", 0)
        try:
            self.others.wait(PATIENCE)
        except threading.BrokenBarrierError:
            pass  # a worker that is busy for that long answers nothing


def scratch_bytes() -> int:
    """Bytes of the scratch that the compiled kernels' threads keep between calls (cpu/pool.py)."""
    if not cpu.can_compile():
        return 0
    from minifp.cpu import pool

    def own():
        return getattr(pool._own, "array", None)

    workers = pool.POOL.started if get_num_threads() > 1 else 0
    barrier = threading.Barrier(workers + 1)
    questions = [Question(own, barrier) for _ in range(workers + 1)]
    for question in questions[1:]:
        pool.POOL.calls.put(question)
    questions[0].work()
    return sum(question.bytes for question in questions)
