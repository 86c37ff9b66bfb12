"""Text as words."""

import numpy as np
from refusals import each_refused

from minifp import data
from minifp.data import WordDataset
from minifp.data.words import UNKNOWN, words_of
from minifp.errors import ArgumentError, DataError

TEXT = "It's late, it is;\nit is not."


def test_words_signs_and_ends_of_lines_have_codes_by_falling_frequency():
    assert words_of(TEXT) == ["It's", "late", ",", "it", "is", ";", "\n", "it", "is", "not", "."]
    found = WordDataset(TEXT, 3, least=2)
    assert found.words == [UNKNOWN, "is", "it"]  # 7 rare ones, and 2 of each other
    assert found.encode("it is late").tolist() == [2, 1, 0]
    assert found.decode([2, 1, 0]) == f"it is {UNKNOWN}"
    every = WordDataset(TEXT, 3)
    assert every.words[:2] == ["is", "it"] and every.words[-1] == UNKNOWN and len(every.words) == 10
    x, t = every[np.arange(len(every))]
    assert x.shape == t.shape == (3, 3)
    np.testing.assert_array_equal(t.ravel()[:-1], x.ravel()[1:])


def test_shakespeare_is_there_as_words():
    train, test = data.shakespeare_words(20, least=3)
    assert train.words is not None and test.words == train.words and len(train.words) == 5126
    assert len(train) == 13_157 and train[0][0].shape == (20,)
    counts = np.bincount(train.codes, minlength=len(train.words))
    assert (np.diff(counts) <= 0).all() and counts[-1] >= 3
    assert train.decode(train.codes[:3]) == "First Citizen :"


test_what_are_no_words_is_refused = each_refused(
    (lambda: WordDataset(TEXT, 0), ArgumentError, "length=0"),
    (lambda: WordDataset(TEXT, 3, ["it", "it", UNKNOWN]), ArgumentError, "2 different"),
    (lambda: WordDataset(TEXT, 3, ["it"]), ArgumentError, f"'{UNKNOWN}' among them"),
    (lambda: WordDataset(TEXT, 3).encode(b"it"), DataError, "got bytes"),
)
