"""Rows of a table: the padding row, pretrained tables, refusals."""

import numpy as np
from refusals import check_refusals

import minifp as fp
from minifp import nn
from minifp.numerics.formats import float16, float32


def test_the_padding_row_begins_as_zeros_and_stays(torch):
    for padding_idx in (2, -1):
        ours, theirs = (m.Embedding(4, 3, padding_idx) for m in (nn, torch.nn))
        assert ours.padding_idx == theirs.padding_idx
        assert ours.weight.tolist()[padding_idx] == [0, 0, 0]
        i = np.array([0, 2, 3, 3])
        ours(fp.tensor(i)).sum().backward()
        theirs(torch.tensor(i)).sum().backward()
        np.testing.assert_array_equal(ours.weight.grad.array, theirs.weight.grad.numpy())
    assert repr(ours) == "Embedding(4, 3, padding_idx=3)"


def test_a_pretrained_table_is_frozen_unless_it_is_told_not_to():
    rows, before = np.random.default_rng(0).normal(0, 1, (4, 3)), fp.get_state()
    with fp.precision("mixed"):
        frozen = nn.Embedding.from_pretrained(fp.tensor(rows, dtype="float32"))
        free = nn.Embedding.from_pretrained(rows, freeze=False, padding_idx=0)
    assert fp.get_state() == before  # no initial values were drawn
    assert not frozen.weight.requires_grad and free.weight.requires_grad
    np.testing.assert_array_equal(frozen.weight.array, rows.astype(float16))
    np.testing.assert_array_equal(free.weight.exact, rows.astype(float32))
    assert (free.num_embeddings, free.embedding_dim, free.padding_idx) == (4, 3, 0)
    assert free([1, 0]).tolist() == free.weight[[1, 0]].tolist()


def test_tables_name_what_does_not_fit():
    check_refusals(r"""
    nn.Embedding(4, 3, 4) -> ArgumentError: padding_idx=4: expected .*-4 to 3
    nn.Embedding(4, 3, 1.0) -> ArgumentError: padding_idx=1\.0: expected an int
    F.embedding([0], fp.ones(3, 4), -4) -> ArgumentError: padding_idx=-4: .*from -3 to 2
    F.embedding([0], [[1.0]]) -> DTypeError: embedding: weight is a list
    F.embedding([0], fp.tensor([[1]])) -> DTypeError: weight of int64: expected
    nn.Embedding.from_pretrained([[1.0]]) -> DTypeError: embeddings is list
    nn.Embedding.from_pretrained(fp.ones(3)) -> ShapeError: embeddings of shape \(3,\)
    nn.Embedding(4, 3, max_norm=1.0) -> TypeError: max_norm
    """)
