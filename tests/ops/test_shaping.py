"""Shapes, indices, padding: views, PyTorch's corner cases, sums of gradients, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import check_refusals, refuses

import minifp as fp
import minifp.nn.functional as F
from minifp.numerics.formats import float16, float32, int64
from minifp.ops.shaping.indexing import add_rows


def counting(*shape):
    return np.arange(np.prod(shape), dtype=float32).reshape(shape)


VIEWS = {
    **{"view": lambda x: x.view(-1, 2), "view_as": lambda x: x.view_as(fp.zeros(6, 2))},
    **{"reshape": lambda x: x.reshape(12), "flatten": lambda x: x.flatten()},
    **{"squeeze": lambda x: x.unsqueeze(0).squeeze(0), "permute": lambda x: x.permute(1, 0)},
    **{"t": lambda x: x.t(), "movedim": lambda x: x.movedim(0, 1)},
    **{"diagonal": lambda x: x.diagonal(1), "getitem": lambda x: x[1:, ..., None]},
    **{"a number": lambda x: x[1, 2], "split": lambda x: x.split([1, 2])[1]},
    **{"chunk": lambda x: x.chunk(2, 1)[0], "unbind": lambda x: x.unbind()[2]},
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_share_their_memory_and_their_version(view):
    x = fp.tensor(counting(3, 4))
    y = view(x)
    assert y.storage is x.storage
    version = x.storage.version
    y.fill_(-1.0)
    assert x.storage.version > version
    assert np.count_nonzero(x.array == -1) == y.array.size


COPIES = {
    **{"flip": lambda x: x.flip(0), "roll": lambda x: x.roll(0, 0)},
    **{"contiguous": lambda x: x.T.contiguous(), "ravel": lambda x: x.T.ravel()},
    **{"repeat": lambda x: x.repeat(1, 1), "tril": lambda x: x.tril(9)},
    **{"sort": lambda x: x.sort().values, "array": lambda x: x[[0, 1, 2]]},
    "pad": lambda x: F.pad(x, (0, 0)),
    "gather": lambda x: x.index_select(0, fp.tensor([0, 1, 2])),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_copies_do_not(copy):
    x = fp.tensor(counting(3, 4))
    copy(x).fill_(-1.0)
    np.testing.assert_array_equal(x.array, counting(3, 4))


def test_a_view_refuses_where_reshape_would_copy_and_what_is_contiguous_stays():
    x = fp.tensor(counting(3, 4))
    assert x.T.reshape(12).tolist() == x.array.T.reshape(-1).tolist()
    refuses(fp.ShapeError, r"view: \(4, 3\) as \(12,\) cannot be a view with", x.T.view, 12)
    assert x.T.contiguous().view(12).shape == (12,)
    x = fp.tensor(counting(2, 3))
    assert x.contiguous() is x
    assert x.T.contiguous().array.flags.c_contiguous


def test_sizes_and_axes_may_be_named_as_in_pytorch(torch):
    x, t = fp.tensor(counting(2, 3)), torch.tensor(counting(2, 3))
    for call in (
        *(lambda m, x: m.flip(x, dims=(0,)), lambda m, x: m.permute(x, dims=(1, 0))),
        *(lambda m, x: m.reshape(x, shape=(3, 2)), lambda m, x: m.tile(x, dims=(2,))),
        *(lambda m, x: x.view(size=(6,)), lambda m, x: x.repeat(repeats=(2, 1))),
        lambda m, x: x.expand(size=(4, 2, 3)),
        *(lambda m, x: m.zeros(size=(2,)), lambda m, x: m.ones(size=[2, 1])),
    ):
        np.testing.assert_array_equal(call(fp, x).array, call(torch, t).numpy())
    assert fp.rand(size=(2, 3)).shape == fp.randn(size=(2, 3)).shape == fp.empty(size=(2, 3)).shape


def test_indices_may_be_tensors_also_in_slices_and_lists():
    x = fp.tensor(counting(4, 3))
    one, two = fp.tensor(1), fp.tensor(2)
    assert x[one:two].shape == (1, 3)
    assert (x[[one, two]].tolist(), x[two].tolist()) == (x[1:3].tolist(), x[2].tolist())
    assert x[range(2)].tolist() == x[:2].tolist() and x[[]].shape == (0, 3)
    assert x[[[0, 1], [1, 0]], 1:].tolist() == x.array[[[0, 1], [1, 0]], 1:].tolist()
    assert x[fp.tensor([True, False, False, True])].tolist() == x[[0, 3]].tolist()
    assert x[np.int64(1), np.True_].tolist() == [x[1].tolist()]


def test_an_index_changed_later_moves_no_gradient_and_slices_run_backwards():
    x, i = fp.ones(3, requires_grad=True), np.array([0, 0])
    mask = np.array([False, False, True])
    with pytest.warns(fp.MisuseWarning, match="index of uint8 is a mask"):
        assert x[mask.astype(np.uint8)].tolist() == x[mask].tolist()
    y = fp.cat([x[i], x[mask]])
    i[:], mask[:] = 1, True
    y.sum().backward()
    assert x.grad.tolist() == [2, 0, 1]
    x = fp.tensor(counting(5), requires_grad=True)
    x[::-2].backward(gradient=np.array([1.0, 2, 3]))
    assert x.grad.tolist() == [3, 0, 2, 0, 1]


READERS = {
    **{"getitem": lambda x, i: x[i], "two arrays": lambda x, i: x[i, np.zeros_like(i)]},
    "gather": lambda x, i: x.gather(0, fp.tensor(i[:, None])),
    "take_along_dim": lambda x, i: x.take_along_dim(fp.tensor(i[:, None]), 0),
    "index_select": lambda x, i: x.index_select(0, fp.tensor(i)),
    "embedding": lambda x, i: F.embedding(i, x),
    "repeat_interleave": lambda x, i: x[2:3].repeat_interleave(len(i), 0),
    "repeat": lambda x, i: x[2:3].repeat(len(i), 1),
    "expand": lambda x, i: x[2:3].expand(len(i), 1),
    "pad": lambda x, i: F.pad(x[2:3].T[None], (len(i) - 1, 0), "replicate"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_3000_reads_of_one_number_give_a_gradient_of_3000(read):
    """A float16 sum would stop at 2048, and does where the precision asks for one."""
    for precision, expected in (("mixed", 3000), ("mixed,reduce=float16", 2048)):
        with fp.precision(precision):
            x = fp.ones(4, 1, requires_grad=True)
            y = read(x, np.full(3000, 2))
            y.backward(gradient=np.ones(y.shape))
            assert (x.grad.dtype, x.grad.tolist()) == (float16, [[0], [0], [expected], [0]])


@pytest.mark.parametrize("precision, expected", [("mixed", 3001), ("mixed,reduce=float16", 2048)])
def test_3000_numbers_added_at_one_place_are_counted(precision, expected):
    i = fp.tensor(np.full(3000, 2))
    with fp.precision(precision):
        x, ones = fp.ones(4), fp.ones(3000)
        assert x.scatter_add(0, i, ones).tolist() == [1, 1, float16.type(expected), 1]
        assert x.index_add(0, i, ones).tolist() == [1, 1, float16.type(expected), 1]
        lost = x.index_add(0, i, ones, alpha=-1).array[2]
        assert lost == float16.type(-2999 if expected > 3000 else -2048)


@given(st.integers(0, 9), st.integers(0, 40), st.integers(0, 3), st.integers(0, 99))
def test_rows_are_added_up_in_their_order(n, k, width, seed):
    random = np.random.default_rng(seed)
    rows = random.integers(0, max(n, 1), k if n else 0)
    dy, expected = random.integers(-8, 8, (len(rows), width)).astype(float32), np.zeros((n, width))
    np.add.at(expected, rows, dy)
    seen = []

    def summed(x, axis):
        seen.append(x.shape)
        return x.sum(axis)

    np.testing.assert_array_equal(add_rows(dy, rows, n, summed), expected)
    counts = np.bincount(rows, minlength=1)
    assert len(seen) == len({*counts[counts > 1].tolist()})  # one sum for each count


def test_gradients_of_scattered_numbers_are_zero_where_src_is_longer():
    x, src = fp.zeros(2, 3), fp.tensor(counting(3, 3), requires_grad=True)
    y = x.scatter_add(0, fp.tensor([[0, 1]]), src)
    assert y.tolist() == [[0, 0, 0], [0, 1, 0]]
    y.backward(gradient=counting(2, 3) + 1)
    assert src.grad.tolist() == [[1, 5, 0], [0, 0, 0], [0, 0, 0]]


def test_formats_of_joined_tensors_meet_and_integers_and_booleans_are_moved_too():
    half, single = fp.zeros(2, dtype="float16"), fp.zeros(2, dtype="float32")
    i = fp.tensor([1, 2])
    assert fp.cat([half, single]).dtype == float32
    assert fp.cat([i, half]).dtype == fp.stack([half, i]).dtype == float16
    assert fp.cat([i, i]).dtype == int64
    x = fp.tensor([[1, 2, 3], [4, 5, 6]])
    assert x.flip(1).tolist() == [[3, 2, 1], [6, 5, 4]]
    assert x.tril().tolist() == [[1, 0, 0], [4, 5, 0]]
    assert F.pad(x, (1, 0), value=7).tolist() == [[7, 1, 2, 3], [7, 4, 5, 6]]
    assert F.pad(fp.tensor([True]), (1, 1)).tolist() == [False, True, False]
    assert x.repeat(1, 2).dtype == x.gather(1, fp.tensor([[0], [2]])).dtype == int64
    assert x.scatter_add(0, fp.tensor([[0, 0, 0]]), x).tolist() == [[2, 4, 6], [4, 5, 6]]
    assert F.unfold(fp.tensor(np.arange(4).reshape(1, 2, 2)), 2).tolist() == [[0], [1], [2], [3]]


def test_what_is_padded_with_is_rounded_once():
    with fp.precision("mixed"):
        assert F.pad(fp.zeros(1), (1, 0), value=0.1).array[0] == float16.type(0.1)
        assert F.pad(fp.zeros(1), (0, 1), value=-np.inf).tolist() == [0, -np.inf]
        refuses(fp.ArgumentError, "overflows float16", F.pad, fp.zeros(1), (0, 1), value=1e6)


def test_one_hot_is_pytorchs(torch):
    i = np.array([[0, 2], [1, 1]])
    for classes in (-1, 3, 5):
        y, z = F.one_hot(fp.tensor(i), classes), F.one_hot(i, classes)
        expected = torch.nn.functional.one_hot(torch.tensor(i), classes).numpy()
        np.testing.assert_array_equal(y.array, expected)
        np.testing.assert_array_equal(z.array, expected)
        assert y.dtype == int64
    assert F.one_hot(fp.tensor(np.zeros(0, int)), 3).shape == (0, 3)


def test_pixels_are_shuffled_back():
    x = fp.tensor(counting(2, 8, 3, 5))
    y = F.pixel_shuffle(x, 2)
    assert y.shape == (2, 2, 6, 10)
    np.testing.assert_array_equal(F.pixel_unshuffle(y, 2).array, x.array)


def test_bad_arguments_are_refused_by_name():
    check_refusals(r"""
    x.reshape(-2, 3) -> ShapeError: reshape\(-2, 3\): expected integers of at least
    x.reshape("a") -> DTypeError: reshape\('a',\): expected integers, not 'a'
    x.view("float16") -> DTypeError: view\('float16',\): expected integers
    x.view_as((3, 2)) -> DTypeError: view_as: other is a tuple
    x.expand(-1, 2, 3) -> ShapeError: expand of \(2, 3\) to \(-1, 2, 3\): -1
    x.expand(3) -> ShapeError: expand
    x.expand_as([1]) -> DTypeError: expand_as: other is a list
    fp.broadcast_to(x, (4, 3)) -> ShapeError: expand
    x.repeat(2) -> ShapeError: repeat\(2,\) of a tensor of 2 dimensions
    x.repeat(2, -1) -> ShapeError: repeat\(2, -1\): expected integers of at least 0
    x.movedim(0, (0, 1)) -> ArgumentError: movedim: 0 to \(0, 1\)
    x.movedim((0, 0), (0, 1)) -> ShapeError: movedim: dim=\(0, 0\) names a dimen
    x[None].t() -> ShapeError: t: a tensor of shape \(1, 2, 3\): expected at most
    x[0].mT -> ShapeError: \.mT of a tensor of shape \(3,\)
    x.squeeze((0, 5)) -> ShapeError: squeeze: dim=\(0, 5\)
    fp.cat(x) -> DTypeError: cat of a Tensor: expected a list or tuple
    fp.cat([x, [1]]) -> DTypeError: cat: one is a list: expected tensors
    fp.cat([x, x[0]]) -> ShapeError: cat\(.*expected the same sizes, except along
    fp.stack(7) -> DTypeError: stack of a int
    fp.stack([x], 4) -> ShapeError: stack: dim=4
    x.split("a") -> DTypeError: split into 'a': expected an integer
    x.split([-1, 3]) -> ShapeError: split into \[-1, 3\]: expected sizes of at leas
    x.chunk(1.5) -> ShapeError: chunk into 1\.5 pieces
    x.flip(0, 0) -> ShapeError: flip: dims=\(0, 0\) names a dimension twice
    x.flip(None) -> DTypeError: flip: dims=None
    x.roll((1, 2), 0) -> ArgumentError: roll: shifts=\(1, 2\), dims=\(0,\)
    x.roll(1.5, 0) -> DTypeError: roll: shifts=\(1\.5,\): expected integers
    x.diagonal(0, 1, -1) -> ShapeError: diagonal: dim1=1, dim2=-1: expected diff
    x.diagonal("a") -> DTypeError: diagonal: offset=\('a',\)
    x[0].tril() -> ShapeError: tril: input of shape \(3,\): expected matrices
    x.triu(0.5) -> DTypeError: triu: diagonal=\(0\.5,\): expected integers
    F.pad(x, 1) -> DTypeError: pad: pad=1: expected a tuple
    F.pad(x, (1,)) -> ShapeError: pad: pad=\(1,\) for input of shape \(2, 3\)
    F.pad(x, (1,) * 6) -> ShapeError: pad: .*two numbers for each of the last
    F.pad(x, (-2, -2)) -> ShapeError: pad: \(-2, -2\) around axis 1 .* cuts off mor
    F.pad(x, (1.0, 0)) -> DTypeError: pad: pad=\(1\.0, 0\): expected integers
    F.pad(x, (1, 1), "zeros") -> ArgumentError: pad: mode='zeros': expected one of
    F.pad(x, (3, 0), "reflect") -> ShapeError: too few numbers for mode="reflect"
    F.pad(x, (0, 4), "circular") -> ShapeError: too few numbers for mode
    F.pad(x, (-1, 0), "reflect") -> ShapeError: only "constant" cuts off
    F.pad(x, (1, 0), "reflect", 2) -> ArgumentError: pad: value=2 with mode='reflec
    F.pad(x, (1, 0), value="a") -> DTypeError: pad: value='a': expected a number
    F.pixel_shuffle(x, 2) -> ShapeError: pixel_shuffle: input of shape \(2, 3\)
    F.pixel_shuffle(x[None], 0) -> ArgumentError: pixel_shuffle: upscale_factor=0
    F.pixel_unshuffle(x[None], 2) -> ShapeError: pixel_unshuffle: .*multiples of 2
    F.unfold(x, 2) -> ShapeError: unfold: input of shape \(2, 3\): expected \(N, C
    F.unfold(x[None], 4) -> ShapeError: unfold: a window of \(4, 4\).*does not
    F.unfold(x[None], (1, 2, 3)) -> ShapeError: unfold: kernel_size=\(1, 2, 3\)
    F.unfold(x[None], 1, stride=0) -> ShapeError: unfold: stride=0
    F.fold(x, 2, 2) -> ShapeError: fold: input of shape \(2, 3\): expected \(N, C 4
    F.fold(x, (2, 0), 1) -> ShapeError: fold: output_size=\(2, 0\)
    x.gather(0, [[0]]) -> DTypeError: gather: index is a list: expected a tensor
    x.gather(0, x) -> DTypeError: gather: index of float32: expected integers
    x.gather(1, fp.tensor([[3]])) -> ArgumentError: gather: index 3: expected 0 to
    x.gather(1, fp.tensor([[-1]])) -> ArgumentError: gather: index -1: expected 0 t
    x.gather(1, fp.tensor([0])) -> ShapeError: gather: index of shape \(1,\)
    x.gather(1, fp.tensor([[0]] * 3)) -> ShapeError: gather: index of shape \(3, 1
    x.take_along_dim([0]) -> DTypeError: take_along_dim: indices is a list
    x.take_along_dim(fp.tensor([0]), 1) -> ShapeError: take_along_dim: indices of s
    x.index_select(0, fp.tensor([2])) -> ArgumentError: index_select: index 2: expe
    x.index_select(0, fp.tensor([[0]])) -> ShapeError: index_select: index of shape
    x.scatter_add(0, fp.tensor([[0]]), fp.tensor([[1]])) -> DTypeError: scatter_add: source of int64
    x.scatter_add(0, fp.tensor([[0, 0]]), fp.ones(1, 1)) -> ShapeError: scatter_add: src: index of
    x.index_add(0, fp.tensor([0]), fp.ones(2, 3)) -> ShapeError: index_add: source of shape \(2, 3\)
    x.index_add(0, fp.tensor([0]), x[:1], alpha="a") -> DTypeError: index_add: alpha='a': expected a
    x.repeat_interleave(-1) -> ArgumentError: repeat_interleave: repeats=-1
    x.repeat_interleave(fp.tensor([1, 2, 3]), 0) -> ShapeError: repeats of shape \(
    F.one_hot([0]) -> DTypeError: one_hot: a list: expected a tensor of integers
    F.one_hot(x) -> DTypeError: one_hot: index of float32
    F.one_hot(fp.tensor([3]), 3) -> ArgumentError: one_hot: index 3: expected 0 to
    F.one_hot(fp.tensor([-1])) -> ArgumentError: one_hot: index -1
    F.one_hot(fp.tensor(np.zeros(0, int))) -> ArgumentError: one_hot of no numbers
    x[..., ...] -> ShapeError: getitem\(.*ellipses
    x[1.0] -> DTypeError: getitem: an index of type float
    x[[0.5]] -> DTypeError: getitem: an index of float64
    x[[[0], [1, 2]]] -> DTypeError: getitem: an index that is not an array
    x[0.5:] -> DTypeError: getitem: a slice with 0\.5: expected integers
    x[::0] -> ShapeError: getitem\(.*step cannot be zero
    x[[0, 2]] -> ShapeError: getitem\(.*index 2 is out of bounds for axis 0
    x[:, -4] -> ShapeError: getitem\(.*index -4 is out of bounds for axis 1
    x[[0, 1], [0, 1, 2]] -> ShapeError: getitem\(.*shape mismatch
    x[fp.ones(3, 2).array > 0] -> ShapeError: getitem\(.*boolean index of shape \(3
    x[fp.tensor(1.0)] -> DTypeError: getitem: an index of float32
    x.__setitem__(5, 0.0) -> ShapeError: x\[index\] = value .*index 5 is out of
    """, x=np.ones((2, 3)))  # fmt: skip


def test_layers_refuse_what_cannot_be():
    check_refusals(r"""
    nn.Unflatten("width", (2, 2)) -> MinifpError: Unflatten\('width', \(2, 2\)\): expected
    nn.Unflatten(1, (2, 4))(fp.ones(2, 6)) -> MinifpError: axis 1 .*whose product is 6
    nn.Unflatten(1, (4, -1))(fp.ones(2, 6)) -> MinifpError: axis 1 .*whose product is 6
    nn.Unflatten(1, (-1, -1))(fp.ones(2, 4)) -> MinifpError: axis 1 .*whose product is 4
    nn.Unflatten(2, (2, 3))(fp.ones(2, 6)) -> MinifpError: Unflatten: dim=2 for a tensor of 2
    """)


@st.composite
def indexed(draw):
    """A shape and an index into it: integers, slices, None, an ellipsis, arrays."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    if draw(st.booleans()):
        return shape, draw(hnp.basic_indices(shape, allow_newaxis=True))
    if draw(st.booleans()):
        return shape, draw(hnp.arrays(bool, shape))
    places = hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3))
    return shape, draw(places)


@pytest.mark.references
@given(indexed())
def test_indexing_is_that_of_numpy_and_its_gradient_counts_how_often_each_was_read(indexed):
    shape, i = indexed
    written, expected = fp.zeros(shape), np.zeros(shape)
    written[i], expected[i] = -1.0, -1.0
    np.testing.assert_array_equal(written.array, expected)
    x = fp.tensor(np.arange(np.prod(shape)).reshape(shape) * 1.0, requires_grad=True)
    y = x[i]
    np.testing.assert_array_equal(y.array, x.array[i])
    y.backward(gradient=np.ones(y.shape))
    counts = np.zeros(shape)
    np.add.at(counts, i, 1.0)
    np.testing.assert_array_equal(x.grad.array, counts)
