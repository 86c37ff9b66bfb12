"""How many threads kernels may use: MINIFP_THREADS, or as many as the cores of this process."""

import os

from minifp.errors import ArgumentError

MOST = 1024  # threads: more are a mistake, and would not all be given by the system


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def from_environment() -> int:
    """What MINIFP_THREADS says, or else the cores. Raises ArgumentError for what is no number."""
    text = os.environ.get("MINIFP_THREADS")
    if text and not (text.isdecimal() and 1 <= int(text) <= MOST):
        raise ArgumentError(
            f"environment variable MINIFP_THREADS={text!r}: expected a number of threads, 1 to "
            f"{MOST}, or none for all {cores()} cores"
        )
    return int(text) if text else cores()


_count = from_environment()


def get_num_threads() -> int:
    """How many threads a kernel may use, the caller's included."""
    return _count


def set_num_threads(count: int) -> None:
    """Let kernels use this many threads from now on; results do not depend on it.

    Raises ArgumentError for what is no integer from 1 to 1024.
    """
    global _count
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST:
        raise ArgumentError(f"set_num_threads({count!r}): expected an integer from 1 to {MOST}")
    _count = count
