"""What a known mistake is, and how an answer is recognised as one."""

import pkgutil
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from minifp.teach.exercise import Exercise, Words, all_exercises, drawn_from, words_of

CLOSE = 1e-6  # relative: other orders of float32 operations
SEEDS = (1, 2, 3)  # of other cases, on which an answer must agree with a mistake


class Said(str):
    """A pattern in what the judge says, by which a mistake is known."""


# Wrong answers of an exercise by the names that hints/ has for them: an answer, or function, and
# what returns the same makes this mistake; or Said.
Mistakes = Mapping[str, Any]


@dataclass(frozen=True)
class Mistake:
    """hint: what to say of it. answer: a wrong answer; what returns the same makes this mistake.
    said: or, a pattern in what the judge says of it."""

    hint: str
    answer: Any = None
    said: str = ""


def with_hints(words: Words, mistakes: Mistakes) -> tuple[Mistake, ...]:
    """Mistakes with what hints/ has for them."""
    hints = words.of_mistakes
    return tuple(
        Mistake(hints[name], said=of) if isinstance(of, Said) else Mistake(hints[name], of)
        for name, of in mistakes.items()
    )


# Of functions of any exercise.
ANY = words_of("any")["any"]
NOTHING = ANY.of_mistakes["nothing"]
OF_ALL = with_hints(
    ANY,
    {
        "last place": Said("one unit in the last place"),
        "name": Said("it raised (NameError|UnboundLocalError)"),
        "arguments": Said("it raised TypeError: .*positional argument"),
    },
)


@cache
def all_mistakes() -> dict[str, tuple[Mistake, ...]]:
    """By the names of exercises."""
    package = import_module("minifp.teach.mistakes")
    modules = [m.name for m in pkgutil.iter_modules(package.__path__)]
    tables = [import_module(f"{package.__name__}.{name}").MISTAKES for name in modules]
    exercises = all_exercises()
    return {
        name: with_hints(exercises[name].words, mistakes)
        for table in tables
        for name, mistakes in table.items()
    }


class Recorded:
    """The answer of an exercise as its judge by inputs takes it, with all inputs and results."""

    def __init__(self, exercise: Exercise, answer: Any) -> None:
        self.exercise, self.is_function = exercise, callable(answer)
        through = exercise.through if self.is_function else None
        self.answer = partial(through, answer) if through else answer
        self.inputs: list[tuple] = []
        self.results: list = [] if self.is_function else [answer]

    def __call__(self, *inputs: Any) -> Any:
        self.inputs.append(deepcopy(inputs))
        result = self.answer(*inputs)
        self.results.append(result)
        return result

    def judge(self) -> None:
        """Have it judged, only to know inputs and results."""
        with suppress(Exception), quiet():
            self.exercise.by_inputs(self.judged)

    @property
    def judged(self) -> Any:
        """What to give to the judge."""
        return self if self.is_function else self.answer


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: what overflows may be right."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def hint_for(words: str, recorded: Recorded) -> str:
    """The hint of the known mistake that a wrong answer is, "" if it is none.

    words: what the judge has said of it. recorded: how it was judged.
    """
    results = recorded.results
    if recorded.is_function and results and all(result is None for result in results):
        return NOTHING
    for mistake in (*all_mistakes().get(recorded.exercise.name, ()), *OF_ALL):
        if mistake.said and re.search(mistake.said, words):
            return mistake.hint
        if not mistake.said and is_like(recorded, mistake.answer):
            return mistake.hint
    return ""


def is_like(recorded: Recorded, answer: Any) -> bool:
    """Whether what a judge found wrong is this answer: where the judge stopped, and on all other
    inputs on which known mistakes are tried."""
    known = Recorded(recorded.exercise, answer)
    known.judge()
    if len(known.results) != len(recorded.results) or not known.results:
        return False
    if not alike(recorded.results[-1], known.results[-1]):
        return False
    inputs = inputs_of(recorded.exercise.name) if known.is_function else ()
    return all(alike(*map(partial(called, one), (recorded, known))) for one in inputs)


@cache
def inputs_of(name: str) -> list[tuple]:
    """On which the known mistakes of an exercise are tried, with several draws of its cases."""
    inputs: list[tuple] = []
    for mistake in all_mistakes()[name]:
        tried = Recorded(all_exercises()[name], mistake.answer)
        for seed in SEEDS if tried.is_function else ():
            with drawn_from(seed):
                tried.judge()
        inputs += tried.inputs
    return inputs


def called(inputs: tuple, recorded: Recorded) -> Any:
    """What a function returns for inputs; the kind of error where it raises one."""
    try:
        with quiet():
            return recorded.answer(*deepcopy(inputs))
    except Exception as error:
        return type(error).__name__


def alike(one: Any, other: Any) -> bool:
    """Whether two results are the same but for roundings."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {*one} == {*other} and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if any(x is None or isinstance(x, (str, set)) for x in (one, other)):
        return type(one) is type(other) and one == other
    with suppress(TypeError, ValueError):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape == b.shape:
            return bool(np.allclose(a, b, CLOSE, 0, equal_nan=True))
    return False
