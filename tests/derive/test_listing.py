"""A graph in lines: what is computed, in as few brackets as it takes, and where formats change."""

import math

import numpy as np
import pytest

from minifp.derive import elementary
from minifp.derive.listing import Listing, guards_of
from minifp.derive.symbol import in_formulas
from minifp.derive.trace import Formulas, traced

HALF = np.dtype("float16")


def listing(reference, folds=True, **settings):
    """The lines of a reference, and what it asked."""
    formulas = Formulas(reference)
    formula = traced(formulas, (HALF,) * len(formulas.arguments), settings, folds)
    lines = Listing(formula, formulas.arguments, ["float16"] * len(formula.results)).lines()
    return lines, guards_of(formula, formulas.arguments)


def computed(reference, folds=True, **settings):
    return [text for text, _ in listing(reference, folds, **settings)[0] if " = " in text]


def test_formats_are_marked_where_numbers_are_read_and_stored_and_nowhere_else():
    lines, asked = listing(lambda x, *, a: np.tanh(a * x), a=0.3)
    assert lines == [
        ("x", "read as float16, and widened to float32, which is exact"),
        ("a", "a number that each call tells, rounded to float32 once"),
        ("result = tanh(a * x)", "stored as float16: rounded, for the only time"),
    ]
    assert not asked


@pytest.mark.parametrize("reference, text", [
    (lambda x, y: (x - y) - (y - x), "(x - y) - (y - x)"),
    (lambda x, y: -(x + y) * 2, "(-(x + y)) * 2"),
    (lambda x, y: np.where(x > y, x, -1.5), "where(x > y, x, -1.5)"),
    (lambda x, y: np.maximum(x, 0) * np.exp(y), "maximum(x, 0) * exp(y)"),
    (lambda x, y: (1 / x) + np.sqrt(y), "(1 / x) + sqrt(y)"),
    (lambda x, y: np.copysign(x, y), "copysign(x, y)"),
])  # fmt: skip
def test_operations_are_written_as_in_python(reference, text):
    assert computed(reference) == [f"result = {text}"]


def test_what_is_used_twice_has_a_name_and_functions_are_whole_or_their_arithmetic():
    assert computed(lambda x: np.exp(x) / (1 + np.exp(x))) == [
        "t1 = exp(x)",
        "result = t1 / (1 + t1)",
    ]
    erf = in_formulas(elementary.erf)(lambda x: x)
    assert computed(lambda x: erf(x)) == ["result = erf(x)"]
    steps = computed(lambda x: np.exp(x), folds=False)
    assert len(steps) > 8 and not any("exp" in line for line in steps)
    (*_, last), _ = listing(lambda x, y: x < y)
    assert last == ("result = x < y", "stored as bool")


def test_settings_that_were_branched_on_are_told():
    def scaled(x, *, alpha):
        return x if alpha == 1 else (alpha + 2) * x

    assert listing(scaled, alpha=1.0)[1] == ["alpha == 1 is True"]
    lines, asked = listing(scaled, alpha=3.0)
    assert asked == ["alpha == 1 is False"] and lines[1][0] == "alpha + 2"
    assert lines[2][0] == "result = (alpha + 2) * x"


def test_numbers_that_are_not_finite_are_told_like_others_and_integer_arrays_are_no_numbers():
    formulas = Formulas(lambda x, *, a: x if a == math.inf else x + (a - math.inf))
    kinds = (np.dtype("float32"),)
    unbounded, bounded = (formulas(kinds, {"a": a}) for a in (math.inf, 3.0))
    assert unbounded is not bounded and unbounded is formulas(kinds, {"a": math.inf})
    assert bounded.told({"a": 2.0}) == (-math.inf,)
    formulas = Formulas(lambda x, i: x + i)
    assert formulas((np.dtype("float32"), np.dtype("int64")), {}) is None
    assert "i is of int64" in formulas.refused
