"""What is counted, or stands for a place, and is stored as an activation: told where it is lost."""

import numpy as np
import pytest

import minifp as fp


def total(addend, dtype=None):
    t = fp.zeros(2, dtype=dtype)
    for _ in range(3000):
        t[:1] += addend
    return t


@pytest.mark.parametrize("make, words", [
    (lambda: fp.arange(0.0, 3000.0), r"476 of 3000 whole numbers .*\(2049 is now 2048"),
    (lambda: fp.arange(0, 2000, 0.5), "of 4000 numbers 975 equal the one before"),
    (lambda: fp.arange(3000, dtype="bfloat16"), "integers up to 256 only"),
    (lambda: fp.linspace(0, 1, 5000), "1701 equal the one before"),
    (lambda: fp.ones(3000).cumsum(0), "cumsum: 476 of 3000"),
    (lambda: fp.arange(3000).type_as(fp.ones(1)), "476 of 3000"),
    (lambda: fp.tensor(np.arange(3000.0)), 'dtype="float32", or keep integers'),
    (lambda: total(1), r"2048 \+ 1 is now 2048"), (lambda: total(61), r"\+ 61 is now"),
    (lambda: total(fp.tensor(0.7, dtype="float32")), "loses what is added: .* total .= loss.item"),
])  # fmt: skip
def test_whole_numbers_that_become_others_and_addends_that_are_lost_are_told(make, words):
    with fp.precision("mixed"), pytest.warns(fp.PrecisionWarning, match=words):
        make()


def test_numbers_that_a_format_has_are_not_told():
    with fp.precision("mixed"):
        fp.arange(0.0, 2049.0), fp.arange(3000), fp.linspace(1e-4, 0.02, 1000), fp.linspace(1, 1, 5)
        fp.tensor(np.arange(300.0) * 9 + 0.5), fp.softmax(fp.randn(2, 1000), -1).cumsum(-1)
        total(0), total(1, "float32"), total(1, "int64"), fp.tensor(np.ones((0, 3)))
