"""A view that follows training in a terminal: drawn in place, or a line at a time elsewhere."""

import shutil
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from minifp.scope import live_text
from minifp.scope.record import Record

INTERVAL = 0.1  # seconds between two drawings
UP, CLEAR_LINE, CLEAR_BELOW = "\x1b[{}F", "\x1b[2K", "\x1b[J"


class Lines:
    """A line for each step that was looked at, for files and pipes."""

    def __init__(self, title: str, total: int, out: TextIO) -> None:
        self.out, self.count = out, 0
        self.write(f"{title}: {total:,} steps")

    def write(self, text: str) -> None:
        """A line, at once."""
        self.out.write(f"{text}\n")
        self.out.flush()

    def follow(self, scope: Record, losses: Sequence[float]) -> None:
        """Tell of a step if it was looked at."""
        if len(scope.steps) > self.count:
            self.count = len(scope.steps)
            self.write(live_text.in_a_line(scope, losses))

    def finish(self) -> None:
        """All is told."""


class Screen:
    """The numbers of the last step and the four histograms, drawn over what was drawn before."""

    def __init__(self, title: str, total: int, out: TextIO) -> None:
        self.title, self.total, self.out = title, total, out
        self.exponents, self.height = range(0), 0
        self.last: tuple[Record, Sequence[float]] | None = None
        self.began = self.latest = time.perf_counter()

    def follow(self, scope: Record, losses: Sequence[float]) -> None:
        """Draw, if it is time."""
        self.last = scope, losses
        if not self.height or time.perf_counter() - self.latest > INTERVAL:
            self.draw(*self.last)

    def finish(self) -> None:
        """Draw the last step."""
        if self.last is not None:
            self.draw(*self.last)

    def draw(self, scope: Record, losses: Sequence[float]) -> None:
        """Everything, over what was drawn before; no line is longer than the terminal is wide."""
        width = shutil.get_terminal_size().columns - 1
        texts = [line[:width] for line in self.lines(scope, losses, width)]
        up = UP.format(self.height) if self.height else ""
        self.out.write(up + "".join(f"{CLEAR_LINE}{line}\n" for line in texts) + CLEAR_BELOW)
        self.out.flush()
        self.height, self.latest = len(texts), time.perf_counter()

    def lines(self, scope: Record, losses: Sequence[float], width: int) -> list[str]:
        """What is drawn."""
        rate = scope.count / max(time.perf_counter() - self.began, 1e-9)
        lines = [f"{self.title}: step {scope.count:,} of {self.total:,}, {rate:.3g} steps/s"]
        lines += [f"  {name:14}{value}" for name, value in live_text.numbers(scope, losses).items()]
        if not scope.steps:
            return lines
        step = scope.steps[-1]
        self.exponents = live_text.exponents_of(step, self.exponents)
        where = f"As stored in step {step.step}; gradients are multiplied by the loss scale:"
        marks = marks_for(self.out)
        return [*lines, "", where, *live_text.histograms(step, self.exponents, width, marks)]


def marks_for(out: TextIO) -> str:
    """Blocks, or signs of ASCII where the encoding has none."""
    try:
        live_text.BLOCKS.encode(out.encoding or "ascii")
    except UnicodeEncodeError:
        return live_text.ASCII
    return live_text.BLOCKS


def view(title: str, total: int) -> Lines | Screen:
    """What suits standard output."""
    kind = Screen if sys.stdout.isatty() else Lines
    return kind(title, total, sys.stdout)
