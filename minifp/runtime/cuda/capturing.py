"""What is known while a step is captured, or looked at before it is: see training/graphs.py.

A graph repeats what was launched: the same kernels, on the same places in memory, with the same
numbers. So nothing may be read by the host or come from it while a step is captured, and numbers
that change from step to step must be in the GPU's memory. Whatever does one of these notes it here,
with the line of the user's that did it.
"""

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from minifp.errors import CaptureError
from minifp.runtime.callers import line_of_user

now: "Notes | None" = None  # of the step that is being captured or looked at


class Uncounted:
    """An argument of a kernel that may change from step to step: a graph has it elsewhere."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Notes:
    """What a step does that matters for a graph.

    launches: (kernel, numbers it was given, line) in order. refused: (what, line) of what no graph
    can do. before, after: what the host has to do before and after each launch of the graph. last:
    what launches the last kernels of the graph. undo: what takes back what the host did, where
    there is no graph in the end.
    captures: whether the stream captures, so that nothing is done but noted.
    """

    def __init__(self, captures: bool) -> None:
        self.captures = captures
        self.launches: list[tuple] = []
        self.refused: list[tuple] = []
        self.before: dict[Any, Callable[[], None]] = {}
        self.after: dict[Any, Callable[[], None]] = {}
        self.last: list[Callable[[], None]] = []
        self.undo: dict[Any, Callable[[], None]] = {}
        self.streams: dict[str, Any] = {}  # of random numbers: see ops/dropout_cuda.py
        self.own_work = 0  # how deep in what minifp does beside the step

    def refuse(self, what: str) -> None:
        """Note what no graph can do; while the stream captures, raise CaptureError."""
        if not self.own_work:
            self.forbid(what)

    def forbid(self, what: str) -> None:
        """The same, also of what minifp does beside the step."""
        self.refused.append((what, line_of_user()))
        if self.captures:
            self.check()

    def check(self) -> None:
        """Raise CaptureError for the first thing that was refused."""
        if self.refused:
            what, line = self.refused[0]
            raise CaptureError(f"a step cannot be captured that {what}: {line}")


@contextmanager
def noting(notes: Notes):
    """Let `notes` be those of now, in a `with` block."""
    global now
    before, now = now, notes
    try:
        yield notes
    finally:
        now = before


@contextmanager
def beside_the_step():
    """What is done here, by minifp, is not part of a step: it is not noted."""
    notes = now
    if notes is not None:
        notes.own_work += 1
    try:
        yield
    finally:
        if notes is not None:
            notes.own_work -= 1


def launched(name: str, numbers: tuple) -> None:
    """Note a launch, if somebody looks: of what, and with which numbers."""
    if now is not None and not now.own_work:
        now.launches.append((name, numbers, line_of_user()))


def refuse(what: str) -> None:
    """Note what no graph can do, if somebody looks."""
    if now is not None:
        now.refuse(what)


def compare(first: Notes, second: Notes) -> None:
    """Raise CaptureError where two steps launched other kernels, or with other numbers."""
    for a, b in zip(first.launches, second.launches):
        if a[0] != b[0]:
            raise CaptureError(
                f"a step cannot be captured that does something else every time: {b[2]} (it "
                f"launched {b[0]}, and {a[0]} before)"
            )
        if a[1] != b[1]:
            changed = next(((x, y) for x, y in zip(a[1], b[1]) if x != y), (a[1], b[1]))
            raise CaptureError(
                f"a step cannot be captured with a number that changes: {changed[0]!r} became "
                f"{changed[1]!r} at {b[2]} (in {b[0]}); a graph would keep it: make it a tensor on "
                "the GPU that is changed in place, or an argument of the step"
            )
    if len(first.launches) != len(second.launches):
        longer = max(first, second, key=lambda notes: len(notes.launches))
        extra = longer.launches[min(len(first.launches), len(second.launches))]
        raise CaptureError(
            f"a step cannot be captured that does more at some times than at others: {extra[2]}"
        )
