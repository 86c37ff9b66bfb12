"""Ctrl-C that waits: what is done in one piece is not cut in two."""

import signal
from types import FrameType
from typing import Any


class uninterrupted:
    """A `with` block that Ctrl-C (SIGINT) does not end: it is handled when the block is done.

    Only Python's main thread is ever interrupted, so that on others nothing is to be done.
    """

    __slots__ = ("before", "came")

    def __enter__(self) -> None:
        self.came, self.before = False, signal.getsignal(signal.SIGINT)
        if self.before is not None:  # as it is where others than Python handle it
            try:
                signal.signal(signal.SIGINT, self._wait)
            except ValueError:  # on another thread
                self.before = None

    def __exit__(self, *error: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        if self.came:
            signal.raise_signal(signal.SIGINT)

    def _wait(self, number: int, frame: FrameType | None) -> Any:
        self.came = True
