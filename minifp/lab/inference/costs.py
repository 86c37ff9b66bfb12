"""What a forward pass costs: seconds for an example, and bytes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from minifp.data import DataLoader
from minifp.data.structure import leaves
from minifp.errors import MinifpError
from minifp.lab.batches import called
from minifp.lab.evaluation import count
from minifp.lab.memory import measure_forward
from minifp.lab.state import State
from minifp.lab.task import Task
from minifp.numerics import policy
from minifp.runtime.cpu.threads import get_num_threads, set_num_threads

TIMED = 256  # examples of a pass that is timed, or as many as a batch has
LONG_ENOUGH = 0.05  # seconds of the first precision's pass, which is made so often in a row


@contextmanager
def judging(state: State, precision: str) -> Iterator[None]:
    """Within, models compute in their precision, and nothing is recorded."""
    with policy.precision(precision), state.evaluating():
        yield


def batches_of(task: Task, test_set: Any, size: int) -> list:
    """The first batches of a test set, in the format of the active precision."""
    loader = DataLoader(test_set, size, collate_fn=task.collate)
    batches: list[Any] = []
    for batch in loader:
        batches.append(batch)
        if len(batches) * size >= TIMED:
            break
    return batches


def forward(state: State, batch: Any) -> None:
    """A forward pass, to its end: on a GPU it is waited for."""
    outputs, _ = called(state.model, batch)
    for _, leaf in leaves(outputs):
        if hasattr(leaf, "numpy"):
            leaf.numpy()


def can_be_called(state: State, precision: str, batches: list) -> bool:
    """Whether the model takes a batch by itself: several models are their task's to call."""
    if "" not in state.models:
        return False
    try:
        with judging(state, precision):
            forward(state, batches[0])
    except MinifpError:
        return False
    return True


def seconds_of(states: dict[str, State], batches: dict[str, list], repeats: int) -> Iterator[tuple]:
    """(precision, seconds for an example) of each pass, in turn: what slows the machine down for a
    while slows all of them."""
    first = next(iter(states))
    rounds = max(1, round(LONG_ENOUGH / seconds_for(states[first], first, batches[first])))
    for _ in range(repeats):
        for precision, state in states.items():
            passes = rounds * batches[precision]
            took = seconds_for(state, precision, passes)
            yield precision, took / sum(count(targets_of(batch)) for batch in passes)


def seconds_for(state: State, precision: str, batches: list) -> float:
    """Of forward passes, one after the other."""
    with judging(state, precision):
        since = time.perf_counter()
        for batch in batches:
            forward(state, batch)
        return time.perf_counter() - since


def targets_of(batch: Any) -> Any:
    """What tells how many examples a batch has."""
    return called(lambda *inputs, **named: None, batch)[1]


def bytes_of(state: State, precision: str, batch: Any) -> dict[str, int]:
    """Bytes of the weights, and of activations at the peak, for one batch.

    With one thread: others that wake late keep for a while what they were given."""
    before = get_num_threads()
    try:
        set_num_threads(1)
        with judging(state, precision), measure_forward(state) as peak:
            forward(state, batch)
    finally:
        set_num_threads(before)
    return peak


def typical(times: list[float]) -> float | None:
    """The median, of which nothing is known without a pass."""
    return median(times) if times else None
