"""The limits that Linux sets to groups of processes, as containers and schedulers of clusters do.

Read here and not by a library: loky's `cpu_count`, which takes 50 ms to import, reads the group of
a container alone, and no library reads the memory. Elsewhere than on Linux there are none.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
# The files of version 2 and of version 1: microseconds of all cores together in each period;
CORES = (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
# limit and use, and what the use has of files, which can be freed.
BYTES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def folders(kind: str) -> Iterator[Path]:
    """Where the limits of a kind, "cpu" or "memory", stand that hold for this process: those of
    its group, and of all that it is in."""
    with suppress(OSError, ValueError):
        for line in (PROC / "self" / "cgroup").read_text(encoding="utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            top = GROUPS / kind if kinds else GROUPS
            if not kinds or kind in kinds.split(","):
                own = top / path.strip("/")
                yield from (f for f in (own, *own.parents) if f.is_relative_to(top))


def words(folder: Path, *names: str) -> list[str]:
    """All words of some files. Raises OSError where one is not there."""
    return [w for name in names for w in (folder / name).read_text(encoding="utf-8").split()]


def cores() -> float:
    """How many cores' time this process may use; inf where nothing limits it."""
    least = math.inf
    for folder in folders("cpu"):
        for names in CORES:
            with suppress(OSError, ValueError):  # as "max" is no number
                quota, period = map(int, words(folder, *names))
                if quota > 0 and period > 0:
                    least = min(least, quota / period)
    return least


def bytes_left() -> float:
    """How many bytes this process may still take; inf where nothing limits it."""
    least = math.inf
    for folder in folders("memory"):
        for limit, used, cache in BYTES:
            with suppress(OSError, ValueError):
                most, now = map(int, words(folder, limit, used))
                stat = words(folder, "memory.stat")
                least = min(least, most - now + int(dict(zip(stat[::2], stat[1::2])).get(cache, 0)))
    return least
