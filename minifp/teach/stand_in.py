"""What later cells use of an exercise: an answer that is right, and minifp's until there is one."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.teach.exercise import all_exercises


def or_solution(answer: Callable[..., Any], solution: Callable[..., Any]) -> Callable[..., Any]:
    """A student's function if it is right, else a solution, which a line on the screen says.

    answer: the function of an exercise, by whose name it is found. No try is counted.
    """
    exercise = all_exercises()[answer.__name__]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wrong = exercise.judge(answer)
        except Exception:
            wrong = "it raises"
    if not wrong:
        return answer
    from IPython.display import Markdown, display

    display(
        Markdown(
            f"*The exercise “{exercise.words.title}” is still open: this cell uses minifp's solution, "
            "and yours once it is right.*"
        )
    )
    return solution
