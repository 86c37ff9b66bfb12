"""How many threads kernels may use: MINIFP_THREADS, or as many as the cores of this process."""

import os

from minifp.errors import ArgumentError

_count: int | None = None  # until it is asked for


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """How many threads a kernel may use, the caller's included."""
    global _count
    if _count is None:
        given = os.environ.get("MINIFP_THREADS")
        if given and not (given.isdecimal() and int(given) > 0):
            raise ArgumentError(
                f"environment variable MINIFP_THREADS={given!r}: expected a number of threads"
            )
        _count = int(given) if given else cores()
    return _count


def set_num_threads(count: int) -> None:
    """Let kernels use this many threads from now on; results do not depend on it.

    Raises ArgumentError for what is no integer of at least 1.
    """
    global _count
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ArgumentError(f"set_num_threads({count!r}): expected an integer of at least 1")
    _count = count
