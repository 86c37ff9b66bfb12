"""`check`: whether an answer is right, and if not, the first counterexample and a hint."""

import traceback
import zlib
from dataclasses import dataclass
from typing import Any

from minifp.errors import ArgumentError, MinifpError
from minifp.teach import glossary, mode, progress
from minifp.teach.exercise import Exercise, Judge, exercise_named
from minifp.teach.mistake import Recorded, hint_for, quiet

UNWRITTEN = "it is not written yet"
MOST = 50  # wrong answers that are remembered


class WrongAnswerError(MinifpError, AssertionError):
    """A solution that is shown as right, and is not."""


class NoAnswerError(MinifpError):
    """Why a function of a student's that runs elsewhere gave no answer, as it is told."""


@dataclass(frozen=True)
class Verdict:
    """What `check` says of an answer: true where it is right.

    said: what is wrong, "" if nothing is. hint: of the mistake it is, or the exercise's next one.
    """

    exercise: Exercise
    said: str
    hint: str

    def __bool__(self) -> bool:
        return not self.said

    def _told(self) -> str:
        title = f"**{self.exercise.words.title}**"
        if self:
            return f"✓ {title}: right."
        hint = f"\n\n*Hint*: {self.hint}" if self.hint else ""
        return f"✗ {title}: {self.said}.{hint}"

    def _repr_markdown_(self) -> str:
        return glossary.linked(self._told())

    def __repr__(self) -> str:
        return glossary.plain(self._told()).replace("**", "").replace("*Hint*", "Hint")


_tries: dict[str, dict] = {}  # of each exercise, in this process: see _kept_tries


def check(*function: Any, **answer: Any) -> Verdict:
    """Judge an answer, without ever stopping a notebook.

    check(round_f16) judges a function as the exercise of its name; check(zero_below=3e-8) judges
    what is no function as that of the keyword. A known mistake is named by a hint of its own; with
    others each try that fails shows the next hint, unless the same was answered before.
    Where answers are shown (MINIFP_TEACH=show), a wrong one raises WrongAnswerError. Raises
    ArgumentError for a name that is no exercise's.
    """
    exercise, value = _meant(function, answer)
    recorded = Recorded(exercise, value)
    said = judged(exercise.by_inputs, recorded.judged)
    hint = "" if said == UNWRITTEN else _hint_after(exercise, said, recorded)
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
    [(name, value)] = named.items()
    return exercise_named(name), value


def _hint_after(exercise: Exercise, said: str, recorded: Recorded) -> str:
    """The hint after one more try, which is counted unless it has been made before: of the mistake
    it is, else the next one; "" if nothing was wrong."""
    before = _tries.get(exercise.name, _kept_tries(exercise))
    mark, wrong = zlib.crc32(said.encode()), [*before.get("wrong", [])]
    failed = before.get("failed", 0) + bool(said and mark not in wrong)
    if said and mark not in wrong:
        wrong = [*wrong, mark][-MOST:]
    tried = {"solved": not said, "failed": failed, "wrong": wrong}
    _tries[exercise.name] = tried
    progress.keep("exercises", exercise.name, tried)
    if not said:
        return ""
    hints = exercise.words.hints
    return hint_for(said, recorded) or hints[min(failed, len(hints)) - 1]


def _kept_tries(exercise):
    """What is kept of an exercise: solved, failed, and wrong, a number for each wrong answer."""
    return {} if mode.shows_answers() else progress.read()["exercises"].get(exercise.name, {})


def judged(judge: Judge, value: Any) -> str:
    """What is wrong with an answer, also one that raises; "" if nothing is."""
    if value is ...:
        return UNWRITTEN
    try:
        with quiet():
            return judge(value) or ""
    except NotImplementedError:
        return UNWRITTEN
    except NoAnswerError as error:
        return str(error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"it raised {type(error).__name__}: {error} (line {where.lineno} of {where.name})"
