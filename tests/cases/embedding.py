"""Rows of a table by number."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minifp.nn.functional as F
from cases.case import Case, drawn


def embedding(index, shape, **settings):
    return Case(
        *("embedding", lambda w: F.embedding(index, w, **settings), (shape,)),
        torch=lambda t, w: t.nn.functional.embedding(t.tensor(index), w, **settings),
    )


INDEX = np.array([[0, 3, 3], [1, 3, 0]])

# With padding_idx the gradient is not the slope: that is drawn only.
CASES = [embedding(i, (4, 3)) for i in (INDEX, np.array(2), np.zeros((2, 0), int))]


@drawn("embedding")
def draw_embedding(draw, name):
    rows = draw(st.integers(1, 4))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    index = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, rows - 1)))
    padding_idx = draw(st.none() | st.integers(-rows, rows - 1))
    return embedding(index, (rows, draw(st.integers(0, 3))), padding_idx=padding_idx)
