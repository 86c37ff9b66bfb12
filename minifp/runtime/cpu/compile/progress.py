"""One line on a terminal while kernels are compiled; nothing where they come from the cache."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Progress:
    """The line, which goes when nothing is being compiled any more.

    tell: what is called with each title in place of showing it, where somebody has a line already.
    """

    def __init__(self) -> None:
        self.bar: Any = None
        self.tell: Callable[[str], object] | None = None
        self.depth, self.lock = 0, threading.Lock()
        self.since, self.seconds = 0.0, 0.0  # of what is compiled now, and of all before

    def begin(self, title: str | None) -> None:
        """Something is compiled; with a title it is named, unless it is part of something else."""
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.since = time.perf_counter()
                if title is not None:
                    (self.tell or self._show)(title)

    def end(self) -> None:
        """It is done."""
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.perf_counter() - self.since
                if self.bar is not None:
                    self.bar.clear()

    def _show(self, title):
        try:
            from tqdm import tqdm
        except ImportError:
            return
        if self.bar is None:
            self.bar = tqdm(
                desc="minifp compiles its kernels for this CPU, once",
                leave=False,
                delay=1e-9,
                file=sys.stderr,
                disable=None,  # but on a terminal
                bar_format="{desc}: {n_fmt} kernels{postfix}",
            )
        self.bar.set_postfix_str(f"{self.seconds:.1f} s, {title}", refresh=False)
        self.bar.n += 1
        self.bar.refresh()


PROGRESS = Progress()


@contextmanager
def compiling(title: str) -> Iterator[None]:
    """Say, while it lasts, that a kernel is compiled."""
    try:
        PROGRESS.begin(title)  # what is told may refuse it, as the doctor does
        yield
    finally:
        PROGRESS.end()
