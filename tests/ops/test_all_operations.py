"""What holds for every operation, whichever it is: each row of tests/cases, and its backward."""

import inspect

import numpy as np
import pytest
from bounds import Calls
from cases import CASES, COMPARISONS, LAYOUTS, TESTS
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minifp as fp
import minifp.nn.functional as F
from minifp.numerics import kernels
from minifp.numerics.formats import float16, float32, float64

OPERATIONS = "minifp.ops", "minifp.nn.functional"
each_case = pytest.mark.parametrize("case", CASES, ids=str)


def tensors(case, dtype, layout=np.array, scale=1.0):
    """The case's inputs as leaves of a dtype, laid out in memory by `layout`."""
    return [fp.Tensor(layout((a * scale).astype(dtype)), requires_grad=True) for a in case.arrays()]


def outputs(case, xs):
    """What the case returns, always as a tuple."""
    ys = case.fn(*xs)
    return ys if isinstance(ys, tuple) else (ys,)


def run(case, xs, gradients=None):
    """Forward, and backward from random gradients (or these); the outputs."""
    ys, random = outputs(case, xs), np.random.default_rng(1)
    for x in xs:
        x.grad = None
    for i, y in enumerate(ys):
        dy = random.uniform(-1, 1, y.shape) if gradients is None else gradients[i]
        y.backward(gradient=dy.astype(float16), retain_graph=True)
    return ys


def nodes(ys):
    """Every node behind some tensors."""
    seen, stack = set(), [y.node for y in ys]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen and not isinstance(node, fp.Tensor):
            seen.add(node)
            stack += [parent for parent, _ in node.parents]
    return seen


# ---- gradients, shapes, formats -----------------------------------------------------------------


@each_case
def test_gradients_are_the_slopes(case):
    with fp.precision("float64"):
        assert fp.gradcheck(case.fn, tensors(case, float64))


@each_case
@pytest.mark.parametrize("precision", ["mixed", "float32", "float16", "float64"])
def test_gradients_have_the_shape_and_format_of_their_inputs(case, precision):
    with fp.precision(precision) as p:
        xs = tensors(case, p.activations)
        for y in outputs(case, xs):
            for x in xs:
                x.grad = None
            y.backward(gradient=np.ones(y.shape), retain_graph=True)
            assert [(x.grad.shape, x.grad.dtype) for x in xs] == [(x.shape, x.dtype) for x in xs]
            assert all(type(x.grad.array) is np.ndarray for x in xs)


@each_case
def test_results_are_stored_in_the_activation_format_and_only_scalars_in_float32(case):
    for precision, stored, scalar in (
        ("mixed", float16, (float16, float32)),
        *(("float32", float32, (float32,)), ("float64", float64, (float64,))),
    ):
        with fp.precision(precision) as p:
            for y in outputs(case, tensors(case, p.activations)):
                assert y.dtype in (scalar if y.ndim == 0 else (stored,))
                assert type(y.array) is np.ndarray


@each_case
def test_inputs_are_not_changed(case):
    with fp.precision("mixed"):
        xs = tensors(case, float16)
        before = [x.array.tobytes() for x in xs]
        versions = [x.storage.version for x in xs]
        run(case, xs)
    assert [x.array.tobytes() for x in xs] == before
    assert [x.storage.version for x in xs] == versions


@each_case
def test_no_gradient_shares_its_memory_with_another_or_with_an_input(case):
    xs = tensors(case, float32)
    run(case, xs)
    arrays = [x.grad.array for x in xs] + [x.array for x in xs]
    for i, a in enumerate(arrays[: len(xs)]):
        assert a.flags.writeable
        assert not any(np.may_share_memory(a, b) for b in arrays[i + 1 :] if a.size)


# ---- faithfulness: every stored result against float64, within the bound of bounds.py -----------


SETTINGS = [(name, layout, 1.0) for name, layout in LAYOUTS.items()] + [
    ("subnormal", np.array, 2.0**-20),  # float16 is subnormal below 2^-14
    ("large", np.array, 2.0**12),  # products and sums overflow
]


@each_case
def test_every_stored_result_is_the_exact_one_rounded_once(case):
    for name, layout, scale in SETTINGS:
        with fp.precision("mixed"), Calls() as calls:
            run(case, tensors(case, float16, layout, scale))
        worst = max(((call.excess(), call.kernel.name) for call in calls), default=(0, None))
        assert worst[0] <= 1, f"{name}: {worst[1]} errs by {worst[0]:.3g} of the bound"


@each_case
def test_in_float32_nothing_is_ever_stored_or_summed_in_less(case):
    with Calls() as calls:
        run(case, tensors(case, float32))
    for call in calls:
        given = [a for a in (*call.args, *call.results) if isinstance(a, np.ndarray)]
        assert not any(a.dtype == float16 for a in given), call.kernel
        assert {call.formats.compute, call.formats.sum_in, call.formats.dot_in} == {float32}
        assert call.excess() <= 1, call.kernel


def test_every_kernel_is_called_by_a_case():
    """A new kernel needs a row in tests/cases. Update rules are tested with their optimizers."""
    with fp.precision("mixed"), Calls() as calls:
        for case in CASES:
            run(case, tensors(case, float16))
        x = fp.tensor([1.0, 2.0])
        for name in (*COMPARISONS, *TESTS):
            getattr(fp, name)(*(x,) * (2 if name in COMPARISONS else 1))
        x.to("float32")  # every case stays in one format
    of_optimizers = {k for k in kernels.KERNELS if ".optim." in k.reference.__module__}
    of_a_gpu = {k for k in kernels.KERNELS if k.name == "dropout.dropped"}  # see tests/cuda
    never = set(kernels.KERNELS) - {call.kernel for call in calls} - of_optimizers - of_a_gpu
    assert not never, f"no row in tests/cases calls {never}"


def test_every_operation_has_a_case():
    """A new public operation needs a row in tests/cases, or a line here that says why not."""
    found = {
        name
        for name, f in (*vars(fp.ops).items(), *vars(F).items())
        if inspect.isfunction(f) and name[0] != "_" and f.__module__.startswith(OPERATIONS)
        if not f.__module__.endswith(("creation", "full", "sampling"))  # see test_creation.py
    }
    constant = {*COMPARISONS, *TESTS, "batch_norm_statistics"}
    constant |= {*"argmax argmin any all count_nonzero argsort one_hot nonzero".split()}
    constant |= {*"isclose allclose equal bitwise_and bitwise_or bitwise_xor bitwise_not".split()}
    constant |= {*"is_tensor is_floating_point numel finfo iinfo detach".split()}
    untested = found - {c.operation for c in CASES} - constant
    assert not untested


# ---- what the tape keeps ------------------------------------------------------------------------


@pytest.mark.parametrize("case", [c for c in CASES if all(map(np.prod, c.shapes))], ids=str)
def test_the_tape_holds_no_float32_copy_of_a_float16_array(case):
    """In float32 it may hold what is small: statistics and scalars, at most half of the numbers."""
    with fp.precision("mixed"):
        xs = tensors(case, float16)
        ys = outputs(case, xs)
    for node in nodes(ys):
        saved = [a for a in node.saved if isinstance(a, np.ndarray)]
        half = max((a.size for a in saved if a.dtype == float16), default=0)
        for a in saved:
            wide = a.dtype.kind == "f" and a.dtype != float16
            assert not wide or a.ndim == 0 or 2 * a.size <= half, (node.op, a.shape, a.dtype)


@each_case
def test_everything_that_backward_reads_is_among_the_saved_arrays(case):
    """No closure hides an array: the backward of a node is a function, or closes over kernels."""
    with fp.precision("mixed"):
        for node in nodes(outputs(case, tensors(case, float16))):
            cells = [c.cell_contents for c in node.backward.__closure__ or ()]
            assert not [c for c in cells if isinstance(c, np.ndarray | fp.Tensor)], node.op


# ---- Inf and NaN --------------------------------------------------------------------------------


def with_element(arrays, i, place, value):
    """Copies of the arrays, one element of the i-th set to a value."""
    changed = [a.copy() for a in arrays]
    changed[i][place] = value
    return changed


def values(case, arrays):
    """The case's outputs for these arrays, as one flat float64 array."""
    with fp.no_grad():
        ys = outputs(case, [fp.Tensor(a.astype(float16)) for a in arrays])
    return np.concatenate([y.array.astype(float64).reshape(-1) for y in ys])


def some_places(shape):
    """The first, the last and a place in the middle."""
    n = int(np.prod(shape))
    return [np.unravel_index(k, shape) for k in sorted({0, n // 2, n - 1})] if n else []


@each_case
def test_nan_in_an_input_that_matters_is_seen_in_the_result(case):
    """An element matters if setting it to 50 or -50 changes the result."""
    with fp.precision("mixed"):
        arrays = case.arrays()
        before = values(case, arrays)
        for i, a in enumerate(arrays):
            for place in some_places(a.shape):
                large = [values(case, with_element(arrays, i, place, v)) for v in (50.0, -50.0)]
                if any(not np.array_equal(v, before, equal_nan=True) for v in large):
                    after = values(case, with_element(arrays, i, place, np.nan))
                    assert np.isnan(after).any(), f"NaN at {place} of input {i}"


@each_case
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_reaches_every_element_it_should(case, value):
    """Where the gradient of one output's element is not 0, that output's Inf or NaN must show."""
    with fp.precision("mixed"):
        xs = tensors(case, float16)
        shapes = [y.shape for y in outputs(case, xs)]
        for o, shape in enumerate(shapes):
            for place in some_places(shape)[:2]:
                dys = [np.zeros(s) for s in shapes]
                dys[o][place] = 1.0
                run(case, xs, dys)
                reached = [x.grad.array != 0 for x in xs]
                dys[o][place] = value
                run(case, xs, dys)
                for x, r in zip(xs, reached):
                    assert not np.isfinite(x.grad.array[r]).any()


# ---- without gradient ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_those_of_numpy(name):
    x, y = np.array([[1.0, 2, np.nan], [0, -0.0, np.inf]]), np.array([1.0, 3, np.nan])
    expected = getattr(np, {"eq": "equal", "ne": "not_equal", "lt": "less", "gt": "greater"}.get(
        name, {"le": "less_equal", "ge": "greater_equal"}.get(name, name)
    ))  # fmt: skip
    for p in ("float32", "mixed"):
        with fp.precision(p):
            z = getattr(fp, name)(fp.tensor(x), fp.tensor(y))
            assert z.dtype == bool and not z.requires_grad
            np.testing.assert_array_equal(z.array, expected(x, y))
    np.testing.assert_array_equal(getattr(fp.tensor(x), name)(1).array, expected(x, 1))


def test_isfinite_and_isnan_tell_inf_from_nan():
    with fp.precision("mixed"):
        x = fp.tensor(np.array([1.0, np.inf, -np.inf, np.nan]))
    assert x.isfinite().tolist() == [True, False, False, False]
    assert x.isnan().tolist() == [False, False, False, True]


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_extremes_are_the_first_along_an_axis_or_of_all(name):
    x = np.array([[3, 1, 3], [1, 0, 0]])
    find = getattr(np, name)
    for dim, keepdim in ((None, False), (0, False), (-1, True)):
        y = getattr(fp.tensor(x * 1.0), name)(dim, keepdim)
        assert y.dtype == np.int64
        np.testing.assert_array_equal(y.array, find(x, axis=dim, keepdims=keepdim))


# ---- properties ---------------------------------------------------------------------------------

halves = st.floats(-8, 8, width=16)


@st.composite
def broadcast_pairs(draw):
    """Two float64 arrays, of float16 numbers, whose shapes broadcast."""
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    return [draw(hnp.arrays(float64, s, elements=halves)) for s in shapes.input_shapes]


@given(broadcast_pairs())
def test_broadcast_gradients_are_summed_to_their_own_shape(pair):
    """dx of x y is y summed over what x was stretched along, and is rounded once."""
    with fp.precision("mixed"), Calls() as calls:
        x, y = (fp.tensor(a, requires_grad=True) for a in pair)
        z = x * y
        z.backward(gradient=np.ones(z.shape))
    assert all(call.excess() <= 1 for call in calls)
    for a, other, leaf in ((*pair, x), (*pair[::-1], y)):
        full = np.broadcast_to(other, z.shape)
        added = tuple(range(len(z.shape) - a.ndim))
        stretched = tuple(i + len(added) for i, n in enumerate(a.shape) if n == 1)
        expected = full.sum(added + stretched, keepdims=True).reshape(a.shape)
        np.testing.assert_allclose(leaf.grad.array, expected, rtol=2.0**-11, atol=2.0**-25)


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


@given(indexed())
def test_indexing_is_that_of_numpy_and_its_gradient_counts_how_often_each_was_read(indexed):
    shape, i = indexed
    x = fp.tensor(np.arange(np.prod(shape)).reshape(shape) * 1.0, requires_grad=True)
    y = x[i]
    np.testing.assert_array_equal(y.array, x.array[i])
    y.backward(gradient=np.ones(y.shape))
    counts = np.zeros(shape)
    np.add.at(counts, i, 1.0)
    np.testing.assert_array_equal(x.grad.array, counts)


def naive_conv2d(x, w, stride, padding, dilation, groups):
    """The equation in the docstring of ops/conv.py, written as loops."""
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:])]
    size = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride)]
    y, each = np.zeros((len(x), len(w), *size)), len(w) // groups
    for n, o, p, q in np.ndindex(*y.shape):
        first = o // each * w.shape[1]
        for c, i, j in np.ndindex(*w.shape[1:]):
            row, column = stride[0] * p + dilation[0] * i, stride[1] * q + dilation[1] * j
            y[n, o, p, q] += w[o, c, i, j] * x[n, first + c, row, column]
    return y


pairs = st.tuples(st.integers(1, 2), st.integers(1, 2))


@given(
    *(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2)),
    *(st.tuples(st.integers(1, 5), st.integers(1, 5)), st.tuples(*[st.integers(1, 3)] * 2)),
    *(pairs, st.tuples(st.integers(0, 3), st.integers(0, 2)), pairs, st.integers(0, 2**31)),
)
def test_conv2d_of_any_geometry_is_the_equation(
    n, c, o, groups, size, kernel, stride, padding, dilation, seed
):
    fits = [s + 2 * p > d * (k - 1) for s, p, d, k in zip(size, padding, dilation, kernel)]
    if not all(fits):
        return
    random = np.random.default_rng(seed)
    x = random.integers(-4, 5, (n, c * groups, *size)) * 0.25
    w = random.integers(-4, 5, (o * groups, c, *kernel)) * 0.25
    geometry = stride, padding, dilation, groups
    with fp.precision("mixed"):  # these sums are exact in float16 and in float64
        x16, w16 = (fp.tensor(a, requires_grad=True) for a in (x, w))
        y = F.conv2d(x16, w16, None, *geometry)
        dy = random.integers(-4, 5, y.shape) * 0.25
        y.backward(gradient=dy)
    np.testing.assert_array_equal(y.array, naive_conv2d(x, w, *geometry))
    # <dy, conv(x, w)> is linear in x and in w: its value gives both gradients, tested on one-hots.
    for leaf, a, conv in (
        (x16, x, lambda e: naive_conv2d(e, w, *geometry)),
        (w16, w, lambda e: naive_conv2d(x, e, *geometry)),
    ):
        for place in some_places(a.shape):
            one_hot = np.zeros_like(a)
            one_hot[place] = 1.0
            assert leaf.grad.array[place] == (dy * conv(one_hot)).sum()


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
