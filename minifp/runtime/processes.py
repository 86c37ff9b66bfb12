"""What the system tells of memory and of processes, by psutil: on Linux, macOS and Windows.

Where psutil is not, as in a browser, nothing is known: None, or 0.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from minifp.runtime import groups


def psutil() -> Any:
    """The library, imported when it is first asked; None where it is not there."""
    try:
        return import_module("psutil")
    except ImportError:
        return None


def available() -> int | None:
    """Bytes that are free for processes of this one; None where the system tells nothing."""
    library = psutil()
    return library and int(min(library.virtual_memory().available, groups.bytes_left()))


def resident(process: int) -> int:
    """Bytes that a process holds now; 0 where it is not there, or the system tells nothing."""
    memory = _memory_of(process)
    return 0 if memory is None else memory.rss


def peak() -> int:
    """Bytes that this process held at most; 0 where the system tells nothing."""
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with suppress(OSError, ValueError, IndexError):  # Linux, where it can begin anew
        status = (groups.PROC / "self" / "status").read_text(encoding="utf-8").split()
        return int(status[status.index("VmHWM:") + 1]) * 1024
    return getattr(_memory_of(os.getpid()), "peak_wset", 0)  # Windows


def _memory_of(process: int) -> Any:
    if library := psutil():
        with suppress(library.Error, ValueError):
            return library.Process(process).memory_info()
    return None


class Parent:
    """The process `number` that has begun this one. Windows goes on to name it when it has ended,
    so there psutil is asked as well, which knows it from a later one of that number."""

    def __init__(self, number: int) -> None:
        self.number, self.process, self.is_gone = number, None, False
        if library := psutil():
            try:
                self.process = library.Process(number)
            except library.NoSuchProcess:
                self.is_gone = True

    def is_running(self) -> bool:
        """Whether it has not ended."""
        is_there = self.process is None or self.process.is_running()
        return not self.is_gone and is_there and os.getppid() == self.number
