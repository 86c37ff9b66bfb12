"""What an exercise is: a name, three hints, and a judge of answers.

Its words are in hints/LESSON.md: below the exercise's name its title, a list of hints, of which
each tells more than the one before and none is the answer, and the hints of known mistakes, by
their names (see mistake.py).
"""

import pkgutil
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minifp.errors import ArgumentError
from minifp.runtime.nearest import nearest

Judge = Callable[[Any], str | None]


HINTS = Path(__file__).with_name("hints")
HEADING = re.compile(r"^## (\w+)\n", re.M)
HINT = re.compile(r"^\d\. (.+)", re.M)
OF_MISTAKE = re.compile(r"^- (.+?): (.+)", re.M)


class Words(NamedTuple):
    """Of an exercise. hints: three. of_mistakes: the hint of each known mistake, by its name."""

    title: str
    hints: list[str]
    of_mistakes: dict[str, str]


@cache
def words_of(lesson: str) -> dict[str, Words]:
    """By the names of a lesson's exercises."""
    parts = HEADING.split((HINTS / f"{lesson}.md").read_text(encoding="utf-8"))[1:]
    return {
        name: Words(text.split("\n")[1], HINT.findall(text), dict(OF_MISTAKE.findall(text)))
        for name, text in zip(parts[::2], parts[1::2])
    }


@dataclass(frozen=True)
class Exercise:
    """lesson: its notebook's name. judge: given an answer, None if it is right, else what is wrong
    with it: how much of what was tried, and the first counterexample. through: of a function that
    wants more than plain numbers and arrays, through(function, *inputs) makes it and calls it.
    by_inputs: the judge of what takes these inputs."""

    name: str
    lesson: str
    judge: Judge
    by_inputs: Judge
    through: Callable[..., Any] | None = None

    @property
    def words(self) -> Words:
        """Its title and hints."""
        return words_of(self.lesson)[self.name]


_exercises: dict[str, Exercise] = {}


def exercise(lesson: str, through: Callable[..., Any] | None = None) -> Callable[[Judge], Judge]:
    """Make a judge the exercise of its name: `check` finds it by that of the function that is
    checked, or by the keyword in front of an answer that is none."""

    def register(judge: Judge) -> Judge:
        name = judge.__name__
        of_functions = judge if through is None else lambda answer: judge(partial(through, answer))
        _exercises[name] = Exercise(name, lesson, of_functions, judge, through)
        return judge

    return register


_drawn_from: list[int] = []


def random_of(*of: str | int) -> np.random.Generator:
    """Random numbers for the cases of an exercise, named by texts and numbers from 0 on: the same
    ones in every process, but within `drawn_from`."""
    named = [n for part in of for n in (part.encode() if isinstance(part, str) else [part])]
    return np.random.default_rng([*named, *_drawn_from])


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Have the cases of all exercises drawn from a seed in the `with` block."""
    _drawn_from[:] = [seed]
    try:
        yield
    finally:
        _drawn_from.clear()


@cache
def all_exercises() -> dict[str, Exercise]:
    """All of them by name, lesson by lesson."""
    package = import_module("minifp.teach.exercises")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_exercises.items(), key=lambda item: item[1].lesson))


def exercise_named(name: str) -> Exercise:
    """The exercise of that name. Raises ArgumentError for another, and names the nearest."""
    known = all_exercises()
    if name not in known:
        near = ", ".join(nearest(name, known)) or ", ".join(known)
        raise ArgumentError(f"{name} is no exercise; near are: {near}")
    return known[name]
