"""Whether there is memory for another run: what one takes at most, against what is free.

Before any has ended, what one takes is guessed from a step; then it is the most that a process has
held. Where the system does not tell what is free, no run is held back.
"""

import warnings
from collections.abc import Iterable

from minifp.runtime import processes
from minifp.runtime.callers import level_of_user

INTERPRETER = 200 * 2**20  # bytes: Python, NumPy, minifp and its compiled kernels
WORKSPACE = 1.5  # times the bytes of a step that it takes, with what operations need meanwhile


class Room:
    """What is held against what is free. guess: bytes of a run, before one is known."""

    def __init__(self, guess: int) -> None:
        self.needed, self.is_measured, self.has_warned = guess, False, False

    def learn(self, peak: int) -> None:
        """A process has held so many bytes at most, as far as is known."""
        if peak:
            self.needed = max(peak, self.needed if self.is_measured else 0)
            self.is_measured = True

    def is_for_another(self, busy: Iterable[int], process: int, asked: int) -> bool:
        """Whether one more run can begin in a process, beside those of the processes in `busy`,
        which still grow. Warns, once, where not. asked: how many runs at a time were asked for."""
        free = processes.available()
        if free is None:
            return True
        asked_of = [*busy, process]
        growth = sum(max(0, self.needed - processes.resident(p)) for p in asked_of)
        if growth <= free:
            return True
        if not self.has_warned:
            self.has_warned = True
            warnings.warn(
                f"a run takes about {gib(self.needed)}, and {gib(free)} are free: "
                f"{len(asked_of) - 1} at a time instead of {asked}, until there is more",
                RuntimeWarning,
                stacklevel=level_of_user(),
            )
        return False


def guess(arrays: int, steps: Iterable[dict[str, int]]) -> int:
    """Bytes of a process that trains. arrays: of its data; steps: `Run.bytes` of single steps."""
    return INTERPRETER + arrays + int(WORKSPACE * max((sum(s.values()) for s in steps), default=0))


def array_bytes(data) -> int:
    """The bytes of the arrays of data sets, of those that have any."""
    return sum(a.nbytes for dataset in data for a in getattr(dataset, "arrays", ()))


def gib(count: float) -> str:
    """A number of bytes."""
    return f"{count / 2**30:.1f} GiB"
