"""Whether there is memory for another run: what one takes at most, against what is free.

Before any has ended, what one takes is guessed from a step; then it is the most that a process has
held. It is known on Linux, from /proc; elsewhere no run is held back.
"""

import os
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from minifp.runtime.callers import level_of_user

INTERPRETER = 200 * 2**20  # bytes: Python, NumPy, minifp and its compiled kernels
WORKSPACE = 1.5  # times the bytes of a step that it takes, with what operations need meanwhile
PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
# Limit and use of a group of processes, as schedulers of clusters set it: version 2, version 1.
LIMITS = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


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
        free = available()
        if free is None:
            return True
        processes = [*busy, process]
        growth = sum(max(0, self.needed - resident(p)) for p in processes)
        if growth <= free:
            return True
        if not self.has_warned:
            self.has_warned = True
            warnings.warn(
                f"a run takes about {gib(self.needed)}, and {gib(free)} are free: "
                f"{len(processes) - 1} at a time instead of {asked}, until there is more",
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


# ---- what the system tells -----------------------------------------------------------------------


def available() -> int | None:
    """Bytes that are free for processes of this one; None where the system tells nothing."""
    try:
        lines = (PROC / "meminfo").read_text(encoding="utf-8").splitlines()
        found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        return None
    return min([*found, *_left_in_groups()], default=None)


def _left_in_groups():
    """What is left of the limits of the groups that this process is in."""
    with suppress(OSError):
        for line in (PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            for kind, limit, used, cache in LIMITS:
                folder = GROUPS / kind / path.strip("/")
                if kinds == kind:
                    yield from _left(folder, limit, used, cache)


def _left(folder, limit, used, cache):
    with suppress(OSError, ValueError):  # as "max" is no number
        most, now = (int((folder / name).read_text(encoding="utf-8")) for name in (limit, used))
        stat = (folder / "memory.stat").read_text(encoding="utf-8").split()
        yield most - now + int(dict(zip(stat[::2], stat[1::2])).get(cache, 0))


def resident(process: int) -> int:
    """Bytes that a process holds now; 0 where it is not there, or the system tells nothing."""
    with suppress(OSError, ValueError, IndexError):
        pages = int((PROC / str(process) / "statm").read_text(encoding="utf-8").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def peak() -> int:
    """Bytes that this process held at most; 0 where the system tells nothing."""
    with suppress(OSError, ValueError, IndexError):
        status = (PROC / "self" / "status").read_text(encoding="utf-8").split()
        return int(status[status.index("VmHWM:") + 1]) * 1024
    return 0
