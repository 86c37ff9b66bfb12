"""Products of float8 by cublasLt: what it is asked, what comes of it, and when it is not asked.

The library is an imitation of its C entries (fake_cublas_lt.cpp); its numbers are held against
cublasLt.h where that is installed.
"""

import ctypes
import os
import re
import sys
import warnings
from pathlib import Path

import build
import numpy as np
import pytest
from real_gpu import IMITATED
from refusals import refuses

import minifp as fp
from minifp import nn
from minifp.errors import ArgumentError, DeviceError
from minifp.numerics.formats import as_dtype, downcast, float32, format_of, upcast
from minifp.numerics.operands import CURRENT, ROW, Rounding, rounded
from minifp.runtime import callers
from minifp.runtime.cuda import capturing, cublas, cublas_lt, float8_products, math_modes, product
from minifp.runtime.cuda.arrays import empty, to_device, to_host
from minifp.runtime.cuda.cublas_lt import E4M3, E5M2, PAIRS, RESULTS, Problem
from minifp.runtime.cuda.float8_trial import INNER
from minifp.runtime.cuda.noted import noted

FIELDS = "m n k a b d fast schemes workspace aligned stream calls asked alive"


class Call(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in FIELDS.split()]


@pytest.fixture(autouse=True)
def nothing_known(gpu, monkeypatch):
    """No mode is chosen yet, and no device tried; cublasLt is the imitation where the GPU is."""
    if IMITATED:
        monkeypatch.setenv("MINIFP_CUBLAS_LT", str(build.library("fake_cublas_lt.cpp")))
    monkeypatch.delenv("MINIFP_GPU_MATH", raising=False)
    monkeypatch.setattr(math_modes, "_chosen", None)
    monkeypatch.setattr(float8_products, "libraries", {})
    monkeypatch.setattr(callers, "told", type(callers.told)())


@pytest.fixture
def library(nothing_known):
    if not IMITATED:
        pytest.skip("what is asked of cublasLt is looked at on the imitation")
    made = ctypes.CDLL(os.environ["MINIFP_CUBLAS_LT"])
    yield made
    made.fake_lt_bits(ctypes.c_int64(0))
    made.fake_lt_refuse(ctypes.c_int64(0))
    assert last_call(made).alive == 0  # descriptors, all of which were destroyed


def last_call(library):
    found = Call()
    library.fake_lt_last(ctypes.byref(found))
    return found


def calls(library):
    return last_call(library).calls


def numbers(shape, seed=0, stored="float16"):
    wide = np.random.default_rng(seed).standard_normal(shape)
    return to_device(downcast(wide, as_dtype(stored)))


def as_operand(x, name=E4M3, scale=CURRENT):
    return rounded(x, Rounding(format_of(name), scale), (-1,))


def exact(a, b):
    return np.matmul(*(upcast(to_host(x), float32).astype(np.float64) for x in (a, b)))


def bound(a, b, out):
    """Of a sum of K products in float32, each cut as tensor cores do, rounded to the format of
    `out` (Higham, 3.1)."""
    wide = [np.abs(upcast(to_host(x), float32).astype(np.float64)) for x in (a, b)]
    sums, format = a.shape[-1] * 2.0**-23 * np.matmul(*wide), format_of(out.dtype)
    return 1.01 * sums + format.eps / 2 * np.abs(exact(a, b)) + format.smallest_subnormal


def of_codes(pair, result):
    a = as_operand(numbers((2, 16, 48), 1), pair[0])
    b = as_operand(numbers((32, 48), 2) * np.float16(2**-9), pair[1]).T
    return a, b, product.multiply(a, b, empty((2, 16, 32), as_dtype(result)))


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.filterwarnings(f"{'error' if IMITATED else 'ignore'}:GPU math 'float8'")
def test_products_of_codes_are_those_of_the_operands_with_sums_in_float32(pair):
    """Also on a GPU, where the trial may refuse the mode with a warning, as on the H100. The
    library is asked for the transposed product."""
    try:
        fp.set_gpu_math("float8")
    except DeviceError as error:
        pytest.skip(str(error))
    for result in RESULTS:
        a, b, out = of_codes(pair, result)
        error = np.abs(upcast(to_host(out), float32) - exact(a, b))
        assert np.all(error <= bound(a, b, out)), result
        if IMITATED:
            call = last_call(ctypes.CDLL(os.environ["MINIFP_CUBLAS_LT"]))
            assert (call.m, call.n, call.k) == (32, 32, 48)
            types = [cublas_lt.TYPES[name] for name in (*reversed(pair), result)]
            assert [call.a, call.b, call.d] == types
            assert (call.fast, call.schemes) == (0, cublas_lt.REDUCTION_SCHEME_COMPUTE_TYPE)
            assert call.workspace % 256 == 0 and call.aligned == 256


@pytest.mark.parametrize("layout", ["rows", "columns", "slices"])
def test_operands_may_lie_in_any_way(layout, library):
    fp.set_gpu_math("float8")
    a, b = as_operand(numbers((32, 32), 1)), as_operand(numbers((32, 64), 2))
    views = {"rows": (a, b), "columns": (a.T, b[:, :32].T), "slices": (a[:16], b[:, ::2])}
    a, b = views[layout]
    before, out = calls(library), product.product(a, b, float32)
    assert np.all(np.abs(to_host(out) - exact(a, b)) <= bound(a, b, out))
    assert calls(library) > before


def test_alpha_and_a_bias_enter_before_the_only_rounding(library):
    fp.set_gpu_math("float8")
    a, b, bias = as_operand(numbers((16, 16), 1)), as_operand(numbers((16, 16), 2)), numbers(16, 3)
    out = to_host(product.product(a, b, np.dtype("float16"), bias, alpha=0.5))
    expected = 0.5 * exact(a, b) + to_host(bias)
    sums = 18 * 2.0**-24 * (np.abs(to_host(a)) @ np.abs(to_host(b)) + np.abs(to_host(bias)))
    assert np.all(np.abs(out - expected) <= sums + 2.0**-11 * np.abs(expected) + 2.0**-25)
    assert calls(library)


def whole(shape, seed):
    """Small whole numbers, of which all sums below are exact in float32, in any order."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32)


@pytest.mark.parametrize("precision", ["float8", "float8,saved=operands"])
def test_gradients_of_a_model_are_those_in_16_bits_where_sums_are_exact(precision, library):
    def gradients(mode):
        fp.set_gpu_math(mode)
        with fp.precision(precision):
            model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
            for seed, parameter in enumerate(model.parameters()):
                parameter.data = fp.tensor(whole(parameter.shape, seed))
            y = model.to("cuda")(fp.tensor(whole((16, 32), 9)).to("cuda"))
            (y * y).sum().backward()
            return [to_host(p.grad.array).tobytes() for p in model.parameters()]

    theirs, before, held = gradients("tensor_cores"), calls(library), set(noted)
    assert gradients("float8") == theirs
    trial = len(PAIRS) * len(RESULTS)
    # Forward, and for the gradients of weights, in both layers; for those of activations in one.
    assert calls(library) - before == trial + 5
    assert set(noted) <= held  # nothing is held of arrays that are gone


@pytest.mark.parametrize("refused", [0, 32])
def test_a_captured_step_repeats_them(refused, library):
    """Whose first step is the first use, and has the trial in it; also without an algorithm."""
    fp.set_gpu_math("float8")
    library.fake_lt_refuse(ctypes.c_int64(refused))
    with fp.precision("float8"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        layer, x = nn.Linear(32, 16).to("cuda"), fp.randn(16, 32).to("cuda")
        step, start = fp.capture(lambda x: layer(x).sum()), calls(library)
        losses = [step(x).item() for _ in range(5)]
        trial, before = len(PAIRS) * len(RESULTS), calls(library)
        assert (losses, before - start > trial) == ([layer(x).sum().item()] * 5, not refused)
        before = calls(library)
        assert step(x).item() == losses[0] and calls(library) == before  # by the graph alone


def test_a_stream_that_captures_neither_opens_the_library_nor_meets_a_new_problem(library):
    fp.set_gpu_math("float8")
    a, b = as_operand(numbers((16, 16), 1)), as_operand(numbers((16, 16), 2))
    higher, below = as_operand(numbers((48, 16))), empty((48, 16), float32)
    out, before = empty((16, 16), float32), calls(library)
    with capturing.noting(capturing.Notes(captures=True)):
        product.multiply(a, b, out)
    assert not float8_products.libraries and calls(library) == before
    product.multiply(a, b, out)
    before = calls(library)
    with capturing.noting(capturing.Notes(captures=True)):
        product.multiply(a, b, out)
        assert calls(library) == before + 1
        product.multiply(higher, b, below)
    assert calls(library) == before + 1


SIXTEEN = "tensor_cores", "plain", "one", "row", "sizes", "both E5M2", "batch", "float16 sums"


@pytest.mark.parametrize("case", [*SIXTEEN, "address"])
def test_everything_else_is_multiplied_in_16_bits(case, library):
    fp.set_gpu_math("tensor_cores" if case == "tensor_cores" else "float8")
    a, b, out, sums = numbers((16, 32), 1), numbers((32, 16), 2), None, "float32"
    if case == "batch":
        a, b = numbers((2, 16, 32), 1), numbers((2, 32, 16), 2)
    if case == "sizes":
        a = numbers((10, 32), 1)
    if case != "plain":
        a = as_operand(a, E5M2 if case == "both E5M2" else E4M3, ROW if case == "row" else CURRENT)
    if case not in ("plain", "one"):
        b = as_operand(b, E5M2 if case == "both E5M2" else E4M3)
    if case == "float16 sums":
        sums = "float16"
    out = to_device(np.zeros((*a.shape[:-1], 16), np.float32 if sums == "float32" else np.float16))
    if case == "address":
        out = to_device(np.zeros(16 * 16 + 1, np.float32))[1:].reshape(16, 16)
    before = calls(library)
    product.multiply(a, b, out, compute=sums)
    assert calls(library) == before
    if sums == "float32":
        assert np.all(np.abs(to_host(out) - exact(a, b)) <= bound(a, b, out))


def test_a_problem_without_an_algorithm_is_told_once(library):
    fp.set_gpu_math("float8")
    library.fake_lt_refuse(ctypes.c_int64(96))
    a, b = as_operand(numbers((16, 96), 1)), as_operand(numbers((96, 16), 2))
    with pytest.warns(RuntimeWarning, match="cublasLt has no algorithm for a product m, n, k"):
        out = product.product(a, b, float32)
    again, before = product.product(a, b, float32), last_call(library).asked
    product.product(a, b, float32)
    assert last_call(library).asked == before  # nor is the library asked again
    assert np.array_equal(to_host(out), to_host(again))
    assert np.all(np.abs(to_host(out) - exact(a, b)) <= bound(a, b, out))


@pytest.mark.parametrize("bits, is_refused", [(24, False), (22, False), (14, True), (11, True)])
def test_sums_of_fewer_bits_than_float32_are_refused_for_good(bits, is_refused, library):
    """Two bits less are within the bound, which is that of the worst order."""
    fp.set_gpu_math("float8")
    library.fake_lt_bits(ctypes.c_int64(bits))
    a, b = as_operand(numbers((16, 16), 1)), as_operand(numbers((16, 16), 2))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        product.product(a, b, float32)
        before, out = calls(library), product.product(a, b, float32)
    assert calls(library) == before + (not is_refused)
    assert [str(w.message).partition(";")[0] for w in said if "float8" in str(w.message)] == (
        [f"GPU math 'float8': sums of {E4M3} and {E4M3} by cublasLt, into float16, differ from "
         f"those in 16 bits by up to {times(said)} times what the order of float32 sums can change"]
        if is_refused else []
    )  # fmt: skip
    if is_refused:
        assert np.all(np.abs(to_host(out) - exact(a, b)) <= bound(a, b, out))


def test_a_library_without_algorithms_for_the_trial_is_refused(library):
    fp.set_gpu_math("float8")
    library.fake_lt_refuse(ctypes.c_int64(INNER))
    a, b = as_operand(numbers((16, 16), 1)), as_operand(numbers((16, 16), 2))
    with pytest.warns(RuntimeWarning, match="cublasLt has no algorithm for .* from now on"):
        out = product.product(a, b, float32)
    assert float8_products.libraries == {0: None}
    assert np.all(np.abs(to_host(out) - exact(a, b)) <= bound(a, b, out))


def times(said):
    return re.search(r"up to (\S+) times", str(said[0].message))[1]


@pytest.mark.parametrize("wrong", ["FAST_ACCUM", "schemes", "scale"])
def test_a_setting_that_is_lost_is_found_by_the_trial(wrong, library, monkeypatch):
    fp.set_gpu_math("float8")
    if wrong == "schemes":
        monkeypatch.setattr(cublas_lt, "REDUCTION_SCHEME_COMPUTE_TYPE", 7)
    else:
        changed = {"FAST_ACCUM": ctypes.c_int8(1), "scale": ctypes.c_void_p(0)}[wrong]
        where = cublas_lt.FAST_ACCUM if wrong == "FAST_ACCUM" else cublas_lt.A_SCALE_POINTER
        plain = cublas_lt.CublasLt._set

        def changing(self, kind, made, attribute, value):
            is_it = kind == "MatmulDesc" and attribute == where
            plain(self, kind, made, attribute, changed if is_it else value)

        monkeypatch.setattr(cublas_lt.CublasLt, "_set", changing)
    with pytest.warns(RuntimeWarning, match="by cublasLt, into float16, differ from those"):
        product.product(as_operand(numbers((16, 16))), as_operand(numbers((16, 16))), float32)


def test_the_mode_is_refused_where_the_card_or_the_library_cannot(library, monkeypatch, tmp_path):
    monkeypatch.setattr("fake_cupy.Device.compute_capability", "86")
    refuses(DeviceError, "Ampere .* has no tensor cores for float8", fp.set_gpu_math, "float8")
    monkeypatch.setattr("fake_cupy.Device.compute_capability", "89")
    for path, said in (
        (str(tmp_path / "none.so"), "MINIFP_CUBLAS_LT=.*: no such file; expected the path of"),
        (str(build.library("fake_cublas.cpp")), "has no cublasLtCreate: set MINIFP_CUBLAS_LT to"),
    ):
        monkeypatch.setenv("MINIFP_CUBLAS_LT", path)
        refuses(DeviceError, said, fp.set_gpu_math, "float8")
    text = tmp_path / "libcublasLt.so.12"
    text.write_text("no library", encoding="utf-8")
    monkeypatch.setenv("MINIFP_CUBLAS_LT", str(text))
    monkeypatch.setenv("MINIFP_GPU_MATH", "float8")
    refuses(DeviceError, "MINIFP_GPU_MATH: set_gpu_math.'float8'.: no cublasLt: ", fp.get_gpu_math)


def test_a_card_that_cannot_beside_one_that_can_is_told_once(library, monkeypatch):
    fp.set_gpu_math("float8")
    monkeypatch.setattr("fake_cupy.Device.compute_capability", "86")
    with pytest.warns(RuntimeWarning, match="no tensor cores for float8.*16 bits on device 0 from"):
        product.product(as_operand(numbers((16, 16))), as_operand(numbers((16, 16))), float32)
    assert float8_products.libraries == {0: None}


def test_the_library_is_looked_for_beside_cublas(monkeypatch):
    for path, expected in (
        ("/usr/lib/libcublas.so.12.4.5", "/usr/lib/libcublasLt.so.12.4.5"),
        ("libcublas.so.13", "libcublasLt.so.13"),
        ("/x/cublas/bin/cublas64_12.dll", "/x/cublas/bin/cublasLt64_12.dll"),
    ):
        assert cublas_lt.beside(path) == expected
    monkeypatch.delenv("MINIFP_CUBLAS_LT", raising=False)
    monkeypatch.setattr(
        cublas_lt, "load", lambda major: type("Found", (), {"path": "/a/libcublas.so.12"})
    )
    assert cublas_lt.located(12) == "/a/libcublasLt.so.12"


def test_what_the_library_does_not_multiply_is_refused_before_it_is_asked(library):
    made = cublas_lt.CublasLt(cublas_lt.located())
    for names, sizes, said in (
        ((E5M2, E5M2, "float32"), (16, 16, 16), "expected operands of float8_e4m3fn and float8_e4"),
        ((E4M3, E4M3, "float64"), (16, 16, 16), "and a result of float16, bfloat16, float32"),
        ((E4M3, E4M3, "float32"), (16, 16, 24), "multiples of 16"),
    ):
        problem, asked = Problem(*names, sizes, 256, 4096), last_call(library).asked
        with pytest.raises(ArgumentError, match=said):
            made.multiply(problem, (0, 0, 0), (0, 0), alpha=1, beta=0, workspace=0, stream=0)
        assert last_call(library).asked == asked
    assert [cublas_lt.alignment(n) for n in (16, 48, 4096, 0)] == [16, 16, 256, 256]


HEADER = "nvidia/*/include/cublasLt.h"
WHEELS = [f"{cublas.WHEELS['linux', n]}/libcublasLt.so.{n}" for n in cublas.MAJORS]
NAMES = {  # by our name, what the header calls it
    **{name: f"CUBLASLT_MATMUL_DESC_{name}" for name in ("TRANSA", "TRANSB", "FAST_ACCUM")},
    **{f"{x}_SCALE_POINTER": f"CUBLASLT_MATMUL_DESC_{x}_SCALE_POINTER" for x in "AB"},
    **{name: f"CUBLASLT_MATMUL_PREF_{name}"
       for name in ("MAX_WORKSPACE_BYTES", "REDUCTION_SCHEME_MASK",
                    "MIN_ALIGNMENT_C_BYTES", "MIN_ALIGNMENT_D_BYTES")},
    "REDUCTION_SCHEME_COMPUTE_TYPE": "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE",
}  # fmt: skip


def test_numbers_are_those_of_the_header():
    roots = [*map(Path, filter(None, sys.path)), Path("/usr/local/cuda/include")]
    found = [path for root in roots for path in (*root.glob(HEADER), *root.glob("cublasLt.h"))]
    if not found:
        pytest.skip("no cublasLt.h: pip install nvidia-cublas")
    text = found[0].read_text(encoding="utf-8")
    for ours, theirs in NAMES.items():
        said = re.search(rf"\b{theirs} = (\d+),", text)
        assert said and int(said[1]) == getattr(cublas_lt, ours), ours
    assert re.search(r"uint64_t data\[8\];\s*} cublasLtMatmulAlgo_t;", text)
    assert (
        ctypes.sizeof(cublas_lt.Algorithm) == 64 and ctypes.sizeof(cublas_lt.HeuristicResult) == 96
    )
    fields = text[text.index("cublasLtMatmulAlgo_t algo;") : text.index("} cublasLtMatmulHeur")]
    declared = re.findall(r"^ *(\S+) (\w+)(?:\[\d\])?;", fields, re.MULTILINE)
    assert declared == [
        *(("cublasLtMatmulAlgo_t", "algo"), ("size_t", "workspaceSize")),
        *(("cublasStatus_t", "state"), ("float", "wavesCount"), ("int", "reserved")),
    ]


def test_the_library_itself_takes_the_descriptors_without_a_gpu():
    found = [path for root in sys.path for name in WHEELS if (path := Path(root, name)).is_file()]
    if not found:
        pytest.skip("no cublasLt: pip install nvidia-cublas")
    made = object.__new__(cublas_lt.CublasLt)  # a handle is refused without a GPU
    made.library = cublas_lt.opened(str(found[0]))
    read, size = made.library.cublasLtMatmulDescGetAttribute, ctypes.c_size_t()
    with made._operation((4096, 8192)) as operation:
        for attribute, kind, expected in (
            *((cublas_lt.TRANSA, ctypes.c_int32, 1), (cublas_lt.TRANSB, ctypes.c_int32, 0)),
            (cublas_lt.A_SCALE_POINTER, ctypes.c_void_p, 4096),
            (cublas_lt.B_SCALE_POINTER, ctypes.c_void_p, 8192),
            (cublas_lt.FAST_ACCUM, ctypes.c_int8, 0),
        ):
            value = kind()
            given = ctypes.byref(value), ctypes.sizeof(value), ctypes.byref(size)
            assert read(operation, attribute, *given) == 0 and (value.value or 0) == expected
    for layout in Problem(E4M3, E5M2, "bfloat16", (16, 32, 48), 256, 4096).layouts:
        with made._layout(layout) as held:
            assert held.value
