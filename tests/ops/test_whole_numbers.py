"""What is counted, or stands for a place, and is stored as an activation: told where it is lost."""

import warnings

import numpy as np
import pytest

import minifp as fp


def total(addend, start=None, each=1):
    t = fp.zeros(1) if start is None else start
    for _ in range(3000):
        t[:each] += addend
    return t


@pytest.mark.parametrize("make, words", [
    (lambda: fp.arange(0.0, 3000.0), r"476 of 3000 whole numbers .*\(2049 is now 2048"),
    (lambda: fp.arange(0, 2000, 0.5), "of 4000 numbers 975 equal the one before"),
    (lambda: fp.arange(3000, dtype="bfloat16"), "integers up to 256 only"),
    (lambda: fp.linspace(0, 1, 5000), "1701 equal the one before"),
    (lambda: fp.ones(3000).cumsum(0), "cumsum: 476 of 3000"),
    (lambda: fp.arange(3000).type_as(fp.ones(1)), "476 of 3000"),
    (lambda: fp.tensor(np.arange(3000.0)), 'dtype="float32", or keep integers'),
    (lambda: total(1), r"2048 \+ 1 is now 2048"),
    (lambda: total(0.7), r"loses what is added: .* total \+= loss.item"),
    (lambda: total(fp.tensor(1.0, dtype="float32"), fp.tensor([0.0, 5.0])), "running total"),
])  # fmt: skip
def test_whole_numbers_that_become_others_and_addends_that_are_lost_are_told(make, words):
    with fp.precision("mixed"), pytest.warns(fp.PrecisionWarning, match=words):
        make()


@pytest.mark.parametrize("make", [
    lambda: fp.arange(0.0, 2049.0), lambda: fp.arange(3000), lambda: fp.linspace(1e-4, 0.02, 1000),
    lambda: fp.linspace(1, 1, 5), lambda: fp.tensor(np.arange(300.0) * 9 + 0.5),
    lambda: fp.softmax(fp.randn(2, 1000), -1).cumsum(-1), lambda: total(0),
    lambda: total(1, fp.zeros(1, dtype="float32")),
    lambda: total(1, fp.zeros(1, dtype="int64")), lambda: fp.tensor(np.ones((0, 3))),
])  # fmt: skip
def test_numbers_that_a_format_has_are_not(make):
    with fp.precision("mixed"), warnings.catch_warnings():
        warnings.simplefilter("error")
        make()
