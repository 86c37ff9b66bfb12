"""Ctrl-C that waits: what is done in one piece is not cut in two."""

from signal import SIGINT, raise_signal
from types import FrameType
from typing import Any

try:  # the same without enumerations, which are most of the time that a step waits here
    from _signal import getsignal, signal  # type: ignore[import-not-found]
except ImportError:  # of another Python than CPython
    from signal import getsignal, signal

NUMBER = int(SIGINT)


class uninterrupted:
    """A `with` block that Ctrl-C (SIGINT) does not end: it is handled when the block is done.

    Only Python's main thread is ever interrupted, so that on others nothing is to be done.
    """

    __slots__ = ("before", "came")

    def __enter__(self) -> None:
        self.came, self.before = False, getsignal(NUMBER)
        if self.before is not None:  # as it is where others than Python handle it
            try:
                signal(NUMBER, self._wait)
            except ValueError:  # on another thread
                self.before = None

    def __exit__(self, *error: object) -> None:
        if self.before is not None:
            signal(NUMBER, self.before)
        if self.came:
            raise_signal(SIGINT)

    def _wait(self, number: int, frame: FrameType | None) -> Any:
        self.came = True
