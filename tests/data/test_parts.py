"""Parts of data sets, data sets put together, and random splits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import minifp as fp
from minifp.data import ConcatDataset, DataLoader, Subset, TensorDataset, fingerprint, random_split
from minifp.errors import ArgumentError, DataError
from minifp.runtime import random


def numbered(n, start=0, classes=None):
    i = np.arange(start, start + n)
    return TensorDataset(i, 2.0 * i[:, None], name=f"from {start}", classes=classes)


def test_a_subset_has_the_items_of_its_indices_in_their_order():
    data = Subset(numbered(10, classes=["a"]), [7, 2, 7])
    assert len(data) == 3 and data.name == "from 0, 3 of 10" and data.classes == ["a"]
    first, second = data[np.array([2, 1])]
    assert (first.tolist(), second.tolist()) == ([7, 2], [[14], [4]])
    assert [field.tolist() for field in data[0]] == [7, [14]]
    assert [field.tolist() for field in data[1:]] == [[2, 7], [[4], [14]]]
    assert fingerprint(data) == fingerprint(TensorDataset(*data[:]))
    assert repr(data).startswith("Subset(3 of TensorDataset(")
    assert Subset(data, [1], name="one").name == "one"
    turned = DataLoader(Subset(data, [1, 0]), 1)
    assert [batch[0].tolist() for batch in turned.arrays()] == [[2], [7]]
    text = fp.data.TextDataset("abcdefghi", 2)
    assert [text.decode(field) for field in Subset(text, [2])[0]] == ["ef", "fg"]
    assert len(Subset(numbered(10), [])) == 0


@pytest.mark.parametrize("indices, message", [
    ([0, 10], "Subset: expected indices from 0 to 9, got 10 at position 1"),
    ([0, -1], "got -1 at position 1"),
    ([0.5], r"expected integers in one row, .* got float64\[1\]"),
    (np.ones(10, bool), r"got bool\[10\]. For a mask, give np.flatnonzero\(mask\)"),
    ([[0, 1]], r"got int64\[1, 2\]"), ([[0], [0, 1]], "expected indices in one row"),
    (3, r"got int64\[\]"), ("abc", "expected integers in one row"),
    (np.array([2**63], np.uint64), "got 9223372036854775808"),
])  # fmt: skip
def test_indices_that_are_none_are_refused(indices, message):
    refuses(ArgumentError, message, Subset, numbered(10), indices)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.data())
def test_data_sets_one_after_the_other_are_one(lengths, data):
    starts = np.cumsum([0, *lengths])
    joined = ConcatDataset([numbered(n, start) for n, start in zip(lengths, starts)])
    n = sum(lengths)
    assert len(joined) == n
    whole = numbered(n)
    numbers = st.lists(st.integers(0, max(0, n - 1)), max_size=9 * (n > 0))
    indices = np.array(data.draw(numbers), int)
    for index in (indices, slice(1, None, 2), *indices.tolist()):
        for ours, expected in zip(joined[index], whole[index]):
            np.testing.assert_array_equal(ours, expected)
            assert ours.shape == expected.shape and ours.dtype == expected.dtype
    assert fingerprint(joined) == fingerprint(whole) or n == 0


def test_joined_data_sets_have_the_classes_that_all_have_and_fields_alike():
    joined = ConcatDataset(fp.data.digits())
    assert joined.name == "digits, train + digits, test" and joined.classes == list("0123456789")
    assert ConcatDataset([numbered(1, classes=["a"]), numbered(1)]).classes is None
    assert repr(ConcatDataset([numbered(1)])).startswith("ConcatDataset([TensorDataset(")
    x = np.ones((3, 2), np.float32)
    first = TensorDataset(x, np.arange(3), name="first")
    for arrays in ((x,), (x.astype(np.float64), np.arange(3)), (x[:, :1], np.arange(3))):
        with pytest.raises(DataError, match=r"of 'second' are .* of 'first' \['float32\[2\]'"):
            ConcatDataset([first, TensorDataset(*arrays, name="second")])
    for wrong in ([], None, numbered(3)):
        refuses(ArgumentError, "expected a list of one or more data sets", ConcatDataset, wrong)
    refuses(ArgumentError, "ConcatDataset: expected a data set, .* got str", ConcatDataset, ["ab"])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 2**64 - 1))
def test_a_split_gives_every_item_to_one_part(lengths, seed):
    data = numbered(sum(lengths))
    parts = random_split(data, lengths, seed=seed)
    assert [len(part) for part in parts] == lengths
    items = [i for part in parts for i in part[:][0].tolist()]
    assert sorted(items) == list(range(len(data)))
    again = random_split(data, lengths, seed=seed)
    assert items == [i for part in again for i in part[:][0].tolist()]


@given(st.integers(0, 50), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_fractions_are_rounded_down_and_what_is_left_goes_to_the_first(n, weights):
    fractions = [w / sum(weights) for w in weights]
    if fractions == [1] == [n]:
        return
    counts = [len(part) for part in random_split(numbered(n), fractions, seed=0)]
    floors = [math.floor(n * f) for f in fractions]
    more = n - sum(floors)
    assert counts == [floor + (i < more) for i, floor in enumerate(floors)]


def test_a_split_without_a_seed_depends_on_the_global_one_and_is_another_each_time():
    random.manual_seed(3)
    first, second = (random_split(numbered(30), [20, 10])[0].indices for _ in range(2))
    random.manual_seed(3)
    third = random_split(numbered(30), [20, 10])[0].indices
    assert first.tolist() == third.tolist() != second.tolist()
    seeded = random_split(numbered(30), [20, 10], seed=3)[0].indices
    assert seeded.tolist() == first.tolist() and random.get_state()["calls"] == {"random_split": 1}


@pytest.mark.parametrize("lengths", [
    [5], [5, 6], [-1, 11], [0.5, 0.6], [1.5, -0.5], [], None, 10, ["a"], [True, 9],
])  # fmt: skip
def test_lengths_that_are_not_all_of_it_are_refused(lengths):
    with pytest.raises(ArgumentError, match="with the sum 10, or fractions with the sum 1, got "):
        random_split(numbered(10), lengths)
    refuses(ArgumentError, "seed must be an integer", random_split, numbered(10), [10], seed="a")
