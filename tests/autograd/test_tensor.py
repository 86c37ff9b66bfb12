"""What a Tensor offers beside operations: conversions, exchange with others, writing in place."""

import copy
import json
import operator
import pickle

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp import nn


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
    refuses(fp.DTypeError, "uniform_", fp.tensor([1, 2]).uniform_)


def test_parameters_trained_by_hand_keep_their_unrounded_numbers():
    for precision, stored in (("float32", "float32"), ("mixed", "float16")):
        with fp.precision(precision):
            p = nn.Parameter(np.array([0.1, 0.2], "float32"))
        before, array = p, p.array
        (p.float() * 3).sum().backward()
        with fp.no_grad():
            p -= 1e-4 * p.grad.float()
            p.index_add_(0, fp.tensor([0, 1]), p.grad * 2**-13)
        assert p is before and p.array is array and p.dtype == stored and p.requires_grad
        expected = np.float32([0.1, 0.2]) - np.float32(1e-4) * np.float32(3) + np.float32(3 / 2**13)
        np.testing.assert_allclose(p.array if p.exact is None else p.exact, expected, rtol=1e-7)


def test_conversions_by_name():
    t = fp.tensor([1.5, 0.0])
    names = {"half": "float16", "float": "float32", "double": "float64", "int": "int32",
             "long": "int64", "bool": "bool"}  # fmt: skip
    for name, dtype in names.items():
        assert getattr(t, name)().dtype == dtype
    assert t.type_as(t.half()).dtype == fp.float16
    x = fp.tensor([1.0, 2.0], requires_grad=True)
    (x.half() * 3).sum().backward()
    assert x.grad.dtype == fp.float32 and x.grad.tolist() == [3, 3]  # in the format of its input
    assert t.to("cpu") is t and t.cpu() is t and t.to("cpu", "half").dtype == fp.float16
    assert t.to(fp.tensor([1])).dtype == "int64"
    assert t.to("float32", copy=True) is not t
    for wrong, error, words in (
        (("cuda",), fp.DeviceError, "cuda"),
        (("cpu", "half", "x"), fp.ArgumentError, "expected a dtype, a device, both"),
        (("float8",), fp.MinifpError, "float8"),
    ):
        refuses(error, words, t.to, *wrong)
    refuses(fp.DeviceError, "cuda", t.cuda)


def test_attributes_and_reprs_are_as_in_pytorch_and_say_the_format_and_origin():
    t = fp.ones(2, 3, dtype="float16")
    assert (t.dim(), t.size(), t.size(-1), t.numel()) == (2, (2, 3), 3, 6)
    assert (t.element_size(), t.itemsize, t.nbytes) == (2, 2, 12)
    assert t.device == "cpu" and not t.is_cuda and t.is_floating_point()
    assert t.is_contiguous() and not t.T.is_contiguous()
    assert fp.ones(2, 3, 4).mT.shape == (2, 4, 3)
    for fails in (lambda: fp.ones(3).T, lambda: fp.ones(3).mT, lambda: t.size(2)):
        with pytest.raises(fp.ShapeError):
            fails()
    x = fp.tensor([1.0, 2.5], requires_grad=True)
    assert repr(x) == "tensor([1. , 2.5], dtype=float32, requires_grad=True)"
    assert repr((x * 2).half()) == "tensor([2., 5.], dtype=float16, made by cast)"
    assert repr(fp.tensor([[1, 2], [3, 4]])).splitlines()[1] == "        [3, 4]], dtype=int64)"
    assert len(repr(fp.zeros(100, 100))) < 1000
    assert f"{fp.tensor(1.5):.3f}" == "1.500"
    assert "abc"[fp.tensor(1)] == "b" and list(range(fp.tensor([2]))) == [0, 1]
    for t in (fp.tensor(1.0), fp.tensor([1, 2])):
        refuses(TypeError, "as an index", operator.index, t)
    t = fp.ones(2)
    t.requires_grad = True
    assert t.requires_grad
    t.requires_grad = False
    assert not t.requires_grad
    with pytest.raises(fp.TapeError, match="leaves"):
        (fp.ones(1, requires_grad=True) * 2).requires_grad = False


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_memory_is_shared_with_numpy_also_through_dlpack(dtype):
    t = fp.tensor([1, 2], dtype=dtype)
    assert np.asarray(t).dtype == dtype and np.shares_memory(np.asarray(t), t.array)
    assert np.array(t, dtype="float64").dtype == fp.float64
    theirs = np.from_dlpack(t)
    t.add_(1)
    assert theirs.tolist() == [2, 3] and theirs.dtype == dtype
    refuses(fp.TapeError, "detach", np.from_dlpack, fp.ones(2, requires_grad=True))


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
        refuses(fp.DTypeError, r"fp\.save", pickle.dumps, make(), protocol)


def test_functions_of_numpy_take_tensors():
    for name in ("float32", "float16", "bfloat16", "float64"):
        x = fp.tensor([1.0, 4.0], dtype=name)
        made = np.sqrt(x), np.maximum(x, 2), np.add.reduce(x), np.float32(2) * x, np.ones(2) - x
        assert [y.tolist() for y in made] == [[1, 2], [2, 4], 5, [2, 8], [0, -3]]
        assert made[0].dtype == x.dtype and np.isnan(x).tolist() == [False, False]
        assert (np.ones(2) == x).tolist() == [True, False] == (np.array([2, 3]) > x).tolist()
        assert type(np.concatenate([x, x])) is np.ndarray and np.modf(x)[1].tolist() == [1, 4]
    written, w = np.zeros(2), fp.tensor([2.0], requires_grad=True)
    assert np.sqrt(x, out=written) is written and (written + x).tolist() == [2, 6]
    (np.array([3.0]) * w + np.multiply(w, w)).sum().backward()
    assert w.grad.tolist() == [7] and np.shape(w) == (1,)


def test_copies_are_deep_and_a_shallow_one_shares_memory():
    x = fp.tensor([1.0, 2.0], requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    y.grad.array[:] = 7
    with fp.no_grad():
        y.zero_()
    assert x.tolist() == [1, 2] and x.grad.tolist() == [2, 2]
    assert y.requires_grad and y.is_leaf
    refuses(fp.TapeError, "the result of mul", copy.deepcopy, x * 2)
    with fp.precision("mixed"):
        p = nn.Parameter(np.array([0.1, 0.2], "float32"))
    q = copy.copy(p)
    assert type(q) is nn.Parameter and q.requires_grad and q.storage is p.storage
    with fp.no_grad():
        q.zero_()
    assert p.tolist() == [0, 0] == p.exact.tolist()
    x = fp.tensor([1.0], requires_grad=True)
    copy.copy(x * 2).sum().backward()
    assert x.grad.tolist() == [2] and copy.copy(x).grad is None


@pytest.mark.parametrize("precision", ["mixed", "float16", "autocast"])
def test_a_copied_model_is_the_same_and_its_own(precision):
    with fp.precision(precision):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    other, x = copy.deepcopy(model), fp.tensor(np.linspace(-1, 1, 12).reshape(4, 3))
    assert (other(x).array == model(x).array).all()
    assert other.precision is model.precision
    for (name, a), (_, b) in zip(model.named_parameters(), other.named_parameters()):
        assert (a.exact is None) == (b.exact is None), name
        assert not np.shares_memory(a.array, b.array)
    with fp.no_grad():
        other[0].weight.zero_()
    assert model[0].weight.array.any()


def test_bits_of_integers_and_booleans_as_pytorch():
    torch = pytest.importorskip("torch", reason="bits are compared with PyTorch's")
    for a, b in (([5, -3, 0], [3, 6, -1]), ([True, False, True], [True, True, False])):
        x, y, t, u = fp.tensor(a), fp.tensor(b), torch.tensor(a), torch.tensor(b)
        for f in (operator.and_, operator.or_, operator.xor):
            for mine, theirs in ((f(x, y), f(t, u)), (f(x, b[0]), f(t, b[0])), (f(1, x), f(1, t))):
                assert mine.tolist() == theirs.tolist()
                assert str(mine.dtype) == str(theirs.dtype).removeprefix("torch.")
        assert (~x).tolist() == (~t).tolist()
    for fails in (lambda: ~fp.ones(2), lambda: fp.ones(2) & 1, lambda: fp.tensor([1]) | 0.5):
        refuses(fp.DTypeError, "bitwise", fails)
    with pytest.raises(fp.ShapeError, match="bitwise_and"):
        fp.tensor([1, 2]) & fp.tensor([1, 2, 3])


def test_dtypes_and_constants_have_pytorchs_names():
    torch = pytest.importorskip("torch", reason="names and limits are PyTorch's")
    for name in ("half", "float", "double", "int", "long", "bool"):
        found = fp.zeros(1, dtype=getattr(fp, name)).dtype
        assert str(found) == str(getattr(torch, name)).removeprefix("torch.")
    assert (fp.inf, fp.pi) == (torch.inf, torch.pi) and fp.nan != fp.nan
    for name in ("float16", "float32", "float64"):
        mine, theirs = fp.finfo(getattr(fp, name)), torch.finfo(getattr(torch, name))
        for what in ("dtype", "bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
            assert getattr(mine, what) == getattr(theirs, what), (name, what)
    for name in ("int32", "int64", "uint8"):
        mine, theirs = fp.iinfo(getattr(fp, name)), torch.iinfo(getattr(torch, name))
        assert (mine.bits, mine.max, mine.min) == (theirs.bits, theirs.max, theirs.min)
    for fails in (lambda: fp.finfo("int64"), lambda: fp.iinfo("float32")):
        refuses(fp.DTypeError, "expected .* dtype; for", fails)
    assert fp.is_tensor(fp.ones(1)) and not fp.is_tensor([1])
    assert fp.numel(fp.ones(2, 3)) == 6 and fp.is_floating_point(fp.ones(1))


def test_new_tensors_are_of_the_dtype_of_the_one_that_is_asked():
    t = fp.ones(2, 3, dtype="float16")
    made = [
        t.new_zeros(2), t.new_ones((2, 1)), t.new_empty(2), t.new_full((2,), 3), t.new_tensor([1]),
    ]  # fmt: skip
    assert {m.dtype for m in made} == {fp.float16}
    assert [m.shape for m in made] == [(2,), (2, 1), (2,), (2,), (1,)]
    assert t.new_zeros(2, dtype="int64").dtype == "int64"
    assert (t.nelement(), t.stride(), t.T.stride(), t.stride(-1)) == (6, (3, 1), (1, 3), 1)


def test_nearly_equal_is_as_in_pytorch():
    torch = pytest.importorskip("torch", reason="closeness is PyTorch's")
    a = np.array([1.0, 1.0, np.inf, -np.inf, np.nan, 0.0, 1e5, np.inf])
    b = np.array([1.0 + 5e-6, 1.1, np.inf, np.inf, np.nan, 1e-9, 1e5 + 2, 1.0])
    for settings in ({}, {"equal_nan": True}, {"rtol": 0.2, "atol": 0}, {"rtol": 0, "atol": 0}):
        mine = fp.isclose(fp.from_numpy(a), fp.from_numpy(b), **settings)
        theirs = torch.isclose(torch.tensor(a), torch.tensor(b), **settings)
        assert mine.tolist() == theirs.tolist()
        alike = torch.allclose(torch.tensor(a), torch.tensor(a), **settings)
        assert fp.allclose(fp.from_numpy(a), fp.from_numpy(a), **settings) is alike
    x = fp.tensor([2**53, 2**53 + 1])
    assert fp.isclose(x, x.flip(0), rtol=0, atol=0).tolist() == [False, False]
    assert x.equal(x) and not x.equal(x[:1]) and not fp.equal(x, x.flip(0))
    for fails, kind in (
        (lambda: fp.isclose(x, fp.ones(3)), fp.ShapeError),
        (lambda: fp.isclose(x, [1]), fp.DTypeError),
        (lambda: fp.allclose(x, x, rtol=-1.0), fp.ArgumentError),
        (lambda: fp.equal(x, 3), fp.DTypeError),
    ):
        with pytest.raises(kind):
            fails()


def test_places_of_what_is_not_zero_are_pytorchs():
    torch = pytest.importorskip("torch", reason="places are PyTorch's")
    for a in ([[1, 0], [2, 3]], [0.0, 0.5], 2.0, 0.0, [[]]):
        x, t = fp.tensor(np.array(a)), torch.tensor(np.array(a))
        found = x.nonzero()
        assert found.dtype == "int64" and found.shape == tuple(t.nonzero().shape)
        assert found.tolist() == t.nonzero().tolist()
        for mine, theirs in zip(fp.where(x), torch.where(t), strict=True):
            assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("fails, kind, message", [
    (lambda x: x.clamp(fp.ones(3)), fp.ShapeError, "clamp"),
    (lambda x: x.narrow(0, 1, 2), fp.ShapeError, "narrow"),
    (lambda x: x.select(0, 5), fp.ShapeError, "out of bounds"),
    (lambda x: x.unflatten(0, (3, -1)), fp.ShapeError, "unflatten"),
    (lambda x: x.masked_select(x), fp.DTypeError, "masked_select"),
    (lambda x: x.masked_select(fp.tensor([True] * 3)), fp.ShapeError, "masked_select"),
    (lambda x: x.scatter(0, fp.tensor([0])), fp.ArgumentError, "src or value"),
    (lambda x: x.scatter(0, fp.tensor([0]), "a"), fp.DTypeError, "scatter"),
    (lambda x: x.scatter(0, fp.tensor([7]), 1.0), fp.ArgumentError, "scatter: index 7"),
    (lambda x: fp.meshgrid(x, indexing="yx"), fp.ArgumentError, "indexing='yx'"),
    (lambda x: fp.meshgrid(fp.ones(2, 2)), fp.ShapeError, "meshgrid"),
    (lambda x: fp.meshgrid(), fp.ShapeError, "meshgrid"),
    (lambda x: fp.hstack([]), fp.ShapeError, "hstack"),
    (lambda x: fp.vstack(x), fp.DTypeError, "vstack"),
    (lambda x: x.cumprod(2), fp.ShapeError, "cumprod"),
    (lambda x: x.var(0, True, correction=0), fp.ArgumentError, "unbiased and correction"),
    (lambda x: x.std(True, False), fp.ArgumentError, "std: dim=True"),
    (lambda x: x.softmax(0, dtype="int64"), fp.DTypeError, "softmax: dtype"),
    (lambda x: (x * 2).bernoulli(), fp.ArgumentError, "bernoulli"),
    (lambda x: x.multinomial(3), fp.ArgumentError, "3 samples without replacement"),
    (lambda x: (-x).multinomial(1), fp.ArgumentError, "finite weights"),
    (lambda x: fp.ones(1, 1, 1).multinomial(1), fp.ShapeError, "multinomial"),
    (lambda x: fp.normal(0.0, 1.0), fp.ArgumentError, "normal"),
    (lambda x: fp.normal(0.0, -1.0, (2,)), fp.ArgumentError, "std below 0"),
    (lambda x: fp.normal(x, fp.ones(3)), fp.ShapeError, "normal"),
    (lambda x: fp.ones(2, device=0), fp.DeviceError, "cuda"),
    (lambda x: x.to(0), fp.DeviceError, "cuda"),
    (lambda x: fp.data.mnist("folder"), fp.ArgumentError, "MINIFP_DATA"),
    (lambda x: fp.data.cifar10(root="folder"), fp.ArgumentError, "MINIFP_DATA"),
    (lambda x: fp.batch_norm(fp.ones(2, 2), None, None), fp.ArgumentError, "evaluation .* needs"),
    (lambda x: fp.Tensor("x"), fp.DTypeError, "Tensor of a str.*write fp.tensor"),
    (lambda x: fp.Tensor(2, 2.5), fp.DTypeError, "expected sizes, which are integers"),
    (lambda x: fp.device("mps"), fp.ArgumentError, "expected 'cpu', 'cuda'"),
    (lambda x: fp.grad(None, x), fp.DTypeError, "grad: outputs is a NoneType"),
])  # fmt: skip
def test_bad_input_is_refused_by_name(fails, kind, message):
    refuses(kind, message, fails, fp.ones(2))


@pytest.mark.parametrize("x", [fp.tensor([1.0, 2.0]), fp.tensor([[True, False]]), fp.zeros(0)])
def test_the_truth_of_several_numbers_is_asked_for_by_any_or_all(x):
    for ask in (bool, lambda x: x and 1, lambda x: x or 1, lambda x: not x):
        refuses(fp.ShapeError, r"truth value.* \.any\(\) or \.all\(\)", ask, x)
    assert fp.tensor([[2.0]]) and not fp.tensor(0)


@pytest.mark.parametrize("dtype", ["fp16", "FP16", "f16"])
def test_a_misspelled_dtype_is_told_its_name(dtype):
    refuses(fp.PrecisionError, 'did you mean "float16"', fp.ones, 2, dtype=dtype)


def test_dtype_device_and_shape_say_what_pytorchs_do_and_are_equal_to_their_names():
    x = fp.randn(2, 3)
    assert type(x * 2) is fp.Tensor and fp.Tensor(2, 3).shape == fp.Tensor(x.shape).shape == (2, 3)
    assert x.size().numel() == 6 and fp.Tensor([1, 2]).tolist() == [1, 2]
    assert fp.Tensor(1, 2, 3, 4, 0).shape == (1, 2, 3, 4, 0) and fp.Tensor().shape == (0,)
    assert fp.Tensor(1, 2, 1, 1, 1, 3).shape == (1, 2, 1, 1, 1, 3)
    assert fp.zeros(fp.tensor(2), 3).shape == x.reshape(fp.tensor(2), -1).shape == x.shape
    assert x.device == "cpu" and x.device.type == "cpu" and fp.device("cuda:0") == "cuda"
    assert json.dumps([x.device, x.shape]) == '["cpu", [2, 3]]' and {"cpu": 1}[x.device]
    assert isinstance(x.dtype, fp.dtype) and x.dtype.is_floating_point and x.dtype is fp.float32
    assert x.dtype == "float32" == x.dtype == np.float32 and {np.dtype("f4"): 1}[x.dtype]
    assert np.zeros(2, x.dtype).dtype == x.dtype and not fp.long.is_floating_point
    assert pickle.loads(pickle.dumps((x.dtype, x.device, x.shape))) == (x.dtype, "cpu", (2, 3))
