"""What every compiled kernel must obey, asked of one kernel at a time, on calls drawn at random.

Beside it: `test_all_operations.py` asks the same of whatever the cases call, with gradients and in
every precision; `test_compiled_*.py` have what single kernels promise besides.
"""

import zlib

import cases  # noqa: F401 (the bounds of kernels whose sums go through further arithmetic)
import numpy as np
import pytest
from bounds import Call
from kernel_calls import CALLS, NAMED, Draw
from kernel_calls.elementwise import gradients_of

import minifp as fp
from minifp.numerics.formats import downcast, float16, float32
from minifp.numerics.kernels import Kernel
from minifp.runtime import cpu

pytestmark = pytest.mark.skipif(not cpu.can_compile(), reason="nothing is compiled")
# Asked in files of their own: what sums to the shape of an argument, products, and recurrences.
ELSEWHERE = """
    addmm_dx addmm_dy conv_db conv_dw conv_dx conv_forward conv_transpose_dw conv_transpose_dx
    conv_transpose_forward
    dot_forward einsum_dx einsum_number glu_dx glu_forward gru_da gru_forward linear_db linear_dw
    linear_dx linear_forward lstm_dz lstm_forward lstm_projected lstm_projected_dz pow_dx prelu_dw
    prelu_dx prelu_forward rnn_dz rnn_forward trunc_divide_forward
"""
# Of no formula: `minifp doctor --kernels` says why.
LEFT = """
    dropped
"""
each = pytest.mark.parametrize("name", CALLS)


@pytest.fixture(autouse=True)
def no_reference(monkeypatch):
    """No kernel may leave a call here to its reference."""

    def left(kernel, args, params, formats, to):
        pytest.fail(f"{kernel.name} left {[np.shape(a) for a in args]}, {params} to the reference")

    monkeypatch.setattr(Kernel, "_call_reference", left)


def drawn(name, count, **settings):
    """`count` random calls: (kernel, arguments, keywords with `to`)."""
    kernel = NAMED[name.partition(" ")[0]]
    for n in range(count):
        draw = Draw(zlib.crc32(f"{name} {n}".encode()), **settings)
        args, params, to = CALLS[name](draw)
        yield kernel, args, {**params, "to": to}


def many(name, least, most):
    """How often: those element by element have no shapes of their own, and are many."""
    return least if " " in name else most


def result_of(kernel, args, params):
    """The call, with its results and the exact ones. Booleans are exact here already."""
    results = kernel(*args, **params)
    results = results if isinstance(results, tuple) else (results,)
    settings = {name: value for name, value in params.items() if name != "to"}
    call = Call(kernel, args, settings, results, None)
    with np.errstate(all="ignore"):
        exact, _ = call.exact()
    for y, e in zip(results, exact):
        if y.dtype.kind != "f":
            np.testing.assert_array_equal(y, e)
    return call, exact


def excess_of(call):
    """Its error in units of the bound."""
    return call.excess() if any(y.dtype.kind == "f" for y in call.results) else 0


@each
@pytest.mark.parametrize("dtype", [float16, float32], ids=str)
def test_results_are_within_the_bound_for_any_shape_and_layout(name, dtype):
    """In the formats asked for and in memory of their own; and arguments stay as they are."""
    calls = [
        *drawn(name, many(name, 4, 20), dtype=dtype),
        *drawn(name, many(name, 1, 3), dtype=dtype, large=True),
    ]
    for kernel, args, params in calls:
        before = [None if a is None else np.copy(a) for a in args]
        call, exact = result_of(kernel, args, params)
        assert excess_of(call) <= 1, (kernel, [np.shape(a) for a in args], params)
        formats = params["to"] if isinstance(params["to"], tuple) else [params["to"]] * len(exact)
        for y, e, format in zip(call.results, exact, formats):
            assert type(y) is np.ndarray and y.shape == np.shape(e)
            assert y.flags.carray or not y.size
            assert y.dtype == (format or dtype) or y.dtype.kind != "f"
            arrays = [a for a in args if isinstance(a, np.ndarray)]
            assert not any(np.may_share_memory(y, a) for a in arrays)
        for a, b in zip(args, before):
            np.testing.assert_array_equal(a, b)


# Of these what is not finite may be Inf where the reference has NaN: a weight is taken out of sums.
REARRANGED = {"group_norm_dx"}


@each
def test_numbers_that_are_not_finite_come_out_as_from_the_reference(name):
    for kernel, args, params in drawn(name, many(name, 3, 20), special=True):
        call, exact = result_of(kernel, args, params)
        if name in REARRANGED:
            with np.errstate(all="ignore"):
                for y, e in zip(call.results, exact):
                    rounded = downcast(np.asarray(e), y.dtype)
                    np.testing.assert_array_equal(np.isfinite(y), np.isfinite(rounded))
        else:
            assert excess_of(call) <= 1, (kernel, [np.shape(a) for a in args], params)


@each
def test_no_byte_depends_on_the_number_of_threads(name, monkeypatch):
    from minifp.runtime.cpu import pool

    monkeypatch.setattr(pool, "WORTH_A_THREAD", -1)  # even the smallest call is divided
    before = fp.get_num_threads()
    try:
        for kernel, args, params in drawn(name, many(name, 1, 6), large=True):
            outcomes = set()
            for count in (1, 2, 3):
                fp.set_num_threads(count)
                results = kernel(*args, **params)
                results = results if isinstance(results, tuple) else (results,)
                outcomes.add(b"".join(y.tobytes() for y in results))
            assert len(outcomes) == 1, ([np.shape(a) for a in args], params)
    finally:
        fp.set_num_threads(before)


def test_every_compiled_kernel_is_asked():
    asked = {name.partition(" ")[0] for name in CALLS} | {name for name, *_ in gradients_of()}
    of_ops = {n: k for n, k in NAMED.items() if k.reference.__module__.startswith("minifp.ops.")}
    compiled = {name for name, kernel in of_ops.items() if kernel.compiled is not None}
    assert compiled == asked | {*ELSEWHERE.split(), *LEFT.split()}, (
        "a row of tests/kernel_calls for each"
    )
