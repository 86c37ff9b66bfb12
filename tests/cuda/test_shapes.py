"""Every kernel of a GPU at the shapes that its blocks are made for, within the bound of bounds.py.

One call of each row of shapes.py in `make test`, in a format and with settings that the commit
draws; all of them with --exhaustive.
"""

import os

import layer_shapes  # noqa: F401 (it registers what it has)
import pytest
from checked import check_all
from sampling import ENVIRONMENT, takes_all
from shapes import SHAPES, Numbers


@pytest.mark.parametrize("name", SHAPES)
def test_a_kernel_at_the_shapes_that_its_blocks_are_made_for(name, request):
    """It gives the same in every order of threads, and what the reference gives in float64."""
    function, kind = SHAPES[name]
    seed = None if takes_all(request.config) else f"{os.environ[ENVIRONMENT]} {name}"
    assert check_all(function(*kind, Numbers(seed)))
