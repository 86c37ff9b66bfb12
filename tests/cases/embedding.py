"""Rows of a table by number."""

import numpy as np

import minifp.nn.functional as F
from cases.case import Case

INDEX = np.array([[0, 3, 3], [1, 3, 0]])

CASES = [
    *(
        Case(
            *("embedding", lambda w, i=i: F.embedding(i, w), ((4, 3),)),
            torch=lambda t, w, i=i: t.nn.functional.embedding(t.tensor(i), w),
        )
        for i in (INDEX, np.array(2), np.zeros((2, 0), int))
    ),
]
