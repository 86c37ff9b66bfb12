"""Tracing: which calls share a formula, and what a call tells it."""

import math

import numpy as np

from minifp.derive.trace import Formulas


def test_numbers_that_are_not_finite_are_told_like_others_and_integer_arrays_are_no_numbers():
    formulas = Formulas(lambda x, *, a: x if a == math.inf else x + (a - math.inf))
    kinds = (np.dtype("float32"),)
    unbounded, bounded = (formulas(kinds, {"a": a}) for a in (math.inf, 3.0))
    assert unbounded is not bounded and unbounded is formulas(kinds, {"a": math.inf})
    assert bounded.told({"a": 2.0}) == (-math.inf,)
    formulas = Formulas(lambda x, i: x + i)
    assert formulas((np.dtype("float32"), np.dtype("int64")), {}) is None
    assert "i is of int64" in formulas.refused
