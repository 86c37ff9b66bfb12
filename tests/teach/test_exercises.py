"""Each exercise takes what is right, and says of what is typically wrong what is wrong with it."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from minifp.teach import checking
from minifp.teach.exercise import all_exercises
from minifp.teach.lessons import LESSONS
from minifp.teach.mistake import NOTHING, OF_ALL, all_mistakes

FOLDER = Path(__file__).parent / "answers"
FILES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
ANSWERS = {
    name: answers
    for file in FILES
    for name, answers in import_module(f"teach.answers.{file}").ANSWERS.items()
}


def test_every_exercise_has_answers_here():
    assert {*ANSWERS} == {*all_exercises()} == {*all_mistakes()}
    assert {exercise.lesson for exercise in all_exercises().values()} <= {*LESSONS}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_right_is_taken(name):
    for answer in ANSWERS[name].right:
        assert checking.check(**{name: answer}), checking.check(**{name: answer})


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_wrong_gets_a_counterexample_and_the_hint_of_its_mistake_or_the_next_one(name):
    exercise, known = all_exercises()[name], all_mistakes().get(name, ())
    parts = ANSWERS[name].known
    wrong = [(m.answer, parts.get(i, ""), m.hint) for i, m in enumerate(known) if not m.said]
    wrong += [(answer, part, "") for answer, part in ANSWERS[name].wrong]
    assert len(wrong) >= 3 and len({*exercise.words.hints}) == 3
    tried, hits = set(), set()
    named = {mistake.hint for mistake in (*known, *OF_ALL)} | {NOTHING}
    for answer, part, hint in wrong:
        verdict = checking.check(**{name: answer})
        tried.add(verdict.said)
        next_one = exercise.words.hints[min(len(tried), 3) - 1]
        assert not verdict and part in verdict.said
        assert verdict.hint == (hint or verdict.hint) and verdict.hint in {*named, next_one}
        assert checking.check(**{name: answer}).hint == verdict.hint  # and is no new try
        hits.add(verdict.hint)
    assert {mistake.hint for mistake in known} <= hits


@pytest.mark.parametrize(("answer", "hint"), [
    (lambda x: np.where(np.abs(x) < 9, np.nextafter(x.astype("f2"), np.float16(9)), x.astype("f2")),
     OF_ALL[0].hint),
    (lambda x: unknown(x), OF_ALL[1].hint),  # noqa: F821
    (lambda: 1, OF_ALL[2].hint),
    (lambda x: None, NOTHING),
])  # fmt: skip
def test_mistakes_of_any_exercise_have_hints(answer, hint):
    assert checking.check(round_f16=answer).hint == hint


def test_what_only_begins_like_a_mistake_is_not_named_and_wrong_answers_are_remembered(own_file):
    def partly(bits):
        return 2.0**-bits if bits == 10 else 7.0

    first, *_ = all_exercises()["rounding_error"].words.hints
    for _ in range(2):  # as if the notebook had been begun again
        assert checking.check(rounding_error=partly).hint == first
        checking._tries.clear()


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_not_written_yet_is_no_try(name):
    assert "not written" in checking.check(**{name: ...}).said
    assert not checking.check(**{name: ...}).hint
