"""Right and typical wrong answers of each exercise, a file for each of minifp/teach/exercises.

A file has ANSWERS: by the name of an exercise, the answers that are right, and at least three that
are typically wrong, each with what must be found in what is said of it: the counterexample.
"""


class Answers:
    """right: those that all are. wrong: pairs of an answer and a part of what is said."""

    def __init__(self, right, *wrong):
        self.right, self.wrong = right, wrong
