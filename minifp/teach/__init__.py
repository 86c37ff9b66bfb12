"""For lessons: predictions, exercises that check themselves, pictures with their numbers, and the
failures that a lesson arranges and must see.

What is kept of a student's work stays in one file on the student's machine: see progress.py.
"""

from minifp.teach.bit_buttons import bits
from minifp.teach.checking import Verdict, check
from minifp.teach.failures import expect_failure
from minifp.teach.lessons import begin
from minifp.teach.mode import fast_or
from minifp.teach.pictures import explore, show
from minifp.teach.predictions import Prediction, predict
from minifp.teach.stand_in import or_solution
from minifp.teach.withheld import after, explain

__all__ = ["Prediction", "Verdict", "after", "begin", "bits", "check", "expect_failure"]
__all__ += ["explain", "explore", "fast_or", "or_solution", "predict", "show"]
