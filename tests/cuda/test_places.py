"""Reading at places of arrays on a GPU, and summing what has the same place."""

import numpy as np
import pytest
from checked import check, results_of

import minifp as fp
from minifp.autograd.tape import Tensor
from minifp.runtime.cuda.arrays import to_device

# entries, places, numbers of each: one run, several, long ones, none, no packs, more than a warp's
SIZES = [
    *((5, 10, 8), (0, 4, 8), (70, 3, 5), (1000, 300, 16), (5000, 40, 24), (2048, 2, 40)),
    *((9000, 7000, 1), (300, 1, 300), (2049, 1, 8)),
]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("entries, places, width", SIZES)
def test_the_gradient_of_an_embedding(rng, entries, places, width, dtype):
    dy, i = rng.normal(size=(entries, width)).astype(dtype), rng.integers(0, places, entries)
    check("embedding.embedding_dw", dy, i, rows=places, padding_idx=None, to=(dtype,))
    i = i.astype("int32")
    check("embedding.embedding_dw", dy, i, rows=places, padding_idx=0, to=(dtype,))


def test_a_row_used_often_sums_in_float32():
    dy, i = np.ones((3000, 4), "float16"), np.zeros(3000, int)
    (dw,) = results_of("embedding.embedding_dw", dy, i, rows=2, padding_idx=None, to=("float16",))
    assert dw.tolist() == [[3000] * 4, [0] * 4]


def test_what_is_not_finite_stays_in_its_row():
    dy, i = np.ones((300, 3), "float16"), np.arange(300) % 3
    dy[0, 0], dy[1, 1], dy[2, 2], dy[5, 2] = np.nan, np.inf, np.inf, -np.inf
    dw = check("embedding.embedding_dw", dy, i, rows=3, padding_idx=None, to=("float16",))
    assert np.isnan(dw[0, 0]) and np.isposinf(dw[1, 1]) and np.isnan(dw[2, 2])
    assert np.isfinite(dw).sum() == 6


def test_indices_that_name_no_row_read_nan_and_add_nothing():
    i = np.array([0, -1, 7, 3])
    w = Tensor(to_device(np.ones((7, 4), "float32")), requires_grad=True)
    y = fp.nn.functional.embedding(Tensor(to_device(i)), w)
    assert np.isnan(y.numpy()).all(1).tolist() == [False, True, True, False]
    dy = np.ones((4, 4), "float32")
    (dw,) = results_of("embedding.embedding_dw", dy, i, rows=7, padding_idx=None, to=("float32",))
    assert dw.sum(1).tolist() == [4, 0, 0, 4, 0, 0, 0]


@pytest.mark.parametrize("alpha", [1, 0.3])
def test_slices_in_the_middle(rng, alpha):
    x, i = rng.normal(size=(3, 7, 4)).astype("float16"), rng.integers(0, 7, 150)
    src = rng.normal(size=(3, 150, 4)).astype("float16")
    check("slices.index_select_dx", src, i, axis=1, n=7, to=("float16",))
    check("slices.index_add_forward", x, src, i, axis=1, alpha=alpha, to=("float16",))


def test_numbers_gathered(rng):
    x, i = rng.normal(size=(4, 7, 6)).astype("float16"), rng.integers(0, 6, (3, 90, 4))
    src = rng.normal(size=(3, 95, 5)).astype("float16")
    dy = src[:, :90, :4].copy()
    for shape in ((3, 6, 4), (5, 6, 7)):
        check("gather_scatter.gather_dx", dy, i, axis=1, shape=shape, to=("float16",))
    check("gather_scatter.scatter_add_forward", x, src, i, axis=1, to=("float16",))


CASES = {
    "one array": lambda x, i, j: x[i],
    "behind": lambda x, i, j: x[:, j],
    "two": lambda x, i, j: x[i, j],
    "apart": lambda x, i, j: x[i, :, j],
    "after a new axis": lambda x, i, j: x[None, :, i, j],
    "mixed": lambda x, i, j: x[1:, 2, i.reshape(4, 5)],
    "a list": lambda x, i, j: x[1:, 2, [0, 3, 3]],
    "slices": lambda x, i, j: x[1:, 2],
    "selected": lambda x, i, j: fp.index_select(x, 1, i),
    "gathered": lambda x, i, j: fp.gather(x, 0, i.reshape(5, 2, 2)),
    "of the flat one": lambda x, i, j: fp.take_along_dim(x, i),
    "added": lambda x, i, j: fp.index_add(x, 2, i, x[:, :, :1].expand(6, 7, 20)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_indexing_is_that_of_the_cpu(rng, name, dtype):
    x, i = rng.normal(size=(6, 7, 8)).astype(dtype), rng.integers(0, 5, 20)
    j = rng.integers(-7, 7, 20)
    found = []
    for place in (lambda a: a.copy(), to_device):
        leaf = Tensor(place(x), requires_grad=True)
        y = CASES[name](leaf, Tensor(place(i)), Tensor(place(j)))
        (y * y).sum().backward()
        found += [y.numpy(), leaf.grad.numpy()]
    near = 2e-3 if dtype == "float16" else 2e-6
    np.testing.assert_allclose(found[0], found[2], rtol=near, atol=near)
    np.testing.assert_allclose(found[1], found[3], rtol=near, atol=near)


def test_places_on_the_cpu_are_moved_and_an_input_is_not():
    x = Tensor(to_device(np.arange(12.0, dtype="float32").reshape(3, 4)), requires_grad=True)
    fp.repeat_interleave(x, 2, 0).sum().backward()
    assert (x.grad.numpy() == 2).all()
    y = fp.gather(x, 1, np.array([[3], [0], [1]]))
    assert y.numpy().tolist() == [[3], [4], [9]]
    with pytest.raises(fp.DeviceError, match="gather: an index on the GPU"):
        fp.gather(x.to("cpu"), 1, Tensor(to_device(np.array([[3]]))))


def test_one_hot():
    y = fp.nn.functional.one_hot(Tensor(to_device(np.array([[2, 0]]))))
    assert y.dtype == "int64" and y.numpy().tolist() == [[[0, 0, 1], [1, 0, 0]]]
