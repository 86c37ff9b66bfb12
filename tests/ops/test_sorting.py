"""Order: sort, argsort and topk, where numbers are equal or missing, and what is refused."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import check_refusals

import minifp as fp
from minifp.numerics.formats import float64, int64

values = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan])


@given(hnp.arrays(float64, hnp.array_shapes(max_dims=3, max_side=6), elements=values), st.data())
def test_order_is_stable_and_nan_the_largest_as_in_pytorch(torch, a, data):
    dim, down = data.draw(st.integers(-a.ndim, a.ndim - 1)), data.draw(st.booleans())
    expected = torch.sort(torch.tensor(a), dim=dim, descending=down, stable=True)
    x = fp.tensor(a, dtype="float64")
    found = x.sort(dim, down)
    np.testing.assert_array_equal(found.values.array, expected.values.numpy())
    np.testing.assert_array_equal(found.indices.array, expected.indices.numpy())
    np.testing.assert_array_equal(fp.argsort(x, dim, down).array, expected.indices.numpy())
    k = data.draw(st.integers(0, a.shape[dim]))
    best, theirs = x.topk(k, dim, largest=down), torch.topk(torch.tensor(a), k, dim, largest=down)
    np.testing.assert_array_equal(best.values.array, theirs.values.numpy())
    np.testing.assert_array_equal(best.indices.array, expected.indices.narrow(dim, 0, k).numpy())
    assert best.indices.dtype == found.indices.dtype == int64


def test_integers_and_booleans_are_sorted_too():
    assert fp.tensor([3, 1, 2]).sort(descending=True).values.tolist() == [3, 2, 1]
    assert fp.tensor([True, False]).argsort().tolist() == [1, 0]


def test_bad_arguments_are_refused_by_name():
    check_refusals(r"""
    x.topk(4) -> ArgumentError: topk: k=4: expected an integer from 0 to 3
    x.topk(1.0) -> ArgumentError: topk: k=1\.0
    x.argsort("a") -> DTypeError: argsort: dim='a': expected an integer
    x.sum().sort() -> ShapeError: sort: dim=-1 for a tensor without dimensions
    """, x=np.ones((2, 3)))  # fmt: skip
