"""`check`: whether an answer is right, and if not, the first counterexample and a hint."""

import traceback
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from minifp.errors import ArgumentError, MinifpError
from minifp.runtime.nearest import nearest
from minifp.teach import mode, progress
from minifp.teach.exercise import Exercise, all_exercises

UNWRITTEN = "it is not written yet"


class WrongAnswerError(MinifpError, AssertionError):
    """A solution that is shown as right, and is not."""


class NoAnswerError(MinifpError):
    """Why a function of a student's that runs elsewhere gave no answer, as it is told."""


@dataclass(frozen=True)
class Verdict:
    """What `check` says of an answer: true where it is right.

    said: what is wrong, "" if nothing is. hint: the next one, of those of the exercise.
    """

    exercise: Exercise
    said: str
    hint: str

    def __bool__(self) -> bool:
        return not self.said

    def _repr_markdown_(self) -> str:
        title = f"**{self.exercise.title}**"
        if self:
            return f"✓ {title}: right."
        hint = f"\n\n*Hint*: {self.hint}" if self.hint else ""
        return f"✗ {title}: {self.said}.{hint}"

    def __repr__(self) -> str:
        return self._repr_markdown_().replace("**", "").replace("*Hint*", "Hint")


_tries: dict[str, int] = {}  # that failed, of each exercise, in this process


def check(*function: Any, **answer: Any) -> Verdict:
    """Judge an answer, without ever stopping a notebook.

    check(round_f16) judges a function as the exercise of its name; check(zero_below=3e-8) judges
    what is no function as that of the keyword. With each try that fails the next hint is shown.
    Where answers are shown (MINIFP_TEACH=show), a wrong one raises WrongAnswerError. Raises
    ArgumentError for a name that is no exercise's.
    """
    exercise, given = _meant(function, answer)
    said = judged(exercise, called(exercise, given))
    hint = "" if said == UNWRITTEN else _hint_after(exercise, said)
    verdict = Verdict(exercise, said, hint)
    if said and mode.shows_answers():
        raise WrongAnswerError(repr(verdict))
    return verdict


def _meant(function, answer):
    """The Exercise and its answer, of the arguments of `check`."""
    if len(function) + len(answer) != 1:
        raise ArgumentError(
            "check takes one answer: a function, as in check(round_f16), or a value named after "
            "its exercise, as in check(zero_below=3e-8)"
        )
    named = {getattr(f, "__name__", repr(f)): f for f in function} | answer
    [(name, given)] = named.items()
    known = all_exercises()
    if name not in known:
        near = ", ".join(nearest(name, known)) or ", ".join(known)
        raise ArgumentError(f"check: {name} is no exercise; near are: {near}")
    return known[name], given


def _hint_after(exercise, said) -> str:
    """The hint after one more try, which is counted and kept; "" if nothing was wrong."""
    tried = _tries[exercise.name] = _tries.get(exercise.name, _kept_tries(exercise)) + bool(said)
    progress.keep("exercises", exercise.name, {"solved": not said, "failed": tried})
    return exercise.hints[min(tried, len(exercise.hints)) - 1] if said else ""


def _kept_tries(exercise):
    return 0 if mode.shows_answers() else _progress_of(exercise).get("failed", 0)


def _progress_of(exercise):
    return progress.read()["exercises"].get(exercise.name, {})


def called(exercise, given):
    """What the judge is given for an answer: itself, or what hands it what it wants."""
    through = exercise.through
    return partial(through, given) if through and callable(given) else given


def judged(exercise: Exercise, given: Any) -> str:
    """What is wrong with an answer, also one that raises; "" if nothing is."""
    if given is ...:
        return UNWRITTEN
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # what overflows may be right
            warnings.simplefilter("ignore")
            return exercise.judge(given) or ""
    except NotImplementedError:
        return UNWRITTEN
    except NoAnswerError as error:
        return str(error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"it raised {type(error).__name__}: {error} (line {where.lineno} of {where.name})"
