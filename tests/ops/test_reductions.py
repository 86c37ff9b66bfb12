"""Reductions, extremes, norms, running sums: what half precision loses, and what is refused."""

import warnings

import cases  # noqa: F401 (knows how far rounding may carry each kernel's results)
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import check_refusals

import minifp as fp
import minifp.nn.functional as F
from minifp.numerics.accumulate import primitives
from minifp.numerics.formats import bool_, float16, float32, float64, int64, uint8

HALF_SUMS = "mixed,reduce=float16"


def test_running_sums_of_4096_float16_tenths_go_on_growing(in_mixed):
    """NumPy's, and `reduce=float16`, stop at 256, where a tenth is less than half a step."""
    x = fp.tensor(np.full((4096, 2), 0.1))
    y, exact = x.cumsum(0), np.cumsum(x.array.astype(float64), 0)
    assert y.dtype == float16
    np.testing.assert_array_equal(y.array, exact.astype(float16))
    assert np.cumsum(x.array, 0)[-1].tolist() == [256, 256]
    with fp.precision(HALF_SUMS):
        assert x.cumsum(0)[-1].tolist() == [256, 256]


def test_a_norm_overflows_only_where_it_is_too_large_and_then_has_its_gradient(in_mixed):
    """300 squared is beyond float16. In float16 sums it is lost."""
    x = fp.tensor([[300.0, 400.0], [0.0, 60000.0]], requires_grad=True)
    for p in ("fro", 2, 2.0):
        assert fp.norm(x, p, dim=1).tolist() == [500, 60000]
    x.norm(dim=1).backward(gradient=np.ones(2))
    assert x.grad.tolist() == [[float16.type(0.6), float16.type(0.8)], [0, 1]]
    with fp.precision(HALF_SUMS):
        assert x.norm(dim=1).tolist() == [np.inf, np.inf]
    assert x.norm(12, dim=1).tolist()[1] == 60000  # 60000^12 is beyond float32
    x = fp.tensor(np.full((4, 2), 60000.0), requires_grad=True)
    y = x.norm(dim=0)
    assert y.tolist() == [np.inf, np.inf]
    y.backward(gradient=np.ones(2))
    assert x.grad.tolist() == [[0.5, 0.5]] * 4


def test_a_product_does_not_overflow_on_the_way_nor_does_logsumexp(in_mixed):
    """60000^20 is beyond float32, and so is 1 / it."""
    x = fp.tensor([60000.0] * 20 + [1 / 60000] * 20, dtype="float32")
    exact = np.prod(x.array.astype(float64))
    assert x.prod().item() == pytest.approx(exact, rel=1e-5)
    x = fp.tensor([[300.0, 300.0, 2.0**-10, 0.5]])
    assert x.prod(1).tolist() == [float16.type(300 * 300 * 2.0**-11)]
    with fp.precision(HALF_SUMS):
        assert x.prod(1).tolist() == [np.inf]
    x = fp.tensor([[60000.0, 60000.0], [-60000.0, -60000.0], [0.0, -20.0]])
    assert fp.logsumexp(x, 1).tolist() == [60000, -60000, 0]
    assert fp.logsumexp(fp.tensor([0.0, -9.0]), 0).item() == pytest.approx(np.exp(-9), rel=1e-2)


def test_reductions_to_a_scalar_stay_in_float32_and_count_ties_beyond_2048(in_mixed):
    x = fp.tensor([[1.0, 2.0], [3.0, 60000.0]])
    scalars = [x.std(), x.norm(), x.prod(), x.amax(), x.max(), x.min(), x.logsumexp((0, 1))]
    scalars += [x.sum(), x.mean(), x.var(), x.sum() / x.mean(), (x.sum() ** 2).sqrt() * 2 + 1]
    scalars += [fp.tensor([60000.0, 2.0]).max(0).values]
    assert ({s.dtype for s in scalars}, (x.max() * 2).item()) == ({float32}, 120000)
    x = fp.ones(4096, requires_grad=True)
    x.amax().backward()
    assert x.grad.tolist() == [2.0**-12] * 4096


rows = hnp.arrays(
    float32, hnp.array_shapes(max_dims=3, max_side=5), elements=st.floats(-8, 8, width=16)
)


@given(rows, st.data())
def test_running_sums_and_products_in_float16_round_every_step(x, data):
    """And go on in float32 from the end of a chunk."""
    axis, chunk = data.draw(st.integers(0, x.ndim - 1)), data.draw(st.none() | st.integers(1, 4))
    sums, products = np.empty_like(x), np.ones_like(np.take(x, 0, axis))
    of_chunk, of_factors = np.zeros_like(products), np.ones_like(products)
    before, factors_before = of_chunk, of_factors
    for k in range(x.shape[axis]):
        part = np.take(x, k, axis)
        if chunk and k % chunk == 0:
            before, factors_before = before + of_chunk, factors_before * of_factors
            of_chunk, of_factors = np.zeros_like(part), np.ones_like(part)
        of_chunk = (of_chunk + part).astype(float16).astype(float32)
        with np.errstate(over="ignore"):
            of_factors = (of_factors * part).astype(float16).astype(float32)
        np.moveaxis(sums, axis, 0)[k] = before + of_chunk
        products = factors_before * of_factors
    found = primitives(f"chunked:{chunk}" if chunk else "float16")
    np.testing.assert_array_equal(found.cumsum(x, axis), sums)
    np.testing.assert_array_equal(found.prod(x, axis), products)
    np.testing.assert_array_equal(found.prod(x, axis, True), np.expand_dims(products, axis))


@given(rows, st.data())
def test_plain_products_are_those_of_numpy_over_any_axes(x, data):
    axis = data.draw(st.none() | st.sets(st.integers(0, x.ndim - 1)).map(tuple))
    exact = np.prod(x.astype(float64), axis)
    with np.errstate(over="ignore"):
        found = primitives("float32").prod(x, axis)
        assert (found.shape, found.dtype) == (exact.shape, float32)
        np.testing.assert_allclose(found, exact.astype(float32), rtol=130 * 2**-24, atol=2.0**-149)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 255, 256, 257, 5000])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_plain_running_sums_of_any_length_stay_within_their_bound(n, axis):
    shape = [2, 3, 2]
    shape[axis] = n
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype(float32)
    found, exact = primitives("float32").cumsum(x, axis), np.cumsum(x.astype(float64), axis)
    bound = (16 + 4 * np.log2(max(n, 1))) * 2.0**-24 * np.cumsum(np.abs(x), axis, dtype=float64)
    assert found.dtype == float32
    assert (np.abs(found - exact) <= bound).all()


def test_sums_and_products_of_integers_are_exact_and_booleans_count():
    x = np.full((3, 4), 200, uint8)
    for dtype in ("float16", "float32"):
        assert primitives(dtype).prod(np.ones((0, 2), float32), 0).tolist() == [1, 1]
    assert fp.tensor(x).cumsum(1)[0].tolist() == [200, 400, 600, 800]
    assert fp.tensor(x).prod(0).tolist() == [8_000_000] * 4
    assert {fp.tensor(x).cumsum(1).dtype, fp.tensor(x).prod().dtype} == {int64}
    x = fp.tensor(np.array([200, 100], uint8))
    assert (x.sum().item(), x.sum().dtype) == (300, int64)
    mask = fp.tensor([True, True, False])
    assert (mask.sum().item(), mask.cumsum(0).tolist()) == (2, [1, 2, 2])
    assert mask.mean().item() == pytest.approx(2 / 3)


def test_every_reduction_sums_as_the_precision_says():
    """Under reduce=float16 the results of a long sum differ from those of float32 sums."""
    x = np.full((5000, 1), 0.1)
    for fn in (fp.sum, fp.norm, fp.var, fp.std, lambda x: x.cumsum(0), lambda x: x.norm(3)):
        found = []
        for precision in ("mixed", HALF_SUMS):
            with fp.precision(precision):
                found.append(fn(fp.tensor(x + np.arange(5000)[:, None] % 2)).array.copy())
        assert not np.array_equal(*found)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum"])
def test_a_dtype_is_that_of_the_result(name, in_mixed):
    x, call = fp.tensor([[60000.0, 60000.0], [1.0, 2.0]], requires_grad=True), getattr(fp, name)
    y = call(x, 1, dtype="float32")
    assert (y.dtype, y.requires_grad) == (float32, True)
    exact = {"sum": 120000, "mean": 60000, "prod": 3.6e9, "cumsum": [60000, 120000]}
    np.testing.assert_allclose(y.array[0], exact[name], rtol=1e-3)
    y.backward(gradient=np.full(y.shape, 2.0**-10))
    assert x.grad.dtype == float16
    assert call(fp.tensor([0.1, 0.2], dtype="float32"), 0, dtype="float16").dtype == float16
    assert call(fp.tensor([1, 2]), 0, dtype="float32").dtype == float32


def test_a_narrower_dtype_rounds_what_is_summed_as_in_pytorch(torch):
    x = np.array([2048.0, 0.75, 0.75], float32)
    y = fp.sum(fp.tensor(x), dtype="float16")
    assert y.item() == torch.tensor(x).sum(dtype=torch.float16).item()


@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extreme_is_one_of_three_functions(torch, name):
    a = np.array([[1.0, 5, 5], [2, 0, -3]], float32)
    x, t = fp.tensor(a), torch.tensor(a)
    assert getattr(x, name)().item() == getattr(t, name)().item()
    for dim, keepdim in ((0, False), (-1, False), (1, True)):
        y, z = getattr(x, name)(dim, keepdim), getattr(t, name)(dim, keepdim)
        assert (y.values.tolist(), y.indices.tolist()) == (z.values.tolist(), z.indices.tolist())
        assert y.indices.dtype == int64 and not y.indices.requires_grad
    other = fp.tensor([3.0, 3, 3])
    both = getattr(fp, name)(x, other)
    np.testing.assert_array_equal(both.array, getattr(fp, f"{name}imum")(x, other).array)
    np.testing.assert_array_equal(getattr(x, name)(other=other).array, both.array)
    assert getattr(fp.tensor([[3, 1], [2, 4]]), name)(1).values.dtype == int64


def test_nan_is_the_largest_and_the_smallest(torch):
    a = np.array([1.0, np.nan, 3, np.nan], float32)
    for name in ("max", "min"):
        x, t = fp.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
        assert getattr(x, name)(0).indices.item() == getattr(t, name)(0).indices.item() == 1
        getattr(x, name)().backward()
        getattr(t, name)().backward()
        assert x.grad.tolist() == t.grad.tolist() == [0, 0.5, 0, 0.5]
    assert fp.tensor(a).argmax().item() == fp.tensor(a).argmin().item() == 1


def test_extremes_of_no_rows_are_no_numbers():
    x = fp.zeros(0, 3)
    assert x.amax(1).shape == x.argmax(1).shape == x.max(1).values.shape == (0,)
    assert x.argmin(1).dtype == int64


@given(
    hnp.arrays(
        float64,
        hnp.array_shapes(min_dims=0, max_dims=3),
        elements=st.sampled_from([0.0, -0.0, 1.0, np.nan]),
    ),
    st.data(),
)
def test_any_all_and_count_nonzero_are_those_of_numpy(x, data):
    axes = st.sets(st.integers(0, max(x.ndim - 1, 0)), min_size=1).map(tuple)
    dim = data.draw(st.none() | axes) if x.ndim else None
    t, keepdim = fp.tensor(x), data.draw(st.booleans())
    for name in ("any", "all"):
        y, z = getattr(t, name)(dim, keepdim), getattr(np, name)(x, axis=dim, keepdims=keepdim)
        assert (y.dtype, y.shape) == (bool_, z.shape)
        np.testing.assert_array_equal(y.array, z)
    np.testing.assert_array_equal(fp.count_nonzero(t, dim).array, np.count_nonzero(x, axis=dim))


def test_any_of_no_axes_is_each_and_of_uint8_is_uint8_as_in_pytorch(torch):
    a = np.array([[0, 2], [0, 0]], uint8)
    for dim in ((), None, 0, (0, 1)):
        y, z = fp.any(fp.tensor(a), dim), torch.any(torch.tensor(a), dim)
        assert (y.tolist(), y.dtype) == (z.tolist(), uint8)
    assert fp.count_nonzero(fp.tensor(a), ()).item() == 1


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, np.inf, -np.inf, -1])
def test_norms_of_zeros_and_their_gradients_are_pytorchs(torch, p):
    for a in ([[0.0, 0.0], [0.0, 2.0]], [[3.0, -3.0], [-0.0, 1.0]]):
        x = fp.tensor(np.array(a, float32), requires_grad=True)
        t = torch.tensor(a, requires_grad=True)
        y, z = x.norm(p, 1), t.norm(p, 1)
        np.testing.assert_allclose(y.array, z.detach().numpy(), rtol=1e-6)
        y.backward(gradient=np.ones(2))
        z.backward(torch.ones(2))
        expected = np.zeros((2, 2)) if t.grad is None else t.grad.numpy()
        np.testing.assert_allclose(x.grad.array, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["var", "std"])
def test_a_deviation_of_too_few_numbers_is_pytorchs(torch, name):
    for a, settings in (([2.0], {}), ([1.0, 2.0], {"correction": 3}), ([], {"correction": 0})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(torch.tensor(a), name)(**settings).item()
        found = getattr(fp.tensor(np.array(a, float32)), name)(**settings).item()
        np.testing.assert_equal(found, expected)


def test_a_constant_has_no_slope_and_a_product_with_zeros_that_of_the_others():
    x = fp.ones(2, 3, requires_grad=True)
    x.std().backward()
    assert x.grad.tolist() == [[0] * 3] * 2
    x = fp.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [2.0, 3.0, 4.0]], requires_grad=True)
    x.prod(1).backward(gradient=np.ones(3))
    assert x.grad.tolist() == [[0, 6, 0], [0, 0, 0], [12, 8, 6]]


def test_logsumexp_of_infinities_is_pytorchs(torch):
    inf = np.inf
    a = np.array([[inf, 1], [-inf, -inf], [-inf, 1], [inf, -inf]], float32)
    x, t = fp.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    y, z = x.logsumexp(1), t.logsumexp(1)
    np.testing.assert_array_equal(y.array, z.detach().numpy())
    assert fp.logsumexp(fp.zeros(0), 0).item() == -inf


def test_backward_keeps_the_numbers_alone(in_mixed):
    x = fp.tensor(np.ones((3, 4)), requires_grad=True)
    for y in (x.std(0), x.var(0), x.norm(2, 0), x.logsumexp(0), x.prod(0)):
        assert [a is x.array for a in y.node.saved if isinstance(a, np.ndarray)] == [True]
    for y in (x.sum(0), x.mean(0), x.cumsum(0)):
        assert not [a for a in y.node.saved if isinstance(a, np.ndarray)]


def test_axis_and_keepdims_are_dim_and_keepdim():
    x = fp.tensor([[1.0, 2.0], [3.0, 4.0]])
    for fn in (fp.sum, fp.amax, fp.logsumexp, fp.norm, fp.std, fp.prod):
        assert fp.equal(fn(x, axis=1, keepdims=True), fn(x, dim=1, keepdim=True))
    for fn in (F.softmax, F.normalize, fp.cumsum, fp.unsqueeze, fp.Tensor.mean):
        assert fp.equal(fn(x, axis=0), fn(x, dim=0))
    assert fp.cat([x, x], axis=1).shape == (2, 4) and fp.nn.Softmax(axis=1).dim == 1


def test_bad_arguments_are_refused_by_name():
    check_refusals(r"""
    x.sum(True) -> DTypeError: sum: dim=True: expected an integer
    x.mean(dtype="int64") -> DTypeError: mean: dtype=int64: expected a floating
    x.cumsum((0, 1)) -> DTypeError: cumsum: dim=\(0, 1\): expected an integer
    x.sum().cumsum(0) -> ShapeError: cumsum: dim=0 for a tensor without dim
    x.prod((0, 1)) -> DTypeError: prod: dim=\(\(0, 1\),\): expected an integer
    x.var(correction="a") -> ArgumentError: var: correction='a': expected a number
    x.std(0, correction=True) -> ArgumentError: std: correction=True
    fp.var(fp.tensor([1, 2])) -> DTypeError: var: input of int64: expected float
    fp.norm(fp.tensor([1, 2])) -> DTypeError: norm: input of int64: expected float
    x.norm("nuc") -> ArgumentError: norm: p='nuc': expected a number.* or "fro"
    x.norm(float("nan")) -> ArgumentError: norm: p=nan: expected a number
    fp.zeros(0).norm(np.inf) -> ShapeError: norm of no numbers with p=inf
    x.max((0, 1)) -> DTypeError: max: dim=\(0, 1\): expected an integer
    fp.zeros(0).max() -> ShapeError: max of no numbers: shape \(0,\), dim=None
    x.argmax((0, 1)) -> DTypeError: argmax: dim=\(0, 1\): expected an integer
    fp.count_nonzero(x, "a") -> DTypeError: count_nonzero: dim='a'
    """, x=np.ones((2, 3)))  # fmt: skip


halves = st.floats(-8, 8, width=16)


@pytest.mark.references
@given(hnp.arrays(float64, hnp.array_shapes(max_dims=3, max_side=4), elements=halves), st.data())
def test_reductions_over_any_axes_are_those_of_numpy(x, data):
    count = st.integers(-x.ndim, x.ndim - 1)
    dim = data.draw(st.none() | count | st.sets(st.integers(0, x.ndim - 1), min_size=1).map(tuple))
    keepdim = data.draw(st.booleans())
    for name, expected in (("sum", np.sum), ("mean", np.mean), ("amax", np.max), ("amin", np.min)):
        y = getattr(fp, name)(fp.tensor(x, dtype="float64"), dim, keepdim)
        z = expected(x, axis=dim, keepdims=keepdim)
        np.testing.assert_allclose(y.array, z, rtol=1e-14, atol=1e-13)
        assert y.shape == z.shape


@pytest.mark.references
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_extremes_are_the_first_along_an_axis_or_of_all(name):
    x, find = np.array([[3, 1, 3], [1, 0, 0]]), getattr(np, name)
    for dim, keepdim in ((None, False), (0, False), (-1, True)):
        y = getattr(fp.tensor(x * 1.0), name)(dim, keepdim)
        assert y.dtype == np.int64
        np.testing.assert_array_equal(y.array, find(x, axis=dim, keepdims=keepdim))
