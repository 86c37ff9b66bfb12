"""The ordinary steps before one that is captured: what they do is noted and compared.

On the CPU there is nothing to capture: its steps are looked at in the same way, so that what would
not go on a GPU is refused there too.
"""

from collections.abc import Callable
from typing import Any

from minifp.numerics import kernels
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.capturing import Notes, noting

WARM_UP = 3  # steps before the first that is captured: kernels are compiled, memory is laid out


class WarmUp:
    """The first steps with arguments of one kind. notes: of each."""

    def __init__(self) -> None:
        self.notes: list[Notes] = []

    @property
    def is_over(self) -> bool:
        """Whether there have been enough."""
        return len(self.notes) >= WARM_UP

    def step(self, step: Callable, args: Any, notes: Notes) -> Any:
        """Do one, and note what it does."""
        with noting(notes):
            result = step(*args)
        self.notes.append(notes)
        return result

    def check(self) -> None:
        """Raise CaptureError for what was refused so far."""
        for notes in self.notes:
            notes.check()

    def compare(self) -> None:
        """Raise CaptureError where the last two did something else."""
        capturing.compare(*self.notes[-2:])


class HostRun:
    """Steps on the CPU: the first ones are looked at, and refused if no graph could do them."""

    graph = None

    def __init__(self, owner: Any) -> None:
        self.owner, self.warm_up = owner, WarmUp()

    def __call__(self, args: Any) -> Any:
        """A step."""
        if self.warm_up.is_over:
            return self.owner.step(*args)
        if len(self.warm_up.notes) == WARM_UP - 1:
            self.warm_up.check()
        notes = Notes(captures=False)
        calls = OnCalls(notes)
        kernels.observers.append(calls)
        try:
            result = self.warm_up.step(self.owner.step, args, notes)
        finally:
            kernels.observers.remove(calls)
        if self.warm_up.is_over:
            self.warm_up.compare()
        return result


class OnCalls:
    """Notes the kernels that are called on the CPU, and the numbers they are given."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    def on_kernel(self, kernel: Any, args: tuple, results: tuple, formats: Any) -> None:
        """Called by kernels."""
        numbers = tuple(a for a in args if isinstance(a, (int, float)))
        self.notes.launches.append((kernel.name, numbers, capturing.line_of_user()))
