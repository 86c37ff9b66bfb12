"""Matrix products through the binding to cuBLAS, on an imitation of it that runs on the CPU.

The imitation (fake_cublas.cpp) has the same entry points and checks arguments as cuBLAS does. What
it cannot tell is how fast a GPU is and in what order it adds.
"""

import ctypes
import os
import sys
import threading
from itertools import product as every
from types import SimpleNamespace

import build
import numpy as np
import pytest
from bounds import excess
from checked import normal
from real_gpu import IMITATED
from refusals import refuses

from minifp.errors import ArgumentError, DeviceError, ShapeError
from minifp.numerics.accumulate import primitives
from minifp.runtime.cuda import cublas, math_modes, product
from minifp.runtime.cuda.cublas import COMPUTE_TYPES, CublasError, Handles, Matrix, load

if not IMITATED:
    pytest.skip("it looks into the imitation", allow_module_level=True)

import fake_cupy

F16, F32, F64 = np.float16, np.float32, np.float64


class Call(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int64)
        for name in (
            "m n k lda ldb ldc stride_a stride_b stride_c batch ta tb at bt ct compute algo "
            "math_mode workspace workspace_bytes stream wide batched calls"
        ).split()
    ]


def device(array):
    """An array of the device over the memory of one of the host's, in its strides."""
    return fake_cupy.ndarray.__new__(fake_cupy.ndarray)._set(np.asarray(array), None, None)


def multiply(a, b, out, **how):
    """A product of arrays of the host's, written into one."""
    assert product.multiply(device(a), device(b), device(out), **how).host is out
    return out


def of_ones(*shape, dtype=F16):
    return np.ones(shape, dtype)


@pytest.fixture
def library(gpu):
    """The imitation, with handles that are made anew, all of which can be closed."""
    made = load(tried=[str(build.library("fake_cublas.cpp"))])
    yield made
    product.handles().close()
    assert made.library.fake_handles() == 0


@pytest.fixture(autouse=True)
def no_handles(library):
    product.handles().close()
    product.handles.cache_clear()
    yield
    product.handles().close()
    product.handles.cache_clear()


def last_call(library):
    told = Call()
    library.library.fake_last_call(ctypes.byref(told))
    return told


def exact(a, b, alpha=1.0, before=0.0):
    """(the product in float64, the sum of the products' magnitudes)."""
    a, b, before = (np.asarray(x).astype(F64) for x in (a, b, before))
    return alpha * (a @ b) + before, abs(alpha) * (np.abs(a) @ np.abs(b)) + np.abs(before)


def is_near(out, a, b, compute="float32", before=0.0, alpha=1.0):
    """Whether a result is as near the exact one as the compute type gets: of float32 sums within
    half an ulp and c 2^-24 of the sum of magnitudes."""
    y, magnitude = exact(a, b, alpha, before)
    if compute == "float16":
        return np.all(np.abs(out - y) <= (a.shape[-1] + 2) * 2.0**-10 * magnitude + 2.0**-20)
    if compute == "tf32" and a.dtype == F32:
        return np.all(np.abs(out - y) <= 2.0**-9 * magnitude)
    if out.dtype == F64:
        return np.allclose(out, y, rtol=1e-13, atol=1e-13)
    return np.all(excess(out, y, magnitude, addends=a.shape[-1] + 1) <= 1)


def laid_out(shape, layout, dtype, generator):
    """Random numbers, whose rows or columns lie in memory as `layout` says."""
    x = generator.standard_normal(shape).astype(dtype)
    if layout == "columns":
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    wide = np.full((*shape[:-2], 2 * shape[-2] + 1, 2 * shape[-1] + 3), np.nan, dtype)
    if layout == "wide rows":
        part = wide[..., : shape[-2], 1 : shape[-1] + 1]
    elif layout == "wide columns":
        wide = np.full((*shape[:-2], shape[-1], shape[-2] + 5), np.nan, dtype)
        part = wide.swapaxes(-1, -2)[..., 2 : shape[-2] + 2, :]
    elif layout == "every other":  # row and column: this one has to be copied
        part = wide[..., : 2 * shape[-2] : 2, 1 : 2 * shape[-1] : 2]
    elif layout == "backwards":
        part = wide[..., : shape[-2], : shape[-1]][..., ::-1]
    else:
        return x
    part[...] = x
    return part


LAYOUTS = "rows", "columns", "wide rows", "wide columns", "every other", "backwards"
FORMATS = [(F16, F16, "float32"), (F16, F32, "float32"), (F32, F32, "float32")]
FORMATS += [(F64, F64, "float64"), (F32, F32, "tf32"), (F16, F32, "tf32"), (F16, F16, "float16")]
SIZES = [(3, 5, 7), (16, 8, 32), (1, 4, 9), (6, 1, 2), (1, 1, 5), (5, 3, 1), (1, 7, 1), (1, 1, 1)]
BATCHES = {  # leading axes of a, of b, of the result
    **{"one": ((), (), ()), "batch": ((3,), (3,), (3,)), "one b": ((4,), (), (4,))},
    **{"one a": ((), (4,), (4,)), "two axes": ((2, 3), (2, 3), (2, 3))},
    **{"broadcast": ((2, 1), (3,), (2, 3)), "outer": ((2, 3), (2, 1), (2, 3))},
    **{"axes of one": ((1, 3), (1,), (1, 3)), "three axes": ((2, 1, 3), (1, 4, 1), (2, 4, 3))},
}


@pytest.mark.parametrize(
    "formats", FORMATS, ids=lambda f: f"{f[0].__name__}-{f[1].__name__}-{f[2]}"
)
def test_every_layout_batch_and_size(formats):
    generator = np.random.default_rng(5)
    stored, result, compute = formats
    for name, (lead_a, lead_b, lead) in BATCHES.items():
        sizes = SIZES if name in ("one", "batch") else SIZES[:3]
        for (m, n, k), one, other in every(sizes, LAYOUTS, LAYOUTS):
            a = laid_out((*lead_a, m, k), one, stored, generator)
            b = laid_out((*lead_b, k, n), other, stored, generator)
            for rows, accumulate in every(("rows", "wide rows"), (False, True)):
                out = laid_out((*lead, m, n), rows, result, generator)
                before = out.copy() if accumulate else 0.0
                if not accumulate:
                    out[...] = np.nan  # nothing of it may be read, nor leak
                multiply(a, b, out, compute=compute, accumulate=accumulate)
                where = (name, m, n, k, one, other, rows, accumulate)
                assert is_near(out, a, b, compute, before), where


def test_what_lies_beside_is_not_touched_and_alpha_is_applied_before_the_only_rounding():
    wide = np.full((3, 9, 11), 7, F32)
    out = wide[:, 2:6, 3:8]
    multiply(of_ones(3, 4, 6, dtype=F32), of_ones(3, 6, 5, dtype=F32), out)
    assert np.all(out == 6)
    out[...] = 7
    assert np.all(wide == 7)
    a, b = normal(16, 16), normal(16, 16, seed=3)
    out = multiply(a, b, np.zeros((16, 16), F16), alpha=0.3)
    assert is_near(out, a, b, alpha=float(F32(0.3)))


def calls_of(library, a, b, out, **how):
    """(how many calls a product took, the last of them)."""
    before = last_call(library).calls
    multiply(a, b, out, **how)
    told = last_call(library)
    return told.calls - before, told


WIDE, TURNED = of_ones(3, 8, 5)[:, :4], of_ones(3, 5, 4).swapaxes(-1, -2)
APART = of_ones(7, 3, 1, 5)[::2, 0]  # rows that lie apart
SLIDING = np.lib.stride_tricks.sliding_window_view(np.arange(9).astype(F16), 4)
Q, K = (normal(2, 5, 3, 4, seed=s).swapaxes(1, 2) for s in (6, 7))  # (B, T, H, D) as (B, H, T, D)
PLANS = {  # a, b, the number of calls, and what the last of them was
    "leading axes are one batch where strides allow it": (
        *(of_ones(2, 3, 4, 5), of_ones(2, 3, 5, 6), 1),
        {"batch": 6, "batched": 1, "m": 6, "n": 4, "k": 5, "stride_a": 30, "stride_b": 20},
    ),
    "a batch with one matrix is one tall product": (
        *(of_ones(2, 3, 4, 5), of_ones(5, 6), 1, {"batched": 0, "m": 6, "n": 24, "k": 5}),
    ),
    "also with axes of one": (
        *(of_ones(2, 3, 4, 5), of_ones(1, 1, 5, 6), 1, {"batched": 0, "n": 24}),
    ),
    "also with rows apart": (APART, of_ones(5, 6), 1, {"batched": 0, "n": 4, "ldb": 30}),
    "what cannot be one tall matrix is a batch": (
        *(WIDE, of_ones(5, 6), 1, {"batch": 3, "stride_a": 0, "stride_b": 40}),
    ),
    "nor what is transposed": (TURNED, of_ones(5, 6), 1, {"batch": 3, "tb": 1, "stride_a": 0}),
    "axes that are not one are a batch of the longest and loops": (
        *(of_ones(2, 1, 4, 5), of_ones(7, 5, 6), 2, {"batch": 7}),
    ),
    "heads of attention are read in place": (*(Q, K.swapaxes(-1, -2), 2, {"batch": 3, "ldb": 12}),),
    "matrices of one row may lie one upon another": (
        *(SLIDING[:, None], of_ones(4, 2), 1, {"batch": 6, "stride_b": 1}),
    ),
    "an empty result is no call": (of_ones(0, 3), of_ones(3, 4), 0, {}),
    "without columns": (of_ones(2, 3), of_ones(3, 0), 0, {}),
    "without matrices": (of_ones(0, 2, 3), of_ones(3, 4), 0, {}),
    "without rows": (of_ones(2, 0, 3), of_ones(3, 4), 0, {}),
    "a sum of no products is 0": (of_ones(2, 0), of_ones(0, 4), 0, {}),
    "of several matrices too": (of_ones(3, 2, 0), of_ones(0, 4), 0, {}),
}


@pytest.mark.parametrize("plan", PLANS)
def test_a_product_takes_as_few_calls_as_its_strides_allow(plan, library):
    a, b, calls, expected = PLANS[plan]
    out = np.full((a @ b).shape, np.nan, F16)
    count, told = calls_of(library, a, b, out)
    assert {name: getattr(told, name) for name in expected} == expected
    assert count == calls and is_near(out, a, b)
    if not a.shape[-1]:
        out[...] = 3
        assert calls_of(library, a, b, out, accumulate=True)[0] == 0 and np.all(out == 3)


def test_operands_are_copied_only_where_they_must_be(monkeypatch):
    copies, generator = [], np.random.default_rng(1)
    copy = fake_cupy.ndarray.copy
    monkeypatch.setattr(fake_cupy.ndarray, "copy", lambda x: copies.append(x) or copy(x))

    def copied(a, b):
        copies.clear()
        multiply(a, b, np.zeros((a @ b).shape, F16))
        return len(copies)

    for one, other in every(LAYOUTS, LAYOUTS):
        a, b = (laid_out((2, 4, 4), how, F16, generator) for how in (one, other))
        assert copied(a, b) == sum(how in ("every other", "backwards") for how in (one, other))
    once = np.broadcast_to(of_ones(4), (4, 4))  # rows one upon the other
    assert (copied(once, once), copied(SLIDING, of_ones(4, 2))) == (2, 1)
    # cuBLAS says nothing of batches that go backwards.
    assert copied(of_ones(3, 4, 4)[::-1], once.copy()) == 1


@pytest.mark.parametrize("bias", [F16, F32])
def test_the_bias_enters_before_the_only_rounding(bias):
    """1 + 2^-11 rounds to 1, and 1 + 2^-12 after it too; but their sum is more than halfway."""
    a, b = np.array([[1, 2**-11]], F16), of_ones(2, 1)
    twice = (F32(1) + F32(2**-11)).astype(F16) + F16(2**-12)
    y = product.product(device(a), device(b), F16, device(np.array([2**-12], bias)))
    assert (twice, y.host[0, 0], y.dtype) == (1, F16(1 + 2**-10), F16)


@pytest.mark.parametrize("compute", ["float32", "float16"])
@pytest.mark.parametrize("lead", [(), (2, 3)])
def test_products_with_a_bias_of_any_format(compute, lead):
    a, b = normal(*lead, 6, 9), normal(9, 5, seed=3)
    for result, bias in every((F16, F32), (F16, F32, None)):
        c = None if bias is None else normal(5, dtype=bias, seed=4)
        given = None if bias is None else device(c)
        y = product.product(device(a), device(b), result, given, compute=compute)
        assert y.dtype == result and y.shape == (*lead, 6, 5)
        before = 0.0 if c is None else np.broadcast_to(c, y.shape)
        assert is_near(y.host, a, b, compute, before), (result, bias)


def test_a_product_that_cublas_does_not_store_so_is_cast():
    """float32 operands and a float16 result: float32 sums, rounded once when they are cast."""
    a, b = normal(8, 8, dtype=F32), normal(8, 8, dtype=F32, seed=3)
    y = product.product(device(a), device(b), F16, alpha=0.5)
    assert y.dtype == F16 and is_near(y.host, a, b, alpha=0.5)
    wide = a.astype(F64), b.astype(F64)
    y = product.product(*map(device, wide), F32, compute="float64")
    assert y.dtype == F32 and np.all(y.host == (wide[0] @ wide[1]).astype(F32))


def test_sums_in_float16_are_those_of_the_reference():
    """The imitation rounds every product and partial sum, k ascending, as the CPU's reference."""
    powers = 2.0 ** np.random.default_rng(8).integers(-12, 4, (9, 40))
    a, b = (normal(9, 40, dtype=F64) * powers).astype(F16), normal(40, 11)
    out = multiply(a, b, np.zeros((9, 11), F16), compute="float16")
    assert np.array_equal(out, primitives(F16).dot(a.astype(F32), b.astype(F32)).astype(F16))


MODES = {  # what cuBLAS is told where products are summed in float16, in float32 of either format
    "tensor_cores": "16F 32F 32F",
    "no_tensor_cores": "16F_PEDANTIC 32F_PEDANTIC 32F_PEDANTIC",
    "tf32": "16F 32F 32F_FAST_TF32",
}


@pytest.fixture
def mode(monkeypatch):
    monkeypatch.setattr(math_modes, "_chosen", None)
    monkeypatch.delenv("MINIFP_GPU_MATH", raising=False)


@pytest.mark.parametrize("name", MODES)
def test_a_math_mode_is_a_compute_type_for_each_format(name, mode, library):
    math_modes.set_gpu_math(name)
    asked = (F16, "float16"), (F16, "float32"), (F32, "float32")
    for (dtype, sums), code in zip(asked, MODES[name].split(), strict=True):
        a, b = normal(8, 8, dtype=dtype), normal(8, 8, dtype=dtype, seed=3)
        out = product.product(device(a), device(b), dtype, compute=sums).host
        assert last_call(library).compute == getattr(cublas, f"COMPUTE_{code}")
        assert is_near(out, a, b, "tf32" if code == "32F_FAST_TF32" else sums)
    assert last_call(library).math_mode == 16  # no partial sums in the result


def test_the_mode_of_the_environment_is_read_once_and_no_other_name_is_taken(mode, monkeypatch):
    assert math_modes.get_gpu_math() == "tensor_cores"
    with pytest.raises(ArgumentError, match="expected one of tensor_cores, no_tensor_cores, tf32"):
        math_modes.set_gpu_math("tensor_op")
    monkeypatch.setenv("MINIFP_GPU_MATH", "no_tensor_cores")
    assert math_modes.get_gpu_math() == "tensor_cores"
    monkeypatch.setattr(math_modes, "_chosen", None)
    assert math_modes.get_gpu_math() == "no_tensor_cores"
    monkeypatch.setattr(math_modes, "_chosen", None)
    monkeypatch.setenv("MINIFP_GPU_MATH", "fast")
    refuses(ArgumentError, "MINIFP_GPU_MATH: set_gpu_math.'fast'", math_modes.get_gpu_math)


def test_tf32_is_refused_where_tensor_cores_do_not_take_it(mode, monkeypatch):
    monkeypatch.setattr(fake_cupy.Device, "compute_capability", "75")
    refuses(DeviceError, "Turing .* has no tensor cores for tf32", math_modes.set_gpu_math, "tf32")
    assert math_modes.get_gpu_math() == "tensor_cores"


def two_by_two(library):
    return calls_of(library, of_ones(2, 2), of_ones(2, 2), np.zeros((2, 2), F16))[1]


@pytest.mark.parametrize("capability, mebibytes", [("90", 32), ("75", 4)])
def test_the_workspace_is_what_the_generation_wants(capability, mebibytes, library, monkeypatch):
    monkeypatch.setattr(fake_cupy.Device, "compute_capability", capability)
    told = two_by_two(library)
    assert told.workspace == product.current_handle().workspace.ptr
    assert told.workspace_bytes == mebibytes * 2**20
    assert (told.math_mode, told.algo, told.compute) == (16, -1, 68)


def test_one_handle_for_each_device_stream_and_thread(library, monkeypatch):
    first, other = product.current_handle(), fake_cupy.cuda.Stream()
    assert product.current_handle() is first
    with other:
        second = product.current_handle()
        assert second is not first and two_by_two(library).stream == other.ptr
        one = SimpleNamespace(id=1, compute_capability="90")
        with monkeypatch.context() as patch:
            patch.setattr(fake_cupy.cuda, "Device", lambda number=None: one)
            third = product.current_handle()
    others = []
    thread = threading.Thread(target=lambda: others.append(product.current_handle()))
    thread.start()
    thread.join()
    assert len({first.value, second.value, third.value, others[0].value}) == 4
    assert len(product.handles()) == 4 == library.library.fake_handles()
    assert product.current_handle() is first


def test_a_captured_product_runs_when_its_graph_is_launched():
    a, b, out, stream = of_ones(2, 2), of_ones(2, 2), np.zeros((2, 2), F16), fake_cupy.cuda.Stream()
    with stream:
        product.current_handle()  # which cannot be made while the stream captures
        stream.begin_capture()
        multiply(a, b, out, alpha=0.5)
        graph = stream.end_capture()
    assert np.all(out == 0)
    a[...] = 3
    graph.launch()
    assert np.all(out == 3)


def memory(size):
    return (fake_cupy.cuda.alloc(size).ptr,) * 3


def test_handles_that_fail_are_destroyed_and_a_closed_one_is_refused(library):
    with pytest.raises(CublasError, match="cublasSetWorkspace_v2: cuBLAS status 7, INVALID_VALUE"):
        library.handle(0, SimpleNamespace(ptr=8), 2**20)
    assert library.library.fake_handles() == 0
    handles = Handles(library, lambda device: (fake_cupy.cuda.alloc(2**12), 2**12))
    handle = handles.get(0, 0)
    assert handle.version() == 120000
    handles.close()
    handle.close()
    a = Matrix(0, 0, 1)
    with pytest.raises(CublasError, match="status 1, NOT_INITIALIZED: no usable device or driver"):
        library.gemm(handle, cublas.COMPUTE_32F, (1, 1, 1), memory(512), a, a, a)


@pytest.mark.parametrize("a, b, out", [
    *(((2, 3), (4, 5), (2, 5)), ((2, 3), (3, 5), (2, 6)), ((3,), (3, 5), (5,))),
    *(((2, 2, 3), (3, 3, 5), (2, 2, 5)), ((2, 3), (3, 5), (1, 2, 5))),
])  # fmt: skip
def test_shapes_that_do_not_fit(a, b, out):
    with pytest.raises(ShapeError, match=r"matrix product of shapes .* into .*\(\.\.\., M, K\)"):
        multiply(of_ones(*a), of_ones(*b), of_ones(*out))


def test_shapes_with_a_bias_that_do_not_fit_and_results_that_are_no_rows():
    a, b = device(of_ones(2, 3)), device(of_ones(3, 4))
    refuses(ShapeError, r"with a bias of shape \(5", product.product, a, b, F16, device(of_ones(5)))
    refuses(ShapeError, r"of shapes \(3, 4\) and \(2, 3\): expected", product.product, b, a, F16)
    with pytest.raises(ShapeError):
        product.product(device(of_ones(3)), a, F16)
    a, zeros = of_ones(3, 3), np.zeros((3, 6), F16)
    for out in zeros[:, :3].T, zeros[:, ::2], zeros[::-1, :3]:
        refuses(ShapeError, "expected rows that are contiguous", multiply, a, a, out)
    one = np.lib.stride_tricks.as_strided(np.zeros((3, 3), F16), (2, 3, 3), (0, 6, 2))
    refuses(ShapeError, "apart from each other", multiply, of_ones(2, 3, 3), a, one)


@pytest.mark.parametrize("a, b, out, compute, said", [
    (F16, F32, F32, "float32", "product of float16 and float32 into float32"),
    (F32, F32, F16, "float32", "float32 into float16, computed in float32"),
    (F16, F16, F32, "float16", "expected two operands of one format, computed in float16"),
    (F64, F64, F64, "float32", "float64 into float64"),
    (F16, F16, F16, "float128", "'float128': expected one of float16, float16_pedantic"),
])  # fmt: skip
def test_formats_that_are_not_multiplied(a, b, out, compute, said):
    with pytest.raises(ArgumentError, match=said):
        multiply(*(of_ones(2, 2, dtype=t) for t in (a, b, out)), compute=compute)


def test_the_table_of_formats_is_that_of_the_imitation(library):
    handle, here = product.current_handle(), memory(256)
    kinds = [np.dtype(t) for t in (F16, F32, F64)]
    for a, b, out, compute in every(kinds, kinds, kinds, COMPUTE_TYPES):
        x, y, z = (Matrix(0, cublas.DATA_TYPES[t.name], 1) for t in (a, b, out))
        call = library.gemm, (handle, COMPUTE_TYPES[compute], (1, 1, 1), here, x, y, z)
        if cublas.supported(a, b, out, compute):
            call[0](*call[1])
            assert cublas.codes(a, b, out, compute) == (x.kind, z.kind, COMPUTE_TYPES[compute])
        else:
            refuses(CublasError, "status 15, NOT_SUPPORTED", call[0], *call[1])


def test_an_error_names_the_call_with_its_sizes_and_formats(library):
    handle, here = product.current_handle(), memory(256)
    good, short = Matrix(0, 2, 4), Matrix(0, 2, 3)
    with pytest.raises(CublasError) as caught:
        library.gemm(handle, 68, (4, 5, 6), here, short, good, good, batch=7)
    assert (caught.value.status, caught.value.name) == (7, "INVALID_VALUE")
    assert isinstance(caught.value, DeviceError)
    for word in "7 times", "(4, 5, 6)", "float16 and float16 into float16", "float32", "3, 4, 4":
        assert word in str(caught.value)
    assert "status 99, UNKNOWN: see the cuBLAS reference" in str(CublasError(99, "call"))


def test_sizes_of_2_to_the_31_take_the_wide_entry_points(library, monkeypatch):
    handle, here = product.current_handle(), memory(256)
    x, far = Matrix(0, 2, 1), Matrix(0, 2, 2**31 + 8)
    for batch in None, 1:
        library.gemm(handle, 68, (1, 1, 1), here, x, far, x, batch=batch)
        told = last_call(library)
        assert (told.wide, told.ldb, told.batched) == (1, 2**31 + 8, batch is not None)
    library.gemm(handle, 68, (1, 1, 1), here, x, x, x)
    assert last_call(library).wide == 0
    monkeypatch.setattr(library, "has_64", False)
    with pytest.raises(ArgumentError, match=r"sizes of 2\^31 and more need cuBLAS 12"):
        library.gemm(handle, 68, (1, 1, 1), here, x, far, x)


MAPS = """\
7f10-7f20 r-xp 00000000 08:01 42    /opt/lib/libcublas.so.12.8.4.1
7f20-7f30 r--p 00000000 08:01 42    /opt/lib/libcublas.so.12.8.4.1
7f30-7f40 r--p 00000000 08:01 43    /opt/lib/libcublasLt.so.12
7f50-7f60 r--p 00000000 08:01 44    /opt/lib/libcudart.so.12
7f70-7f80 rw-p 00000000 00:00 0     [heap]
"""


def put(root, *names):
    paths = [root / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return [str(path) for path in paths]


def search(tmp_path, major=None, platform="linux", maps="", **environment):
    """The candidates in a folder tree, without the plain names at the end."""
    roots, toolkits = [tmp_path / "site", tmp_path / "user"], [tmp_path / "cuda"]
    given = {"environment": environment, "roots": roots, "toolkits": toolkits, "maps": maps}
    found = cublas.candidates(major, platform=platform, **given)
    assert sum(not os.path.dirname(path) for path in found) == 2
    return [path for path in found if os.path.dirname(path)]


def test_what_is_loaded_is_found_in_the_map_of_the_process():
    assert cublas.loaded_libraries(MAPS) == [(12, "/opt/lib/libcublas.so.12.8.4.1")]
    assert cublas.loaded_libraries("") == []


def test_on_linux_what_is_loaded_comes_before_pip_and_pip_before_cuda(tmp_path):
    assert search(tmp_path) == []
    kit = put(tmp_path, "cuda/lib64/libcublas.so.12", "home/lib64/libcublas.so.13")
    own = "nvidia/cublas/lib/libcublas.so.12"
    wheels = put(tmp_path, "site/nvidia/cu13/lib/libcublas.so.13", f"site/{own}", f"user/{own}")
    put(tmp_path / "site/nvidia/cublas", "lib/libcublasLt.so.12", "bin/cublas64_12.dll")
    loaded, home = "/opt/lib/libcublas.so.12.8.4.1", str(tmp_path / "home")
    assert search(tmp_path, maps=MAPS, CUDA_HOME=home) == [loaded, *wheels, kit[1], kit[0]]
    twelve = [loaded, *wheels[1:], kit[0]]
    assert search(tmp_path, 12, maps=MAPS, CUDA_HOME=home) == [*twelve, wheels[0], kit[1]]
    assert search(tmp_path, 13, maps=MAPS)[0] == wheels[0]


def test_on_windows_the_dlls_of_pip_come_before_those_of_cuda(tmp_path):
    kit = put(tmp_path, "v13/bin/x64/cublas64_13.dll", "v13/bin/cublas64_12.dll")
    nvidia = tmp_path / "site/nvidia"
    wheels = put(nvidia, "cu13/bin/x86_64/cublas64_13.dll", "cublas/bin/cublas64_12.dll")
    put(nvidia, "cublas/lib/libcublas.so.12")
    path = str(tmp_path / "v13")
    assert search(tmp_path, platform="win32", CUDA_PATH=path) == [*wheels, *kit]
    found = search(tmp_path, 12, platform="win32", CUDA_PATH=path)
    assert found == [wheels[1], kit[1], wheels[0], kit[0]]


def test_the_loader_is_asked_last_and_where_a_path_is_in_the_environment_nothing_else(tmp_path):
    nowhere = {"environment": {}, "roots": [], "toolkits": []}
    assert cublas.candidates(platform="linux", **nowhere) == ["libcublas.so.13", "libcublas.so.12"]
    dlls = cublas.candidates(12, platform="win32", **nowhere)
    assert dlls == ["cublas64_12.dll", "cublas64_13.dll"]
    assert cublas.candidates(platform="darwin", **nowhere) == ["libcublas.so.13", "libcublas.so.12"]
    put(tmp_path, "site/nvidia/cu13/lib/libcublas.so.13")
    (own,) = put(tmp_path, "own/libcublas.so")
    given = {"platform": "linux", "roots": [tmp_path / "site"], "maps": MAPS}
    assert cublas.candidates(environment={"MINIFP_CUBLAS": own}, **given) == [own]
    with pytest.raises(DeviceError, match="MINIFP_CUBLAS=.*: no such file; expected the path of"):
        cublas.candidates(environment={"MINIFP_CUBLAS": own + "x"}, **given)


def test_the_first_candidate_that_loads_is_taken(library, tmp_path):
    (damaged,) = put(tmp_path, "libcublas.so.13")
    assert load(tried=[damaged, library.path]).path == library.path
    assert load().path == library.path  # of MINIFP_CUBLAS
    assert repr(load()) == f"<cuBLAS {library.path}>"


@pytest.mark.parametrize("major, package", [(13, "nvidia-cublas"), (12, "nvidia-cublas-cu12")])
def test_where_there_is_none_the_error_says_what_was_tried_and_what_to_install(major, package):
    with pytest.raises(DeviceError) as caught:
        load(major, tried=["/nowhere/libcublas.so.13", "libcublas_of_nobody.so"])
    assert "/nowhere/libcublas.so.13" in str(caught.value)
    assert "libcublas_of_nobody.so" in str(caught.value)
    assert f"pip install {package}, or set MINIFP_CUBLAS" in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="a library that every Linux has")
def test_a_library_that_is_not_cublas():
    refuses(DeviceError, "has no cublasCreate_v2: expected cuBLAS 11 or", load, tried=["libc.so.6"])
