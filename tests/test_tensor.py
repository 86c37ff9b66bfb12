"""What a Tensor offers beside operations: conversions, exchange with others, writing in place."""

import copy
import pickle

import numpy as np
import pytest

import minifp as fp
from minifp import nn
from minifp.formats import float16, float32, float64

IN_PLACE = {
    "add_": (lambda t: t.add_(2.0), [3, 4]),
    "add_ alpha": (lambda t: t.add_(fp.tensor([1.0, 1.0]), alpha=2), [3, 4]),
    "sub_": (lambda t: t.sub_(1.0), [0, 1]),
    "mul_": (lambda t: t.mul_(fp.tensor([3.0, 4.0])), [3, 8]),
    "div_": (lambda t: t.div_(2), [0.5, 1]),
    "pow_": (lambda t: t.pow_(2), [1, 4]),
    "neg_": (lambda t: t.neg_(), [-1, -2]),
    "abs_": (lambda t: t.neg_().abs_(), [1, 2]),
    "square_": (lambda t: t.square_(), [1, 4]),
    "sqrt_": (lambda t: t.square_().sqrt_(), [1, 2]),
    "clamp_": (lambda t: t.clamp_(min=1.5), [1.5, 2]),
    "floor_": (lambda t: t.div_(4).floor_(), [0, 0]),
    "masked_fill_": (lambda t: t.masked_fill_(t > 1.5, 7.0), [1, 7]),
    "index_add_": (lambda t: t.index_add_(0, fp.tensor([1, 1]), fp.ones(2)), [1, 4]),
    "relu_": (lambda t: t.sub_(1.5).relu_(), [0, 0.5]),
    "copy_": (lambda t: t.copy_(fp.tensor([7, 8])), [7, 8]),
    "fill_": (lambda t: t.fill_(5), [5, 5]),
    "zero_": (lambda t: t.zero_(), [0, 0]),
    "setitem": (lambda t: t.__setitem__(0, 9.0), [9, 2]),
    "setitem of a mask": (lambda t: t.__setitem__(t > 1.5, 9.0), [1, 9]),
}


# ---- in place -----------------------------------------------------------------------------------


@pytest.mark.parametrize("change, expected", IN_PLACE.values(), ids=IN_PLACE)
def test_what_is_written_in_place_is_seen_through_every_view_and_noticed(change, expected):
    t = fp.tensor([1.0, 2.0])
    view, array, version = t.reshape(2, 1), t.array, t.storage.version
    change(t)
    assert t.tolist() == expected and view.tolist() == [[e] for e in expected]
    assert t.array is array and t.dtype == float32
    assert t.storage.version > version and view.storage is t.storage


@pytest.mark.parametrize("change", [c for c, _ in IN_PLACE.values()], ids=IN_PLACE)
def test_what_backward_needs_is_not_overwritten_unnoticed(change):
    x, t = fp.tensor([3.0, 4.0], requires_grad=True), fp.tensor([1.0, 2.0])
    y = (x * t).sum()
    change(t)
    with pytest.raises(fp.TapeError, match="changed in place after mul"):
        y.backward()


@pytest.mark.parametrize("change", [c for c, _ in IN_PLACE.values()], ids=IN_PLACE)
def test_a_tensor_that_requires_a_gradient_is_written_to_under_no_grad_only(change):
    x = fp.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(fp.TapeError, match="no_grad"):
        change(x)
    assert x.tolist() == [1, 2]
    with fp.no_grad():
        change(x)


def test_stretched_memory_is_not_written_to():
    t = fp.ones(1).expand(3)
    with pytest.raises(fp.TapeError, match="add_ on a tensor that shares its elements"):
        t.add_(1.0)


def test_random_numbers_in_place_are_those_of_the_stream_in_every_precision():
    drawn = []
    for dtype in ("float32", "float16"):
        fp.manual_seed(3)
        t = fp.zeros(500, dtype=dtype)
        drawn.append((t.uniform_(-2, 2).array.copy(), t.normal_(1.0, 2.0).array.copy()))
    for wide, narrow in zip(*drawn):
        np.testing.assert_array_equal(wide.astype("float16"), narrow)
    assert fp.zeros(20000, dtype="float16").uniform_(0, 1).array.max() < 1
    assert np.abs(drawn[0][0]).max() <= 2 and abs(drawn[0][1].mean() - 1) < 0.5
    with pytest.raises(fp.DTypeError, match="uniform_"):
        fp.tensor([1, 2]).uniform_()


def test_a_parameter_written_in_place_keeps_its_unrounded_numbers():
    with fp.precision("mixed"):
        p = nn.Parameter(np.array([0.1, 0.2], "float32"))
    with fp.no_grad():
        p.mul_(3.0).clamp_(max=0.5).add_(fp.tensor([1.0, 1.0]), alpha=0.25)
    expected = np.float32([0.1, 0.2]) * np.float32(3)
    expected = np.minimum(expected, np.float32(0.5)) + np.float32(0.25)
    np.testing.assert_array_equal(p.exact, expected)
    np.testing.assert_array_equal(p.array, expected.astype("float16"))


# ---- conversions --------------------------------------------------------------------------------


def test_conversions_by_name():
    t = fp.tensor([1.5, 0.0])
    names = {
        **{"half": "float16", "float": "float32", "double": "float64"},
        **{"int": "int32", "long": "int64", "bool": "bool"},
    }
    for name, dtype in names.items():
        assert getattr(t, name)().dtype == dtype
    assert t.type_as(t.half()).dtype == float16
    assert t.to("cpu") is t and t.cpu() is t and t.to("cpu", "half").dtype == float16
    assert t.to(fp.tensor([1])).dtype == "int64"
    assert t.to("float32", copy=True) is not t


def test_wrong_conversions_are_refused():
    t = fp.ones(2)
    with pytest.raises(fp.DeviceError, match="cuda"):
        t.cuda()
    with pytest.raises(fp.ArgumentError, match="expected a dtype, a device, both"):
        t.to("cpu", "half", "x")
    with pytest.raises(fp.MinifpError, match="float8"):
        t.to("float8")


def test_a_conversion_passes_its_gradient_in_the_format_of_its_input():
    x = fp.tensor([1.0, 2.0], requires_grad=True)
    (x.half() * 3).sum().backward()
    assert x.grad.dtype == float32 and x.grad.tolist() == [3, 3]


def test_attributes_are_pytorchs():
    t = fp.ones(2, 3, dtype="float16")
    assert (t.dim(), t.size(), t.size(-1), t.numel()) == (2, (2, 3), 3, 6)
    assert (t.element_size(), t.itemsize, t.nbytes) == (2, 2, 12)
    assert t.device == "cpu" and not t.is_cuda and t.is_floating_point()
    assert t.is_contiguous() and not t.T.is_contiguous()
    assert fp.ones(2, 3, 4).mT.shape == (2, 4, 3)
    for fails in (lambda: fp.ones(3).T, lambda: fp.ones(3).mT, lambda: t.size(2)):
        with pytest.raises(fp.ShapeError):
            fails()


def test_a_repr_shows_numbers_format_and_origin():
    x = fp.tensor([1.0, 2.5], requires_grad=True)
    assert repr(x) == "tensor([1. , 2.5], dtype=float32, requires_grad=True)"
    assert repr((x * 2).half()) == "tensor([2., 5.], dtype=float16, made by cast)"
    assert repr(fp.tensor([[1, 2], [3, 4]])).splitlines()[1] == "        [3, 4]], dtype=int64)"
    assert len(repr(fp.zeros(100, 100))) < 1000
    assert f"{fp.tensor(1.5):.3f}" == "1.500"


# ---- exchange with others -----------------------------------------------------------------------


def test_numpy_reads_a_tensor():
    t = fp.tensor([1.0, 2.0], dtype="float16")
    assert np.asarray(t) is not None and np.asarray(t).dtype == float16
    assert np.shares_memory(np.asarray(t), t.array)
    assert np.array(t, dtype="float64").dtype == float64


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_memory_is_shared_through_dlpack(dtype):
    t = fp.tensor([1, 2], dtype=dtype)
    theirs = np.from_dlpack(t)
    t.add_(1)
    assert theirs.tolist() == [2, 3] and theirs.dtype == dtype
    with pytest.raises(fp.TapeError, match="detach"):
        np.from_dlpack(fp.ones(2, requires_grad=True))


def test_pytorch_reads_a_tensor_without_a_copy():
    torch = pytest.importorskip("torch", reason="exchange is with PyTorch")
    t = fp.tensor([1.0, 2.0], dtype="float16")
    theirs = torch.from_dlpack(t)
    theirs += 1
    assert t.tolist() == [2, 3] and theirs.dtype == torch.float16


@pytest.mark.parametrize(
    "make", [lambda: fp.ones(2), lambda: nn.Linear(2, 2), lambda: [fp.ones(1)]]
)
def test_pickling_is_refused_with_the_way_to_save(make):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(fp.DTypeError, match=r"fp\.save"):
            pickle.dumps(make(), protocol)


def test_copies_are_deep():
    x = fp.tensor([1.0, 2.0], requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    y.grad.array[:] = 7
    with fp.no_grad():
        y.zero_()
    assert x.tolist() == [1, 2] and x.grad.tolist() == [2, 2]
    assert y.requires_grad and y.is_leaf
    with pytest.raises(fp.TapeError, match="made by mul"):
        copy.deepcopy(x * 2)


@pytest.mark.parametrize("precision", ["mixed", "float16", "autocast"])
def test_a_copied_model_is_the_same_and_its_own(precision):
    with fp.precision(precision):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    other = copy.deepcopy(model)
    x = fp.tensor(np.linspace(-1, 1, 12).reshape(4, 3))
    assert (other(x).array == model(x).array).all()
    assert other.precision is model.precision
    for (name, a), (_, b) in zip(model.named_parameters(), other.named_parameters()):
        assert (a.exact is None) == (b.exact is None), name
        assert not np.shares_memory(a.array, b.array)
    with fp.no_grad():
        other[0].weight.zero_()
    assert model[0].weight.array.any()
