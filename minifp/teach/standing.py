"""How far a student has come: lesson by lesson, read from what is kept on the machine."""

from dataclasses import asdict, dataclass, field
from typing import Any

from minifp.teach import progress
from minifp.teach.exercise import Exercise, all_exercises
from minifp.teach.lessons import LESSONS, Lesson, lessons_here

OUTSIDE = Lesson("", "Outside of lessons", "", 0)  # what was predicted before any lesson was begun


@dataclass(frozen=True)
class Tried:
    """An exercise. failed: how many tries were wrong."""

    name: str
    title: str
    solved: bool = False
    failed: int = 0

    @property
    def begun(self) -> bool:
        """Whether there was a try."""
        return self.solved or self.failed > 0


@dataclass
class Standing:
    """One lesson: the first guesses by their questions, later ones, and all of its exercises.

    later: see progress.py; None where the answer was looked at without a guess.
    """

    lesson: Lesson
    predictions: dict[str, Any] = field(default_factory=dict)
    exercises: list[Tried] = field(default_factory=list)
    later: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def solved(self) -> int:
        """How many exercises."""
        return sum(exercise.solved for exercise in self.exercises)

    @property
    def tried(self) -> int:
        """How many exercises have been tried, and are not solved."""
        return sum(exercise.begun for exercise in self.exercises) - self.solved

    @property
    def begun(self) -> bool:
        """Whether something of it was done."""
        return bool(self.predictions) or self.solved + self.tried > 0

    def to_dict(self) -> dict[str, Any]:
        """The same as data."""
        return asdict(self)


def standings() -> list[Standing]:
    """Of the lessons whose notebooks are here, and others that have been begun, in their order.

    Raises FileError where what should be the file of progress is another.
    """
    content = progress.read()
    by_lesson = {lesson.name: Standing(lesson) for lesson in (*LESSONS.values(), OUTSIDE)}
    for kind in ("predictions", progress.LATER):
        for key, guess in content[kind].items():
            name, _, question = key.partition(": ")
            getattr(by_lesson.get(name, by_lesson[OUTSIDE.name]), kind)[question or key] = guess
    for exercise in all_exercises().values():
        tries = content["exercises"].get(exercise.name, {})
        by_lesson[exercise.lesson].exercises.append(tried(exercise, tries))
    here = {lesson.name for lesson in lessons_here()}
    return [one for name, one in by_lesson.items() if name in here or one.begun]


def tried(exercise: Exercise, tries: dict[str, Any]) -> Tried:
    """An exercise, with what is kept of it."""
    counts = tries.get("solved", False), tries.get("failed", 0)
    return Tried(exercise.name, exercise.words.title, *counts)
