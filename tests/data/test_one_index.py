"""Data sets as people write them: for one index, lists, streams; and their fields' formats."""

from itertools import islice

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp.data import ConcatDataset, DataLoader, IterableDataset, Subset, TensorDataset
from minifp.errors import ArgumentError, DataError

X = (np.random.default_rng(0).random((8, 6)) * np.arange(1, 9)[:, None]).astype(np.float32)


class Signals(TensorDataset):
    """Each item normalised by itself, with noise of its own: its class takes one index again."""

    def __getitem__(self, i):
        self.random = getattr(self, "random", np.random.default_rng(1))
        x = (X[i] - X[i].mean()) / X[i].std()
        return x + np.float32(1e-3 * self.random.standard_normal()), i


class Stream(IterableDataset):
    def __iter__(self):
        yield from zip(X, range(8))


@pytest.mark.parametrize("made", [lambda d: d, lambda d: Subset(d, range(8)),
                                  lambda d: ConcatDataset([d, Signals(X)])])  # fmt: skip
def test_a_data_set_is_asked_for_one_index_and_batches_change_no_draw(made):
    data = made(Signals(X))
    alone = [data[i][0] for i in range(8)]
    np.testing.assert_allclose(np.mean(alone, 1), 0, atol=4e-3)
    for settings in ({}, {"prefetch": 2}, {"transform": lambda fields, *_: fields}):
        batches = [x.numpy() for x, _ in islice(DataLoader(made(Signals(X)), 4, **settings), 2)]
        np.testing.assert_array_equal(np.concatenate(batches), alone)


def test_lists_and_streams_are_data_sets():
    items = [{"x": row, "name": str(i)} for i, row in enumerate(X)]
    np.testing.assert_array_equal(next(iter(DataLoader(items, 8)))["x"].numpy(), X)
    for prefetch in (0, 2):
        loader, other = DataLoader(Stream(), 3, prefetch=prefetch), DataLoader(Stream(), 3)
        assert [t.tolist() for _ in "ab" for _, t in loader] == [[0, 1, 2], [3, 4, 5], [6, 7]] * 2
        next(iter(loader))
        other.load_state_dict(loader.state_dict())
        assert [t.tolist() for _, t in other] == [[3, 4, 5], [6, 7]] and other.epoch == 3
    once = DataLoader(zip(X, range(8)), 8)
    assert len(list(once)) == 1
    refuses(DataError, "is an iterator, which is exhausted", list, once)
    refuses(ArgumentError, "shuffle needs items by index", DataLoader, Stream(), shuffle=True)
    refuses(DataError, "has object in it", list, DataLoader([object()]))


def test_a_loader_without_batches_gives_items_as_they_are():
    pairs = [*zip(X, np.arange(8))]
    for data in (TensorDataset(X, np.arange(8)), Stream(), pairs):
        items = [(x.tolist(), int(i)) for x, i in DataLoader(data, batch_size=None)]
        assert items == [(x.tolist(), i) for x, i in pairs]
    loader = DataLoader(pairs, None, True, seed=1, collate_fn=lambda item: item[1])
    assert sorted(order := [*loader]) == [*range(8)] != order and len(loader) == 8
    refuses(ArgumentError, "drop_last with batch", DataLoader, pairs, None, drop_last=True)


@pytest.mark.parametrize("precision", ["mixed", "autocast-bfloat16", "float64"])
def test_only_the_input_takes_the_format_of_activations(precision):
    targets = np.arange(3000) + 0.25
    data = TensorDataset(np.ones((3000, 2)), targets, targets)
    with fp.precision(precision) as p:
        x, t, _ = next(iter(DataLoader(data, 3000, prefetch=2)))
        _, u, last = next(iter(DataLoader(data, 3000, inputs=(0, 2))))
        (made,) = DataLoader([0], collate_fn=lambda items: {"boxes": fp.tensor(targets), "x": X})
    assert x.dtype == last.dtype == made["x"].dtype == p.activations
    assert t.dtype == np.promote_types(np.float32, x.numpy().dtype)
    np.testing.assert_array_equal([t.numpy(), u.numpy(), made["boxes"].numpy()], [targets] * 3)
    refuses(ArgumentError, r"names 3, .* fields \[0, 1, 2\]", list, DataLoader(data, inputs=3))
