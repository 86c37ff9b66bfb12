"""The solution of an exercise, as its lesson's source has it, for whoever has tried."""

import re

from minifp.errors import FileError
from minifp.teach import lessons
from minifp.teach.exercise import Exercise

TRIES = 3  # that fail, before a solution is shown
MARK = re.compile(r"^ *### (?:BEGIN|END) SOLUTION\n", re.M)
CELL = re.compile(r"^# %%.*\n", re.M)


def solution(exercise: Exercise) -> str:
    """The cell with the solution, as Python. Raises FileError where the source is not here."""
    path = lessons.NOTEBOOKS / "source" / f"{exercise.lesson}.py"
    try:
        cells = CELL.split(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"the solutions are not here: {error}") from None
    begins = re.compile(rf"^(?:def {exercise.name}\(|{exercise.name} = )", re.M)
    solved = [cell for cell in cells if MARK.search(cell) and begins.search(cell)]
    if not solved:
        raise FileError(f"{path} has no solution of {exercise.name}")
    return MARK.sub("", solved[0]).strip("\n")


def is_open(done: dict) -> bool:
    """Whether a solution may be shown, by what is kept of the exercise."""
    return done.get("solved", False) or done.get("failed", 0) >= TRIES
