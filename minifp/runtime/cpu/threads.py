"""How many threads kernels may use: MINIFP_THREADS, or as many as the cores of this process."""

import math
import os

from minifp.errors import ArgumentError
from minifp.runtime import groups, variables


def cores() -> int:
    """How many cores this process may use: those it may run on, or as many as its quota of time
    fills, where that is less."""
    many = hasattr(os, "sched_getaffinity")
    there = len(os.sched_getaffinity(0)) if many else os.cpu_count() or 1
    return max(1, math.ceil(min(there, groups.cores())))


def from_environment() -> int:
    """What MINIFP_THREADS says, or else the cores. Raises ArgumentError for what is no number."""
    return int(variables.read("MINIFP_THREADS") or cores())


number = from_environment()  # how many threads a kernel may use, the caller's included


def get_num_threads() -> int:
    """How many threads a kernel may use, the caller's included."""
    return number


def set_num_threads(count: int) -> None:
    """Let kernels use this many threads from now on; results do not depend on it.

    Raises ArgumentError for what is no integer from 1 to 1024.
    """
    global number
    if (
        not isinstance(count, int)
        or isinstance(count, bool)
        or not 1 <= count <= variables.MOST_THREADS
    ):
        raise ArgumentError(
            f"set_num_threads({count!r}): expected an integer from 1 to {variables.MOST_THREADS}"
        )
    number = count
