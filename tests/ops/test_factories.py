"""Making tensors: what dtype and memory they get, random ones the same in every precision."""

import inspect
import operator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import check_refusals, refuses

import minifp as fp
from minifp.numerics.formats import bool_, float16, float32, float64, int32, int64, uint8
from minifp.ops import creation
from minifp.ops.factories import full, sampling


def test_from_numpy_shares_its_memory_and_keeps_its_dtype():
    for dtype in (float16, float32, float64, int64, uint8, bool_):
        a = np.zeros((2, 3), dtype)
        with fp.precision("mixed"):
            x = fp.from_numpy(a)
        assert (x.array is a, x.dtype) == (True, dtype)
        x.fill_(1)
        assert a.all()
    assert fp.from_numpy(np.arange(6.0)[::-2]).tolist() == [5, 3, 1]


class Theirs:
    """As a tensor of PyTorch's, on the CPU, of a format that NumPy lacks."""

    __cuda_array_interface__ = property(operator.attrgetter("of_tensors_on_a_gpu"))
    __array__ = property(lambda self: np.array)  # which raises TypeError
    float = lambda self: np.array([1.5, 2.0], float32)  # noqa: E731


def test_tensors_of_others_and_arrays_in_another_byte_order_are_numbers():
    assert fp.tensor(Theirs()).tolist() == fp.as_tensor(Theirs()).tolist() == [1.5, 2.0]
    x = fp.ones(2)
    assert np.shares_memory(fp.from_dlpack(x).array, x.array)
    for dtype, make in product((">f4", ">f2", ">i4"), (fp.Tensor, fp.tensor, fp.as_tensor)):
        x = make(np.array([1, 2], dtype))
        assert x.array.dtype.isnative and (x + x).tolist() == [2, 4]


def test_as_tensor_copies_only_where_it_must_and_tensor_always():
    a = np.zeros(3, float32)
    x = fp.as_tensor(a)
    assert x.array is a and fp.as_tensor(x) is x
    assert fp.as_tensor(a, dtype="float16").dtype == float16
    with fp.precision("mixed"):
        assert fp.as_tensor(a).dtype == float16
        assert fp.as_tensor(a, dtype="float32").array is a
        assert fp.as_tensor(x) is x
    i = np.arange(3)
    assert fp.as_tensor(i).array is i and fp.as_tensor([1, 2]).dtype == int64
    x = fp.ones(2, requires_grad=True)
    fp.as_tensor(x, dtype="float64").sum().backward()
    assert x.grad.tolist() == [1, 1]
    for dtype in (float32, int64, bool_, uint8):
        a = np.zeros(3, dtype)
        x = fp.tensor(a)
        assert x.dtype == dtype
        fp.tensor(x).fill_(1)
        assert not x.array.any()
        x.fill_(1)
        assert not a.any()


MAKERS = {
    **{"zeros": lambda m, **s: m.zeros(2, 3, **s), "ones": lambda m, **s: m.ones((2, 3), **s)},
    "empty": lambda m, **s: m.empty([2, 3], **s),
    "full": lambda m, **s: m.full((2, 3), 0.5, **s),
    "arange": lambda m, **s: m.arange(0.0, 1, 0.25, **s),
    "linspace": lambda m, **s: m.linspace(-1, 2, 5, **s),
    **{"eye": lambda m, **s: m.eye(2, 3, **s), "rand": lambda m, **s: m.rand(2, 3, **s)},
    "randn": lambda m, **s: m.randn(2, 3, **s),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_floating_tensors_are_stored_as_the_precision_says(make):
    for precision, dtype in (("mixed", float16), ("float32", float32), ("float64", float64)):
        with fp.precision(precision):
            assert make(fp).dtype == dtype
            assert make(fp, dtype="float64", requires_grad=True).dtype == float64
    assert make(fp, requires_grad=True).requires_grad and not make(fp).requires_grad
    assert make(fp, device="cpu").array.flags.writeable
    refuses(fp.DeviceError, "cuda", make, fp, device="cuda")


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_shapes_and_dtypes_are_pytorchs(torch, make):
    for settings in ({}, {"dtype": "float64"}, {"dtype": "int32"}):
        if "int32" in settings.values() and make in (MAKERS["rand"], MAKERS["randn"]):
            continue
        theirs = {k: getattr(torch, v) for k, v in settings.items()}
        y, z = make(fp, **settings), make(torch, **theirs)
        assert (y.shape, str(y.dtype)) == (tuple(z.shape), str(z.dtype).partition(".")[2])
        if make not in (MAKERS["empty"], MAKERS["rand"], MAKERS["randn"]):
            np.testing.assert_allclose(y.array, z.numpy(), rtol=1e-7)


def test_numbers_without_a_point_stay_integers_and_eye_is_the_identity():
    assert fp.full((2,), 3).dtype == fp.arange(3).dtype == fp.arange(1, 7, 2).dtype == int64
    assert (fp.full((2,), True).dtype, fp.full((2,), 3, dtype="float16").dtype) == (bool_, float16)
    assert fp.arange(3.0).dtype == fp.tensor([1, 2], dtype="float32").dtype == float32
    assert fp.full((), 2.5).shape == ()
    assert fp.full((2,), fp.tensor(2.5)).tolist() == [2.5, 2.5]
    assert fp.eye(2).tolist() == [[1, 0], [0, 1]]
    assert fp.eye(0, 3).shape == (0, 3)


numbers = st.integers(-50, 50) | st.floats(-50, 50).filter(lambda x: x == 0 or abs(x) > 1e-3)


@given(numbers, numbers, numbers.filter(bool))
def test_arange_is_pytorchs(torch, start, end, step):
    if (end - start) / step < 0:
        refuses(fp.ArgumentError, "arange: .* do not lead", fp.arange, start, end, step)
        return
    y, z = fp.arange(start, end, step), torch.arange(start, end, step)
    assert y.shape == tuple(z.shape)
    np.testing.assert_allclose(y.array, z.numpy(), rtol=1e-5, atol=1e-5)


@given(st.floats(-50, 50), st.floats(-50, 50), st.integers(0, 9))
def test_linspace_is_pytorchs_and_ends_where_it_should(torch, start, end, steps):
    y, z = fp.linspace(start, end, steps), torch.linspace(start, end, steps)
    assert (y.shape, y.dtype) == (tuple(z.shape), float32)
    np.testing.assert_allclose(y.array, z.numpy(), rtol=1e-6, atol=1e-5)
    if steps > 1:
        assert (y.array[0], y.array[-1]) == (float32.type(start), float32.type(end))


LIKE = {
    "zeros_like": 0, "ones_like": 1, "empty_like": None, "full_like": 0.5, "rand_like": None,
    "randn_like": None,
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE)
def test_likes_take_shape_and_dtype_of_the_tensor_and_not_of_the_precision(name):
    more = (0.5,) if name == "full_like" else ()
    x = fp.zeros(2, 3, dtype="float64")
    with fp.precision("mixed"):
        y = getattr(fp, name)(x, *more)
        assert (y.shape, y.dtype) == (x.shape, float64)
        z = getattr(fp, name)(x, *more, dtype="float32", requires_grad=True)
        assert (z.dtype, z.requires_grad) == (float32, True)
    if LIKE[name] is not None:
        assert (y.array == LIKE[name]).all()


def test_likes_of_integers_are_integers():
    x = fp.tensor(np.zeros((2, 3), int32))
    assert fp.zeros_like(x).dtype == fp.ones_like(x).dtype == fp.full_like(x, 3).dtype == int32
    y = fp.randint_like(x, 5)
    assert (y.shape, y.dtype) == ((2, 3), int32)
    assert set(fp.randint_like(x, 4, 5).array.reshape(-1)) == {4}


def test_values_that_overflow_give_a_warning():
    with fp.precision("mixed"):
        with pytest.warns(fp.PrecisionWarning, match="overflow float16"):
            assert fp.full((2,), 70000.0).tolist() == [np.inf] * 2
        with pytest.warns(fp.PrecisionWarning, match=r"2 of 5 values overflow float16.*65504"):
            x = fp.tensor([1e5, -1e5, 65504.0, 1.0, np.inf])
        assert x.tolist() == [np.inf, -np.inf, 65504, 1, np.inf]
        fp.tensor([65519.0, np.inf, np.nan])  # no warning


@pytest.mark.parametrize("name", ["rand", "randn"])
def test_every_precision_draws_the_same_numbers(name):
    drawn = {}
    for precision in ("float32", "mixed", "float64"):
        fp.manual_seed(5)
        with fp.precision(precision):
            drawn[precision] = getattr(fp, name)(1000).array
    np.testing.assert_array_equal(drawn["float64"], drawn["float32"])
    np.testing.assert_allclose(drawn["mixed"], drawn["float32"], rtol=2.0**-11, atol=2.0**-25)


def test_uniform_numbers_stay_below_1_however_they_are_rounded():
    """One in 4,096 would be rounded to 1 in float16."""
    x = fp.rand(100_000, dtype="float16").array
    assert 0 <= x.min() and x.max() == float16.type(1 - 2.0**-11)
    assert abs(x.astype(float64).mean() - 0.5) < 0.005


def test_integers_are_drawn_evenly_and_a_permutation_has_every_number_once():
    fp.manual_seed(0)
    x = fp.randint(-2, 3, (100_000,))
    counts = np.bincount(x.array + 2)
    assert x.dtype == int64 and len(counts) == 5
    assert (np.abs(counts - 20_000) < 800).all()
    assert set(fp.randint(2, (100,)).tolist()) == {0, 1}
    assert fp.randint(5, (2, 3), dtype="float32").dtype == float32
    fp.manual_seed(0)
    x = fp.randperm(1000)
    assert x.dtype == int64 and sorted(x.tolist()) == list(range(1000))
    assert x.tolist() != fp.randperm(1000).tolist()
    assert fp.randperm(0).shape == (0,)
    fp.manual_seed(0)
    assert fp.randperm(1000).tolist() == x.tolist()


def test_a_seed_gives_the_same_numbers_and_each_purpose_has_its_own():
    def draw():
        fp.manual_seed(3)
        return [fp.rand(4), fp.randn(4), fp.randint(9, (4,)), fp.randperm(4)]

    for x, y in zip(draw(), draw()):
        np.testing.assert_array_equal(x.array, y.array)
    fp.manual_seed(3)
    fp.rand(100)
    np.testing.assert_array_equal(fp.randn(4).array, draw()[1].array)


def test_bad_arguments_are_refused_by_name():
    check_refusals(r"""
    fp.zeros(2, -1) -> ShapeError: zeros: size \(2, -1\): expected integers of at lea
    fp.ones(2.5) -> DTypeError: ones: size \(2\.5,\): expected integers, not 2\.5
    fp.empty(2, (3,)) -> DTypeError: empty: size \(2, \(3,\)\): expected integers
    fp.zeros(True) -> DTypeError: zeros: size \(True,\)
    fp.full(2.0, 1) -> DTypeError: full: size \(2\.0,\)
    fp.full((2,), [1, 2]) -> ShapeError: full: a value of shape \(2,\)
    fp.full((2,), "a") -> DTypeError: data of type <U1
    fp.zeros(2, dtype="float8") -> PrecisionError: no dtype 'float8'
    fp.arange(0, 3, 0) -> ArgumentError: arange: step=0
    fp.arange(3, 0) -> ArgumentError: arange: steps of 1 do not lead from 3 to 0
    fp.arange("a") -> DTypeError: arange: end='a': expected a number
    fp.arange(0, np.inf) -> ArgumentError: arange: end=inf: expected a finite number
    fp.linspace(0, 1, -1) -> ArgumentError: linspace: steps=-1: expected an integer
    fp.linspace(0, None, 3) -> DTypeError: linspace: end=None: expected a number
    fp.eye(-1) -> ArgumentError: eye: n=-1: expected an integer, at least 0
    fp.eye(2, 1.5) -> ArgumentError: eye: m=1\.5
    fp.rand(-1) -> ShapeError: rand: size \(-1,\): expected integers of at least 0
    fp.rand(2, dtype="int64") -> DTypeError: rand: dtype=int64: expected a floating o
    fp.randn("a") -> DTypeError: randn: size \('a',\)
    fp.rand_like(fp.tensor([1])) -> DTypeError: rand_like: dtype=int64: expected a fl
    fp.randint(3, 3, (2,)) -> ArgumentError: randint: from 3 to 3: expected integers
    fp.randint(0.5, (2,)) -> ArgumentError: randint: from 0 to 0\.5: expected integer
    fp.randint(3, 2.5) -> DTypeError: randint: size \(2\.5,\): expected integers
    fp.randint_like(fp.ones(2), -1) -> ArgumentError: randint: from 0 to -1
    fp.randperm(-1) -> ArgumentError: randperm: n=-1: expected an integer, at least 0
    fp.from_dlpack([1]) -> DTypeError: from_dlpack: a list: expected an array with __dl
    fp.from_numpy([1]) -> DTypeError: from_numpy: a list: expected a NumPy array
    fp.from_numpy(np.zeros(2, ">f4")) -> DTypeError: from_numpy: an array of >f4
    fp.as_tensor("a") -> DTypeError: data of type <U1
    fp.as_tensor([1.0], device="cuda") -> DeviceError: cuda
    fp.zeros(2, dtype="int64", requires_grad=True) -> TapeError: only floating tensor
    """)


def test_every_function_that_makes_tensors_is_public_and_named_here():
    text = Path(__file__).read_text(encoding="utf-8")
    for module in (creation, full, sampling):
        for name, f in vars(module).items():
            public = inspect.isfunction(f) and f.__module__ == module.__name__
            helps = name.startswith("_") or name in HELPERS
            if public and not helps:
                assert getattr(fp, name) is f
                assert f"fp.{name}(" in text or f'"{name}"' in text, name


HELPERS = "as_array check_number filled floating made_of storage_dtype warn_of_overflow".split()


def test_draws_have_the_probabilities_that_are_asked_for_in_every_precision():
    drawn = []
    for dtype in ("float32", "float16"):
        fp.manual_seed(0)
        p = fp.full((20000,), 0.25, dtype=dtype)
        weights = fp.tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 2.0]], dtype=dtype)
        one, some = weights[0], fp.bernoulli(p)
        many = fp.multinomial(weights, 20000, replacement=True)
        few = fp.stack([one.multinomial(2) for _ in range(2000)])
        assert some.dtype == dtype and many.dtype == few.dtype == "int64"
        assert abs(some.float().mean().item() - 0.25) < 0.015
        assert abs((many[0] == 2).float().mean().item() - 0.75) < 0.015
        assert not (many == 1).any() and (many[1] == 2).all()
        assert (few.sort(1)[0] == fp.tensor([0, 2])).all()
        assert abs((few[:, 0] == 2).float().mean().item() - 0.75) < 0.05
        z = fp.normal(fp.full((20000,), 2.0, dtype=dtype), 0.5)
        assert z.dtype == dtype and abs(z.float().mean().item() - 2) < 0.02
        assert abs(z.float().std().item() - 0.5) < 0.02
        drawn.append((some.tolist(), many.tolist(), few.tolist()))
    assert drawn[0] == drawn[1]


def total(addend, dtype=None):
    t = fp.zeros(2, dtype=dtype)
    for _ in range(3000):
        t[:1] += addend
    return t


@pytest.mark.parametrize("make, words", [
    (lambda: fp.arange(0.0, 3000.0), r"476 of 3000 whole numbers .*\(2049 is now 2048"),
    (lambda: fp.arange(0, 2000, 0.5), "of 4000 numbers 975 equal the one before"),
    (lambda: fp.arange(3000, dtype="bfloat16"), "integers up to 256 only"),
    (lambda: fp.linspace(0, 1, 5000), "1701 equal the one before"),
    (lambda: fp.ones(3000).cumsum(0), "cumsum: 476 of 3000"),
    (lambda: fp.arange(3000).type_as(fp.ones(1)), "476 of 3000"),
    (lambda: fp.tensor(np.arange(3000.0)), 'dtype="float32", or keep integers'),
    (lambda: fp.tensor([[0.5, 1999.0], [0.25, 2049.0]]), "1 of 2 whole numbers"),
    (lambda: total(1), r"2048 \+ 1 is now 2048"), (lambda: total(61), r"\+ 61 is now"),
    (lambda: total(fp.tensor(0.7, dtype="float32")), "loses what is added: .* total .= loss.item"),
])  # fmt: skip
def test_whole_numbers_that_become_others_and_addends_that_are_lost_are_told(make, words):
    with fp.precision("mixed"), pytest.warns(fp.PrecisionWarning, match=words):
        make()


def test_numbers_that_a_format_has_are_not_told():
    with fp.precision("mixed"):
        fp.arange(0.0, 2049.0), fp.arange(3000), fp.linspace(1e-4, 0.02, 1000), fp.linspace(1, 1, 5)
        fp.tensor(np.arange(300.0) * 9 + 0.5), fp.softmax(fp.randn(2, 1000), -1).cumsum(-1)
        total(0), total(1, "float32"), total(1, "int64"), fp.tensor(np.ones((0, 3)))
