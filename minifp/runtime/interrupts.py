"""Signals that wait: what is done in one piece is cut in two neither by Ctrl-C nor by an alarm."""

import signal as signals
from signal import raise_signal
from types import FrameType
from typing import Any

try:  # the same without enumerations, which are most of the time that a step waits here
    from _signal import getsignal, signal  # type: ignore[import-not-found]
except ImportError:  # of another Python than CPython
    from signal import getsignal, signal

# Those whose handlers raise in programs: Ctrl-C, an end by a scheduler, timeouts.
WAITING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF")
NUMBERS = tuple([int(getattr(signals, name)) for name in WAITING if hasattr(signals, name)])


class uninterrupted:
    """A `with` block that no signal ends which Python handles: it is handled when the block is
    done.

    Only Python's main thread is ever interrupted, so that on others nothing is to be done.
    """

    __slots__ = ("before", "came")

    def __enter__(self) -> None:
        self.came: list[int] = []
        self.before: list[tuple[int, Any]] = []
        try:
            for number in NUMBERS:
                handler = getsignal(number)
                if callable(handler):
                    self.before.append((number, handler))
                    signal(number, self._wait)
        except ValueError:  # on another thread
            self.before = []
        except BaseException:  # of a handler that is not replaced yet
            self._restore()
            raise

    def __exit__(self, *error: object) -> None:
        self._restore()
        if self.came:
            self._handle()

    def _restore(self):
        try:
            while self.before:
                signal(*self.before[-1])
                self.before.pop()
        finally:  # a handler that is back may raise at once
            if self.before:
                self._restore()

    def _handle(self):
        try:
            while self.came:
                raise_signal(self.came.pop(0))
        finally:
            if self.came:
                self._handle()

    def _wait(self, number: int, frame: FrameType | None) -> Any:
        if number not in self.came:
            self.came.append(number)
