"""MINIFP_KERNELS=checked: what a derived kernel trusts is verified, and errors name it."""

import numpy as np
import pytest
from refusals import refuses

from minifp.errors import DTypeError, ShapeError
from minifp.runtime import cpu

if not cpu.can_derive():
    pytest.skip("kernels are not derived here", allow_module_level=True)

from minifp.derive.trace import Formulas
from minifp.runtime.cpu.kernels import pointwise
from minifp.runtime.cpu.kernels.checked import Checked

N = 64
HALF, SINGLE, COUNTER = np.dtype("float16"), np.dtype("float32"), np.zeros(1, np.int64)


def scaled_sum(x, y, *, a):
    return x + a * y


@pytest.fixture
def kernels(monkeypatch):
    """The kernels of one reference, made while they are to be checked."""
    monkeypatch.setenv("MINIFP_KERNELS", "checked")
    return pointwise.Pointwise(Formulas(scaled_sum), lambda *_: None)


def plan(forms="aa", n=N, dtype=HALF):
    y = np.ones(n, dtype)
    rest = [np.ones(n, dtype) if form == "a" else 1.0 for form in forms]
    return [COUNTER, 1, np.empty(0, SINGLE), n, n, COUNTER, *rest, y, 0.5]


def entry(kernels, forms="aa"):
    kinds, settings = (HALF, HALF), {"a": 0.5}
    return kernels.kernel(kernels.formulas(kinds, settings), forms, (HALF,))[0]


def test_right_calls_of_all_forms_pass(kernels):
    x = np.ones((40, 60), np.float16)
    for other in (x, x[:1], x[:, :1], x.T.copy().T, x[0, 0], x[3]):
        (z,) = (kernels(x, np.asarray(other), to=(HALF,), a=0.5),)
        assert (z == 1.5).all()
    made = [kernel for kernel, _ in kernels.kernels.values()]
    assert len(made) > 2 and all(type(kernel) is Checked for kernel in made)


WRONG = {
    "an array of another format": (6, np.ones(N, np.float32), DTypeError, "x: .*float16.*float32"),
    "no array": (6, [1.0] * N, DTypeError, "x: expected an array of float16, got a list"),
    "too few elements": (7, np.ones(N - 1, np.float16), ShapeError, "y: expected 64 elements"),
    "elements apart": (7, np.ones(2 * N, np.float16)[::2], ShapeError, "y: .*contiguous"),
    "a longer way": (4, N + 1, ShapeError, "chunks: .*cover all.*1 chunks of 64 for 65"),
    "a result in another format": (8, np.ones(N, np.float32), DTypeError, "result 0: .*float16"),
    "a number that is none": (9, "0.5", DTypeError, "settings: expected 1 numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_the_kernel(kernels, case):
    place, value, kind, message = WRONG[case]
    call = plan()
    call[place] = value
    refuses(kind, rf"compiled kernel scaled_sum: {message}", entry(kernels), *call)


def test_a_result_over_an_argument_and_places_outside_of_an_array_are_refused(kernels):
    call = plan()
    call[8] = call[6]
    refuses(ShapeError, "result 0: expected memory of its own", entry(kernels), *call)
    call, places = plan("aa"), np.zeros(2 * pointwise.BLOCK, np.int64)
    call[2], call[5] = np.empty(2 * pointwise.BLOCK, SINGLE), places
    places[129:132] = 1, N, 2  # of y, in steps of two
    refuses(ShapeError, "y: expected 64 places within its memory", entry(kernels, "ag"), *call)
    places[131] = 1
    entry(kernels, "ag")(*call)


def test_nothing_is_in_the_way_unless_it_is_asked_for(monkeypatch):
    monkeypatch.delenv("MINIFP_KERNELS", raising=False)
    assert type(entry(pointwise.Pointwise(Formulas(scaled_sum), lambda *_: None))) is not Checked


def test_kernels_of_rows_look_at_formats_and_memory_too(monkeypatch):
    from minifp.runtime.cpu.kernels.rows import RowKernel

    monkeypatch.setenv("MINIFP_KERNELS", "checked")
    centred = RowKernel(lambda x, *, sum: x - sum(x, axis=-1, keepdims=True), ("x",))
    assert centred(np.ones((3, 4), HALF), to=(HALF,)).tolist() == [[-3] * 4] * 3
    (kernel,) = centred.kernels.values()
    call = {name: np.ones(12, np.float64) for name in kernel.parameters}
    call |= {n: 1 for n, kind in kernel.parameters.items() if kind == "i64"}
    call |= {"counter": COUNTER, "scratch": np.ones(12, SINGLE)}
    refuses(DTypeError, "x0: expected an array of float16, got float64", kernel, *call.values())
    call["x0"] = call["y0"] = np.ones(12, HALF)
    refuses(ShapeError, "y0: expected memory of its own", kernel, *call.values())
