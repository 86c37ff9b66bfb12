"""Byte pairs: what training joins, and that every text is its pieces."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from refusals import each_refused

from minifp.data import BytePairs
from minifp.errors import ArgumentError, DataError

TEXTS = ["low lower lowest", "Été, été: l'été", "new newer newest", "a  b"]
SMALL = BytePairs.train(TEXTS, 280)


def test_the_most_frequent_pair_is_joined_first_and_pieces_know_their_space():
    """Of "abab ab abab": "ab" is there 5 times; then " ab" and "abab" twice, and after " ab" no
    pair is there twice any more."""
    found = BytePairs.train(["abab ab abab"], 300)
    a, b, space = (3 + ord(c) for c in "ab ")
    assert (found.merges, found.encode(" abab").tolist()) == ([(a, b), (space, 259)], [260, 259])
    # "zw", " x" and "xy" three times each: the smallest codes are first
    assert BytePairs.train(["zw xy"] * 3, 260).merges == [(space, 3 + ord("x"))]
    assert SMALL.pieces(SMALL.encode("A new été")) == ["A", "\u2581ne", "w", "\u2581", "été"]
    assert all(b" " not in part[1:] for part in SMALL.parts[259:])
    sizes = [len(BytePairs.train(TEXTS, n).encode(" ".join(TEXTS))) for n in (259, 265, 280)]
    assert sizes[0] == len(" ".join(TEXTS).encode()) and sizes[0] > sizes[1] > sizes[2]


@given(st.text())
def test_every_text_is_its_pieces(text):
    """Others than it was trained on too, spaces and all, and U+2581 itself."""
    for written in (text, f"{text}\u2581 low\n", text * 2):
        codes = SMALL.encode(written)
        assert SMALL.decode(codes) == written
        assert codes.dtype == np.int64 and (codes >= 3).all()


def test_it_is_read_as_it_was_written_and_stops_at_the_end():
    again = BytePairs.from_json(SMALL.to_json())
    assert (again.merges, again.parts, len(again)) == (SMALL.merges, SMALL.parts, len(SMALL))
    codes = [again.begin, *again.encode("new"), again.end, *again.encode("low")]
    assert again.decode(codes) == "new" and again.decode([3 + 0xC3]) == "\ufffd"


test_what_is_no_vocabulary_and_no_text_is_refused = each_refused(
    (lambda: BytePairs.train(TEXTS, 258), ArgumentError, "at least 259"),
    (lambda: BytePairs.train("low", 300), DataError, "expected a list"),
    (lambda: BytePairs.train(["", ""], 300), DataError, "are empty"),
    (lambda: BytePairs.train([1], 300), DataError, "a int among the texts"),
    (lambda: BytePairs([(3, 259)]), ArgumentError, "expected two codes from 3 to 258"),
    (lambda: BytePairs([(3, 4), (3, 4)]), ArgumentError, "twice"),
    (lambda: BytePairs.from_json('{"form": "another"}'), DataError, "its form is 'another'"),
    (lambda: BytePairs.from_json("no"), DataError, "expected the text that to_json"),
    (lambda: SMALL.decode([len(SMALL)]), ArgumentError, f"expected 0 to {len(SMALL) - 1}"),
    (lambda: SMALL.decode([0.5]), ArgumentError, "expected integers"),
    (lambda: SMALL.encode(b"low"), DataError, "expected a text, got bytes"),
)
