"""Right and typical wrong answers of each exercise, a file for each of minifp/teach/exercises.

A file has ANSWERS: by the name of an exercise, the answer that is right, and at least three that
are typically wrong, each with what must be found in what is said of it: the counterexample.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answers:
    """right: one, or several that all are. wrong: pairs of an answer and a part of what is said."""

    right: tuple
    wrong: tuple[tuple[Any, str], ...]
