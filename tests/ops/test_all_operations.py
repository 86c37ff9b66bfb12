"""What holds for every operation, whichever it is: each row of tests/cases, and its backward.

One test is all claims about one operation: it runs the operation's cases once in each precision,
memory layout and size of numbers, and looks at these runs. Of what fails it names the claim, the
case and the numbers.
"""

import inspect
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import cases
import numpy as np
import pytest
from bounds import Calls
from cases import BY_OPERATION, CASES, COMPARISONS, CORE, FAMILIES, LAYOUTS, TESTS, some_places
from claims import Claims

import minifp as fp
import minifp.nn.functional as F
from minifp.numerics import kernels, plans
from minifp.numerics.formats import as_dtype, downcast, float16, float32, float64
from minifp.ops.public import ALIASES

OPERATIONS = "minifp.ops", "minifp.nn.functional"
each_operation = pytest.mark.parametrize("operation", BY_OPERATION)
ONE_IN = 8  # beside the core


def tensors(case, dtype, layout=np.array, scale=1.0):
    """The case's inputs as leaves of a dtype, laid out in memory by `layout`."""
    arrays = [downcast(a * scale, as_dtype(dtype)) for a in case.arrays()]
    return [fp.Tensor(layout(a), requires_grad=True) for a in arrays]


def outputs(case, xs):
    fp.manual_seed(0)
    ys = case.fn(*xs)
    return ys if isinstance(ys, tuple) else (ys,)


def backward(y, xs, dy):
    """The gradients of xs for a gradient of y, each None where y does not depend on x."""
    for x in xs:
        x.grad = None
    y.backward(gradient=dy, retain_graph=True)
    return [x.grad for x in xs]


@dataclass
class Run:
    """A case forward, and backward of each output from random gradients."""

    xs: list
    before: list
    ys: tuple
    gradients: list
    calls: Calls


def run_of(case, dtype, layout=np.array, scale=1.0):
    """Run the case in the precision that is set, its inputs of a dtype, scaled and laid out."""
    xs, random = tensors(case, dtype, layout, scale), np.random.default_rng(1)
    before = [(x.array.tobytes(), x.storage.version) for x in xs]
    with Calls() as calls:
        ys = outputs(case, xs)
        dys = [random.uniform(-1, 1, y.shape).astype(float16) for y in ys]
        gradients = [backward(y, xs, dy) for y, dy in zip(ys, dys)]
    return Run(xs, before, ys, gradients, calls)


@each_operation
def test_gradients_are_the_slopes(operation, drawn):
    with Claims() as claims, fp.precision("float64"):
        for case in drawn(BY_OPERATION[operation], ONE_IN, CORE):
            with claims("gradients are the measured slopes", case):
                assert fp.gradcheck(case.fn, tensors(case, float64))


SETTINGS = [(name, layout, 1.0) for name, layout in LAYOUTS.items()] + [
    ("subnormal", np.array, 2.0**-20),  # float16 is subnormal below 2^-14
    ("large", np.array, 2.0**12),  # products and sums overflow
]
SCALARS = {"mixed": (float16, float32), "float32": (float32,), "float64": (float64,)}


@pytest.mark.references
@each_operation
def test_formats_memory_rounding_and_what_is_not_finite(operation, drawn):
    with Claims() as claims:
        for case in drawn(BY_OPERATION[operation], ONE_IN, CORE):
            for precision in ("mixed", "float32", "float16", "float64"):
                with claims(f"runs in {precision}", case), fp.precision(precision) as p:
                    run = run_of(case, p.activations)
                    check_formats(claims, case, run, precision)
                    check_memory(claims, case, run, precision)
                    if precision == "float32":
                        check_nothing_is_narrower(claims, case, run)
                    elif precision == "mixed":
                        check_tape(claims, case, run)
                        check_nan_is_seen(claims, case)
                        check_lost_gradients(claims, case, run)
            check_rounded(claims, case, "float16", SETTINGS)


def check_formats(claims, case, run, precision):
    """Of gradients, and of results: scalars alone may be wider than activations."""
    with claims("each result's gradients have the inputs' shapes and formats", case, precision):
        expected = [(x.shape, x.dtype, np.ndarray) for x in run.xs]
        for gradients in run.gradients:
            assert [(g.shape, g.dtype, type(g.array)) for g in gradients] == expected
    if precision in SCALARS:
        scalar = SCALARS[precision]
        wide = scalar[-1:] if case.stays_wide else scalar[:1]
        with claims("results are stored as the precision says", case, precision):
            for y in run.ys:
                assert y.dtype in (scalar if y.ndim == 0 else wide)
                assert type(y.array) is np.ndarray


def check_memory(claims, case, run, precision):
    with claims("inputs are not changed", case, precision):
        assert [(x.array.tobytes(), x.storage.version) for x in run.xs] == run.before
    with claims("no gradient shares memory with another or an input", case, precision):
        for gradients in run.gradients:
            arrays = [x.array for x in (*gradients, *run.xs)]
            for i, a in enumerate(arrays[: len(gradients)]):
                assert a.flags.writeable
                shared = [b.shape for b in arrays[i + 1 :] if np.may_share_memory(a, b)]
                assert not (a.size and shared), f"gradient {i}"


def check_rounded(claims, case, format, settings):
    """Every stored result is the exact one rounded once, in these layouts and sizes."""
    for name, layout, scale in settings:
        precision = f"mixed,storage={format}"
        with claims("stored results are the exact ones rounded once", case, format, name):
            with fp.precision(precision):
                calls = run_of(case, format, layout, scale).calls
            errors = [(call.kernel.name, call.excess()) for call in calls]
            too_large = [(kernel, error) for kernel, error in errors if not error <= 1]
            assert not too_large, "errors in units of their bounds"


def check_nothing_is_narrower(claims, case, run):
    for call in run.calls:
        with claims("in float32 nothing is stored or summed in less", case, call.kernel.name):
            stored = [a for a in (*call.args, *call.results) if isinstance(a, np.ndarray)]
            assert float16 not in [a.dtype for a in stored]
            assert call.formats.compute == float32
            assert call.formats.sum_in == call.formats.dot_in == plans.SINGLE
            assert call.excess() <= 1


def nodes(ys):
    seen, stack = set(), [y.node for y in ys]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen and not isinstance(node, fp.Tensor):
            seen.add(node)
            stack += [parent for parent, _ in node.parents]
    return seen


def check_tape(claims, case, run):
    """In float32 it may hold what is small, statistics, boxes and scalars: at most half of the
    numbers that it holds, or that were read from a leaf. And no closure hides an array: backward
    of a node is a function, or closes over kernels."""
    for node in nodes(run.ys):
        saved = [a for a in node.saved if isinstance(a, np.ndarray)]
        read = [leaf.array for leaf, _ in node.parents if isinstance(leaf, fp.Tensor)]
        half = max((a.size for a in saved + read if a.dtype == float16), default=0)
        with claims("the tape holds no float32 copy of a float16 array", case, node.op):
            for a in saved if all(map(np.prod, case.shapes)) else ():
                wide = a.dtype.kind == "f" and a.dtype != float16
                assert not wide or a.ndim == 0 or 2 * a.size <= half, (a.shape, a.dtype)
        with claims("all that backward reads is among the saved arrays", case, node.op):
            cells = [c.cell_contents for c in node.backward.__closure__ or ()]
            assert not [c for c in cells if isinstance(c, np.ndarray | fp.Tensor)]


def values(case, arrays):
    """The case's outputs for these arrays, as one flat float64 array."""
    with fp.no_grad():
        ys = outputs(case, [fp.Tensor(a.astype(float16)) for a in arrays])
    return np.concatenate([y.array.astype(float64).reshape(-1) for y in ys])


def check_nan_is_seen(claims, case):
    """An element matters if setting it to 50 or -50 changes the result."""
    arrays = case.arrays()
    before = values(case, arrays)

    def with_element(i, place, value):
        changed = [a.copy() for a in arrays]
        changed[i][place] = value
        return values(case, changed)

    for i, a in enumerate(arrays):
        for place in some_places(a.shape):
            large = [with_element(i, place, value) for value in (50.0, -50.0)]
            if any(not np.array_equal(v, before, equal_nan=True) for v in large):
                with claims("NaN in an input that matters is seen", case, f"input {i}", place):
                    assert np.isnan(with_element(i, place, np.nan)).any()


def check_lost_gradients(claims, case, run):
    """Where the gradient of one output's element is not 0, that output's Inf or NaN must show."""
    for y in run.ys:
        for place in some_places(y.shape)[:2]:
            dy = np.zeros(y.shape)
            dy[place] = 1.0
            reached = [g.array != 0 for g in backward(y, run.xs, dy)]
            for value in (np.nan, np.inf):
                dy[place] = value
                with claims("a gradient that is not finite arrives", case, value, place):
                    for g, r in zip(backward(y, run.xs, dy), reached):
                        assert not np.isfinite(g.array[r]).any()


COARSE = [("every other", LAYOUTS["strided"], 1.0), SETTINGS[-1]]
REFUSES = {"encode_boxes", "box_convert"}  # boxes that coarse formats make empty
WITH_CASES = [family for family in FAMILIES if hasattr(family, "CASES")]
CODED = {"bfloat16": 6, "float8_e4m3fn": 30, "float8_e5m2": 30, "e5m7": 30}  # one in so many


@pytest.mark.references
@pytest.mark.filterwarnings("ignore:.*has no odd numbers")  # boxes in coarse formats
@pytest.mark.parametrize("format", CODED)
@pytest.mark.parametrize("family", WITH_CASES, ids=lambda family: family.__name__.split(".")[1])
def test_results_in_narrow_formats_are_the_exact_ones_rounded_once(family, format, drawn):
    cases = [case for case in family.CASES if case.operation not in REFUSES]
    with Claims() as claims:
        for case in drawn(cases, CODED[format]):
            check_rounded(claims, case, format, COARSE)


MEET = "bfloat16", "float8_e4m3fn", "e5m7", "float16", "float32"
ONE_FORMAT = {"scatter", "scatter_add", "index_add"}  # refuse a source of another, as PyTorch does


@pytest.mark.references
@pytest.mark.parametrize("pair", [*permutations(MEET, 2)], ids="-".join)
def test_formats_that_meet_are_numbers_and_not_codes(pair, drawn):
    several = [case for case in cases.MEETING if case.operation not in REFUSES | ONE_FORMAT]
    with Claims() as claims, fp.precision("float32"):
        for case in drawn(several, 10):
            numbers = [fp.tensor(a, dtype="float8_e4m3fn") for a in case.arrays()]
            xs = [fp.tensor(x, pair[i % 2], requires_grad=True) for i, x in enumerate(numbers)]
            with claims("results are those of the numbers, rounded once", case, *pair):
                with Calls() as calls:
                    ys = outputs(case, xs)
                    gradients = [g for y in ys for g in backward(y, xs, np.ones(y.shape))]
                assert all(call.excess() <= 1 for call in calls)
                assert [g.dtype for g in gradients] == [x.dtype for x in xs] * len(ys)
                if not calls:
                    wide = outputs(case, [x.float() for x in xs])
                    assert [y.tolist() for y in ys] == [y.tolist() for y in wide]


def test_every_kernel_is_called_by_a_case():
    """A new kernel needs a row in tests/cases. Update rules are tested with their optimizers."""
    with fp.precision("mixed"), Calls() as calls:
        for case in CASES:
            xs = tensors(case, float16)
            for y in outputs(case, xs):
                backward(y, xs, np.ones(y.shape))
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
    public = {
        name
        for name, f in (*vars(fp.ops).items(), *vars(F).items())
        if inspect.isfunction(f) and name[0] != "_" and f.__module__.startswith(OPERATIONS)
        if not f.__module__.endswith(("creation", "full", "sampling"))  # see test_factories.py
    }
    constant = {*COMPARISONS, *TESTS, "batch_norm_statistics"}
    constant |= {*"argmax argmin any all count_nonzero argsort one_hot nonzero".split()}
    constant |= {*"isclose allclose equal bitwise_and bitwise_or bitwise_xor bitwise_not".split()}
    constant |= {*"unique bincount tril_indices triu_indices".split()}  # in tests/nn
    constant |= {n for n in public if f"{n}_" in public or n[-1] == "_"} - {*BY_OPERATION}
    constant |= {*" ".join(ALIASES.values()).split()}
    constant |= {*"is_tensor is_floating_point numel finfo iinfo detach nms batched_nms".split()}
    constant |= {*"ctc_greedy_decode ctc_beam_search_decode remove_small_boxes".split()}
    assert not public - {*BY_OPERATION} - constant


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
