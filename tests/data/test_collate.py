"""Data sets that give one item at a time, and batches of any structure."""

from collections import namedtuple

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp.data import DataLoader, default_collate, fingerprint
from minifp.nn.utils.rnn import pad_sequence

Pair = namedtuple("Pair", "x t")


# Sequences of different lengths, each with a label.
WORDS = [(np.arange(i + 1, dtype=np.float32), i % 2) for i in range(5)]


def padded(items):
    sequences, labels = zip(*items)
    lengths = np.array([len(s) for s in sequences])
    x = pad_sequence([fp.tensor(s) for s in sequences], batch_first=True)
    return {"x": x.numpy(), "lengths": lengths, "names": ["a"] * len(items), "t": np.array(labels)}


def test_a_batch_may_have_any_structure_and_is_stacked_by_default_collate():
    with fp.precision("mixed"):
        batches = list(DataLoader(WORDS, 2, collate_fn=padded))
    assert [b["x"].shape for b in batches] == [(2, 2), (2, 4), (1, 5)]
    assert batches[0]["x"].dtype == np.float16 and batches[1]["lengths"].tolist() == [3, 4]
    assert batches[0]["names"] == ["a", "a"]
    items = [Pair(np.ones(2), {"k": (1, "a", 0.5)}), Pair(np.zeros(2), {"k": (2, "b", 1.5)})]
    batch = default_collate(items)
    assert type(batch) is Pair and batch.x.shape == (2, 2)
    number, text, real = batch.t["k"]
    assert number.tolist() == [1, 2] and text == ["a", "b"] and real.dtype == np.float32


def test_a_transform_changes_items_before_they_are_collated():
    def longer(fields, indices, draws):
        sequences, labels = fields
        more = draws.integers(3, indices, "more")
        return [np.append(s, np.ones(n, s.dtype)) for s, n in zip(sequences, more)], labels

    def lengths(batch_size, **settings):
        loader = DataLoader(WORDS, batch_size, collate_fn=padded, transform=longer, **settings)
        return [n for batch in loader for n in batch["lengths"].tolist()]

    alone = lengths(1)
    assert lengths(3) == lengths(2, prefetch=2) == alone and alone != [1, 2, 3, 4, 5]
    assert all(n - i - 1 in (0, 1, 2) for i, n in enumerate(alone))
    assert sorted(lengths(2, shuffle=True)) == sorted(alone)
    order = [4, 1]
    assert lengths(2, sampler=order) == [alone[i] for i in order]


def test_what_a_transform_makes_of_items_is_checked():
    def loader(transform, dataset):
        return iter(DataLoader(dataset, 3, collate_fn=padded, transform=transform))

    with pytest.raises(fp.DataError, match="to change 3 items, .* tuple of lists .* got .3, 2."):
        next(loader(lambda fields, *_: (fields[0], fields[1][:2]), WORDS))
    with pytest.raises(fp.DataError, match="expected a tuple of lists of as many, got list"):
        next(loader(lambda fields, *_: fields[0], WORDS))
    with pytest.raises(fp.DataError, match="items that are tuples of as many fields.* got .*float"):
        next(loader(lambda fields, *_: fields, [5.0, (1, 2), (1,)]))


def test_what_cannot_be_collated_says_so():
    with pytest.raises(fp.DataError, match=r"shapes \(1,\), \(2,\).*pad_sequence"):
        next(iter(DataLoader(WORDS, 2, collate_fn=default_collate)))
    refuses(fp.DataError, "give a collate_fn that pads them", next, iter(DataLoader(WORDS, 2)))
    with pytest.raises(fp.DataError, match=r"items \[0, 1\] raised ValueError: inv"):
        next(iter(DataLoader(WORDS, 2, collate_fn=lambda items: int("no"))))
    refuses(fp.ArgumentError, "collate_fn must be a function", DataLoader, WORDS, 2, collate_fn=3)
    refuses(fp.DataError, "not all items", default_collate, [(1, 2), (1, 2, 3)])


def test_the_fingerprint_is_of_all_items():
    other = [*WORDS[:4], (WORDS[4][0] + 1, 0)]
    known = [fingerprint(data, by_item=True) for data in (WORDS, [*WORDS], other)]
    assert known[0] == known[1] != known[2]
