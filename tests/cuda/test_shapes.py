"""Every kernel of a GPU at the shapes that its blocks are made for, within the bound of bounds.py.

One call of each row of shapes.py in `make test`, in a format and with settings that the commit
draws; all of them with --exhaustive.
"""

import os

import layer_shapes  # noqa: F401 (it registers what it has)
import numpy as np
import pytest
from checked import check
from sampling import ENVIRONMENT, takes_all
from shapes import SHAPES, Numbers


@pytest.mark.parametrize("name", SHAPES)
def test_a_kernel_at_the_shapes_that_its_blocks_are_made_for(name, request):
    """It gives the same in every order of threads, and what the reference gives in float64."""
    function, kind = SHAPES[name]
    seed = None if takes_all(request.config) else f"{os.environ[ENVIRONMENT]} {name}"
    calls, results = function(*kind, Numbers(seed)), None
    with np.errstate(all="ignore"):
        while (call := next_of(calls, results)) is not None:
            results = check(call.name, *call.args, to=call.to, **call.params)


def next_of(calls, results):
    """The next of the calls, which is made of the results of the last; None at their end."""
    try:
        return calls.send(results)
    except StopIteration:
        return None
