"""Each exercise takes what is right, and says of what is typically wrong what is wrong with it."""

from importlib import import_module
from pathlib import Path

import pytest

from minifp.teach import checking
from minifp.teach.exercise import all_exercises
from minifp.teach.lessons import LESSONS

FOLDER = Path(__file__).parent / "answers"
FILES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
ANSWERS = {
    name: answers
    for file in FILES
    for name, answers in import_module(f"teach.answers.{file}").ANSWERS.items()
}


def test_every_exercise_has_answers_here():
    assert {*ANSWERS} == {*all_exercises()}
    assert {exercise.lesson for exercise in all_exercises().values()} <= {*LESSONS}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_right_is_taken(name):
    for answer in ANSWERS[name].right:
        assert checking.check(**{name: answer}), checking.check(**{name: answer})


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_wrong_gets_a_counterexample_and_one_hint_after_another(name):
    exercise = all_exercises()[name]
    assert len(ANSWERS[name].wrong) >= 3 and len({*exercise.hints}) == 3
    for i, (answer, part) in enumerate(ANSWERS[name].wrong):
        verdict = checking.check(**{name: answer})
        assert not verdict
        assert part in verdict.said
        assert verdict.hint == exercise.hints[min(i, 2)]


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_not_written_yet_is_no_try(name):
    assert "not written" in checking.check(**{name: ...}).said
    assert not checking.check(**{name: ...}).hint
