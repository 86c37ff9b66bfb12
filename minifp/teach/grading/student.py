"""The process in which a student's code runs: it is told a file and inputs, and answers values.

What it sends is not trusted by anybody: see process.py, which starts it, and wire.py.
"""

import ast
import os
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from minifp.runtime.confinement import confine
from minifp.teach.grading import wire
from minifp.teach.grading.needed import Piece, needed_for, pieces_of

LONGEST = 300  # characters of what is said of an exception


class Line:
    """The pipes to the process that grades."""

    def __init__(self, reading: BinaryIO, writing: BinaryIO) -> None:
        self.reading, self.writing = reading, writing

    def send(self, *said: Any, functions: list | None = None) -> None:
        """A message."""
        self.writing.write(wire.packed([*said], functions))
        self.writing.flush()

    def hear(self) -> list:
        """The next message."""
        return wire.unpacked(wire.read(self.reading), self.function)

    def function(self, place: int) -> Callable[..., Any]:
        """What stands here for a function of the other process."""

        def ask(*inputs: Any) -> Any:
            self.send("ask", place, [*inputs])
            kind, value = self.hear()
            if kind == "raise":
                raise ValueError(value)
            return value

        return ask


def serve(folder: str, readable: Sequence[str], memory: int, seconds: int) -> None:
    """Give up what a student's code must not do, and answer until nobody asks."""
    line = Line(*own_pipes())
    line.send("ready", confine(Path(folder), map(Path, readable), memory, seconds))
    cells: list = []
    pieces: list[Piece] = []
    broken: list[str] = []
    answer: Any = None
    while True:
        try:
            kind, *parts = line.hear()
        except EOFError:
            return
        try:
            if kind == "cells":
                cells = [(place, text.tobytes().decode()) for place, text in parts[0]]
                pieces, broken = pieces_of(cells)
                line.send("read", broken)
            elif kind == "define":
                name, through = parts
                answer = defined(name, through, pieces, line)
            else:
                line.send("result", answer(*parts[0]))
        except NotImplementedError:
            line.send("unwritten")
        except BaseException as error:
            line.send("failed", in_words(error, [place for place, _ in cells]))


def own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The standard streams, put elsewhere: what is printed goes nowhere."""
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    return pipes


def defined(name: str, through: str, pieces: Sequence[Piece], line: Line) -> Any:
    """Run what gives an exercise its answer, and tell a value; a function is kept, to be called.

    through: "module:function" of what hands it its arguments, "" for nothing: see Exercise.
    """
    needed = needed_for(name, pieces)
    if not needed:
        line.send("missing")
        return None
    value = run(needed).get(name, ...)
    if value is ...:
        line.send("unwritten")
    elif not callable(value):
        line.send("value", value)
    else:
        line.send("function")
        return partial(hands_it(through), value) if through else value
    return None


def hands_it(name: str) -> Callable[..., Any]:
    """A function of a module, "module:function"."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def run(pieces: Sequence[Piece]) -> dict[str, Any]:
    """The names of a program of its own that these statements are."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for piece in pieces:
        exec(compile(ast.Module([piece.node], []), piece.place, "exec"), names)
    return names


def in_words(error: BaseException, places: Sequence[str]) -> str:
    """What was raised, and on which line of the student's."""
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in places]
    where = f" (line {lines[-1].lineno} of {lines[-1].filename})" if lines else ""
    said = "".join(c if c.isprintable() else " " for c in str(error)[:LONGEST])
    return f"it raised {type(error).__name__}: {said}{where}"
