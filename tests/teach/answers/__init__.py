"""Right and typical wrong answers of each exercise, a file for each of minifp/teach/exercises.

A file has ANSWERS: by the name of an exercise, the answers that are right, and some that are
typically wrong, each with what must be found in what is said of it: the counterexample. Mistakes
that minifp knows are wrong answers, too: `known` has what is said of them, by their places.
"""


class Answers:
    """right: those that all are. wrong: pairs of an answer and a part of what is said."""

    def __init__(self, right, *wrong, known=()):
        self.right, self.wrong, self.known = right, wrong, dict(known)
