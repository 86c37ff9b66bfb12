"""What every compiled kernel must obey, asked of one kernel at a time, on calls drawn at random.

Beside it: `test_all_operations.py` asks the same of whatever the cases call, with gradients and in
every precision; `test_compiled_*.py` have what single kernels promise besides.
"""

import zlib

import cases  # noqa: F401 (the bounds of kernels whose sums go through further arithmetic)
import numpy as np
import pytest
from bounds import Call
from claims import Claims
from kernel_calls import CALLS, NAMED, Draw

import minifp as fp
from minifp.numerics.formats import downcast, float32
from minifp.numerics.kernels import Kernel
from minifp.runtime import cpu

pytestmark = pytest.mark.skipif(not cpu.can_compile(), reason="nothing is compiled")
# Asked in files of their own: products, recurrences, and what jumps where a quotient is rounded.
ELSEWHERE = """
    addmm_dx addmm_dy conv_db conv_dw conv_dx conv_forward conv_transpose_dw conv_transpose_dx
    conv_transpose_forward dot_forward einsum_dx einsum_number gru_da gru_forward linear_db
    linear_dw linear_dx linear_forward lstm_dz lstm_forward lstm_projected lstm_projected_dz rnn_dz
    rnn_forward trunc_divide_forward
"""
# Of no formula: `minifp doctor --kernels` says why.
LEFT = """
    dropped median_forward
"""
# What one operation gives, or a choice: the reference in float32 must agree bit for bit.
EXACT = """
    abs_forward clamp_between clamp_dx clamp_forward copy div_forward dropout_dx dropout_forward eq
    exp_dx floor_divide_forward ge gt hardtanh_dx hardtanh_forward isfinite isinf isnan le
    leaky_relu_dx leaky_relu_forward log_dx logical_not lt masked_fill_forward max_pool_forward
    maximum_forward minimum_forward mul_forward ne neg_dx neg_forward reciprocal_forward relu6_dx
    relu6_forward relu_dx relu_forward remainder_forward sign_dx sign_forward sqrt_dx sqrt_forward
    square_forward where_forward
""".split()
SIGNED = """
    add_forward copy erf_forward expm1_forward log1p_forward mul_forward neg_forward sin_forward
    tanh_forward
""".split()
# Of these what is not finite may be Inf where the reference has NaN: a weight is taken out of sums.
REARRANGED = {"group_norm_dx"}
ROWS: dict = {name.partition(" ")[0]: [] for name in CALLS}  # by kernel, what is drawn of it
for row in CALLS:
    ROWS[row.partition(" ")[0]].append(row)


@pytest.fixture(autouse=True)
def no_reference(monkeypatch):
    """No kernel may leave a call here to its reference."""

    def left(kernel, args, params, formats, to):
        raise AssertionError("the call was left to the reference")

    monkeypatch.setattr(Kernel, "_call_reference", left)


def calls_of(row, numbers, **settings):
    """Random calls, (arguments, keywords with `to`), by their numbers."""
    for n in numbers:
        args, params, to = CALLS[row](Draw(zlib.crc32(f"{row} {n}".encode()), **settings))
        yield args, {**params, "to": to}


def called(kernel, args, params):
    results = kernel(*args, **params)
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("name", ROWS)
def test_a_compiled_kernel_is_its_reference_on_any_call(name, drawn, monkeypatch):
    """Of 20 calls of each kind, 5 always and a third of the others; of rows of which a kernel has
    many, and which have no shapes of their own, 4."""
    kernel = NAMED[name]
    with Claims() as claims:
        for row in ROWS[name]:
            few = " " in row
            for kind in ("float16", "float32", "special"):
                numbers = range(4) if few else drawn(range(20), 3, range(5), of=kind)
                settings = {"special": True} if kind == "special" else {"dtype": kind}
                for args, params in calls_of(row, numbers, **settings):
                    check_call(claims, kernel, args, params, **settings)
            for n in [0] if few else drawn(range(20), 4, range(4), of="large"):
                dtype = ("float32", "float16")[n % 2]  # sums of halves are exact, in any order
                for args, params in calls_of(row, [n], dtype=dtype, large=True):
                    check_threads(claims, kernel, args, params, monkeypatch)
                    if n < 4:
                        check_call(claims, kernel, args, params, dtype)


def check_call(claims, kernel, args, params, dtype="float16", special=False):
    """Results within the bound, in the formats asked for and in memory of their own; arguments
    that stay as they are."""
    where = dtype, [np.shape(a) for a in args], params
    before = [None if a is None else np.copy(a) for a in args]
    with claims("a call is computed", *where):
        results = called(kernel, args, params)
        settings = {name: value for name, value in params.items() if name != "to"}
        call = Call(kernel, args, settings, results, None)
        with np.errstate(all="ignore"):
            exact, _ = call.exact()
    with claims("results are as exact as they can be", *where, "special" if special else ""):
        check_results(call, exact, special)
    formats = params["to"] if isinstance(params["to"], tuple) else [params["to"]] * len(exact)
    with claims("results have their formats, and memory of their own", *where):
        for y, e, format in zip(results, exact, formats, strict=True):
            assert type(y) is np.ndarray and y.shape == np.shape(e)
            assert y.flags.carray or not y.size
            assert y.dtype == (format or dtype) or y.dtype.kind != "f"
            arrays = [a for a in args if isinstance(a, np.ndarray)]
            assert not any(np.may_share_memory(y, a) for a in arrays)
    with claims("arguments are not changed", *where):
        for a, b in zip(args, before):
            np.testing.assert_array_equal(a, b)


def check_results(call, exact, special):
    """Within the bound; of a choice each bit that of the reference; and some keep a zero's sign."""
    name = call.kernel.name.partition(".")[2]
    if special and name in REARRANGED:
        for y, e in zip(call.results, exact):
            rounded = downcast(np.asarray(e), y.dtype)
            np.testing.assert_array_equal(np.isfinite(y), np.isfinite(rounded))
        return
    for y, e in zip(call.results, exact):
        if y.dtype.kind != "f":
            np.testing.assert_array_equal(y, e)
    if any(y.dtype.kind == "f" for y in call.results):
        assert call.excess() <= 1
    if name in EXACT or name in SIGNED:
        single = call.kernel.computed(call.args, dict(call.params), np.dtype(float32))
        y, e = call.results[0], single[0] if isinstance(single, tuple) else single
        e = downcast(np.asarray(e), y.dtype)
        if name in EXACT:
            np.testing.assert_array_equal(y, e)
        if name in SIGNED:
            np.testing.assert_array_equal(np.signbit(y[e == 0]), np.signbit(e[e == 0]))


def check_threads(claims, kernel, args, params, monkeypatch):
    """Even of the smallest call, which is divided too."""
    before, outcomes = fp.get_num_threads(), {}
    with claims("no byte depends on the number of threads", [np.shape(a) for a in args], params):
        try:
            with monkeypatch.context() as patch:
                patch.setattr(cpu.kernels.pool, "WORTH_A_THREAD", -1)
                for count in (1, 2, 3):
                    fp.set_num_threads(count)
                    results = b"".join(y.tobytes() for y in called(kernel, args, params))
                    outcomes.setdefault(results, []).append(count)
        finally:
            fp.set_num_threads(before)
        alike = [*outcomes.values()]
        assert alike == [[1, 2, 3]]


def test_every_compiled_kernel_is_asked():
    of_ops = {n: k for n, k in NAMED.items() if k.reference.__module__.startswith("minifp.ops.")}
    compiled = {name for name, kernel in of_ops.items() if kernel.compiled is not None}
    assert compiled == {*ROWS, *ELSEWHERE.split(), *LEFT.split()}, "each has a row of kernel_calls"
