"""What an exercise is: a name, three hints, and a judge of answers."""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

Judge = Callable[[Any], str | None]


@dataclass(frozen=True)
class Exercise:
    """lesson: its notebook's name. judge: given an answer, None if it is right, else what is wrong
    with it: how much of what was tried, and the first counterexample. hints: three, each of which
    tells more than the one before; none of them is the answer."""

    name: str
    lesson: str
    title: str
    hints: tuple[str, str, str]
    judge: Judge


_found: dict[str, Exercise] = {}


def exercise(lesson: str, title: str, *, hints: tuple[str, str, str]) -> Callable[[Judge], Judge]:
    """Make a judge the exercise of its name: `check` finds it by that of the function that is
    checked, or by the keyword in front of an answer that is none."""

    def register(judge: Judge) -> Judge:
        name = judge.__name__
        _found[name] = Exercise(name, lesson, title, hints, judge)
        return judge

    return register


def random_of(name: str) -> np.random.Generator:
    """Random numbers for the cases of an exercise: the same ones in every process."""
    return np.random.default_rng(list(name.encode()))


@cache
def all_exercises() -> dict[str, Exercise]:
    """All of them by name, lesson by lesson."""
    package = import_module("minifp.teach.exercises")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_found.items(), key=lambda found: found[1].lesson))
