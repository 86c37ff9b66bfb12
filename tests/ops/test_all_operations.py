"""What holds for every operation, whichever it is: each row of tests/cases, and its backward."""

import inspect
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from bounds import Calls
from cases import CASES, COMPARISONS, CORE, FAMILIES, LAYOUTS, TESTS, some_places

import minifp as fp
import minifp.nn.functional as F
from minifp.numerics import kernels
from minifp.numerics.formats import as_dtype, downcast, float16, float32, float64

OPERATIONS = "minifp.ops", "minifp.nn.functional"
sampled = pytest.mark.sampled(8, core=lambda case, **_: case in CORE)


def each_case(test, cases=CASES):
    """Range over all cases; see tests/sampling.py for which of them each change is tested with."""
    return sampled(pytest.mark.parametrize("case", cases, ids=str)(test))


def tensors(case, dtype, layout=np.array, scale=1.0):
    """The case's inputs as leaves of a dtype, laid out in memory by `layout`."""
    arrays = [downcast(a * scale, as_dtype(dtype)) for a in case.arrays()]
    return [fp.Tensor(layout(a), requires_grad=True) for a in arrays]


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


@pytest.mark.references
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


@pytest.mark.references
@each_case
def test_results_are_stored_in_the_activation_format_and_only_scalars_in_float32(case):
    for precision, stored, scalar in (
        ("mixed", float16, (float16, float32)),
        *(("float32", float32, (float32,)), ("float64", float64, (float64,))),
    ):
        with fp.precision(precision) as p:
            for y in outputs(case, tensors(case, p.activations)):
                wide = scalar[-1:] if case.stays_wide else (stored,)
                assert y.dtype in (scalar if y.ndim == 0 else wide)
                assert type(y.array) is np.ndarray


@pytest.mark.references
@each_case
def test_inputs_are_not_changed(case):
    with fp.precision("mixed"):
        xs = tensors(case, float16)
        before = [x.array.tobytes() for x in xs]
        versions = [x.storage.version for x in xs]
        run(case, xs)
    assert [x.array.tobytes() for x in xs] == before
    assert [x.storage.version for x in xs] == versions


@pytest.mark.references
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


@pytest.mark.references
@each_case
def test_every_stored_result_is_the_exact_one_rounded_once(case):
    check_rounded(case, "float16", SETTINGS)


def check_rounded(case, format, settings):
    """Run a case in a format, its inputs laid out and scaled in these ways, and look at all that
    its kernels store."""
    for name, layout, scale in settings:
        with fp.precision(f"mixed,storage={format}"), Calls() as calls:
            run(case, tensors(case, format, layout, scale))
        worst = max(((call.excess(), call.kernel.name) for call in calls), default=(0, None))
        assert worst[0] <= 1, f"{name}: {worst[1]} errs by {worst[0]:.3g} of the bound"


COARSE = [("every other", LAYOUTS["strided"], 1.0), SETTINGS[-1]]
REFUSES = {"encode_boxes", "box_convert"}  # boxes that coarse formats make empty
CODED = [case for case in CASES if case.operation not in REFUSES]
WARNED = pytest.mark.filterwarnings("ignore:.*has no odd pixels")  # boxes in coarse formats


@WARNED
@pytest.mark.references
@pytest.mark.sampled(6, core=lambda **_: False)
@pytest.mark.parametrize("case", CODED, ids=str)
def test_every_result_stored_in_bfloat16_is_the_exact_one_rounded_once(case):
    check_rounded(case, "bfloat16", COARSE)


@WARNED
@pytest.mark.references
@pytest.mark.sampled(30, core=lambda **_: False)
@pytest.mark.parametrize("format", ["float8_e4m3fn", "float8_e5m2", "e5m7"])
@pytest.mark.parametrize("case", CODED, ids=str)
def test_every_result_stored_in_8_bits_or_as_described_is_the_exact_one_rounded_once(case, format):
    check_rounded(case, format, COARSE)


@pytest.mark.references
@each_case
def test_in_float32_nothing_is_ever_stored_or_summed_in_less(case):
    with Calls() as calls:
        run(case, tensors(case, float32))
    for call in calls:
        given = [a for a in (*call.args, *call.results) if isinstance(a, np.ndarray)]
        assert not any(a.dtype == float16 for a in given), call.kernel
        assert call.formats.compute == float32
        assert call.formats.sum_in == call.formats.dot_in == kernels.SINGLE
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
    ours = {k for k in kernels.KERNELS if k.reference.__module__.startswith("minifp.")}
    never = ours - {call.kernel for call in calls} - of_optimizers - of_a_gpu
    assert not never, f"no row in tests/cases calls {never}"


def test_every_operation_has_a_case():
    """A new public operation needs a row in tests/cases, or a line here that says why not."""
    found = {
        name
        for name, f in (*vars(fp.ops).items(), *vars(F).items())
        if inspect.isfunction(f) and name[0] != "_" and f.__module__.startswith(OPERATIONS)
        if not f.__module__.endswith(("creation", "full", "sampling"))  # see test_factories.py
    }
    constant = {*COMPARISONS, *TESTS, "batch_norm_statistics"}
    constant |= {*"argmax argmin any all count_nonzero argsort one_hot nonzero".split()}
    constant |= {*"isclose allclose equal bitwise_and bitwise_or bitwise_xor bitwise_not".split()}
    constant |= {"remove_small_boxes", "nms", "batched_nms"}
    constant |= {*"is_tensor is_floating_point numel finfo iinfo detach".split()}
    constant |= {*"ctc_greedy_decode ctc_beam_search_decode".split()}  # see test_ctc.py
    untested = found - {c.operation for c in CASES} - constant
    assert not untested


# ---- what the tape keeps ------------------------------------------------------------------------


@partial(each_case, cases=[c for c in CASES if all(map(np.prod, c.shapes))])
def test_the_tape_holds_no_float32_copy_of_a_float16_array(case):
    """In float32 it may hold what is small, statistics, boxes and scalars: at most half of the
    numbers that it holds, or that were read from a leaf."""
    with fp.precision("mixed"):
        xs = tensors(case, float16)
        ys = outputs(case, xs)
    for node in nodes(ys):
        saved = [a for a in node.saved if isinstance(a, np.ndarray)]
        read = [leaf.array for leaf, _ in node.parents if isinstance(leaf, fp.Tensor)]
        half = max((a.size for a in saved + read if a.dtype == float16), default=0)
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


@pytest.mark.references
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


@pytest.mark.references
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


# ---- where tests stand --------------------------------------------------------------------------


def kinds():
    """The kinds of operations, each with the modules in it."""
    folders = [p.parent for p in Path(fp.ops.__file__).parent.glob("*/__init__.py")]
    return {folder.name: {p.stem for p in folder.glob("*.py")} for folder in folders}


def test_each_kind_of_operations_has_a_file_of_tests_by_its_name():
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    assert len(kinds()) == 11 and not {f"test_{kind}.py" for kind in kinds()} - here


def test_cases_stand_in_a_file_named_by_the_kind_of_their_operation_or_a_module_of_it():
    for family in FAMILIES:
        stem = family.__name__.rpartition(".")[2]
        for name in {case.operation for case in getattr(family, "CASES", ())}:
            function = getattr(fp, name, None) or getattr(F, name, None)
            kind = getattr(function, "__module__", "").split(".")[2:3]
            if kind and kind[0] in kinds():
                assert stem in {*kind, *kinds()[kind[0]]}, f"{name} in cases/{stem}.py"
