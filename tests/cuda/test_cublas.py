"""Matrix products through the binding to cuBLAS, on an imitation of it that runs on the CPU.

The imitation (fake_cublas.cpp) has the same entry points and checks arguments as cuBLAS does. What
it cannot tell is how fast a GPU is and in what order it adds.
"""

import ctypes
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from bounds import excess

from minifp.errors import ArgumentError, DeviceError, ShapeError
from minifp.runtime.cuda import arrays, cublas, math_modes, product
from minifp.runtime.cuda.cublas import (
    COMPUTE_TYPES,
    CublasError,
    Handles,
    Matrix,
    candidates,
    codes,
    load,
    loaded_libraries,
    supported,
)
from minifp.runtime.cuda.product import multiply

HERE = Path(__file__).resolve().parent
COMPILER = shutil.which("g++") or shutil.which("clang++")
if COMPILER is None and not os.environ.get("CI"):  # CI must have one: there the build fails
    pytest.skip("no C++ compiler (g++ or clang++)", allow_module_level=True)

F16, F32, F64 = np.float16, np.float32, np.float64


# ---- the imitation ------------------------------------------------------------------------------


def built():
    """The path of the imitation, compiled again only if its text has changed."""
    sources = [HERE / "fake_cublas.cpp", HERE / "runtime.cpp", HERE / "runtime.h"]
    text = b"".join(path.read_bytes() for path in sources)
    name = f"minifp-fake-cublas-{hashlib.sha256(text).hexdigest()[:16]}.so"
    target = Path(tempfile.gettempdir()) / name
    if not target.is_file():
        made = target.with_suffix(f".{os.getpid()}")
        options = ["-std=c++17", "-O2", "-fPIC", "-shared", "-w", "-o", str(made)]
        command = [COMPILER or "g++", *options, *map(str, sources[:2])]
        subprocess.run(command, check=True)
        os.replace(made, target)
    return str(target)


class Call(ctypes.Structure):
    """What the imitation tells of its last product."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in (
            "m n k lda ldb ldc stride_a stride_b stride_c batch ta tb at bt ct compute algo "
            "math_mode workspace workspace_bytes stream wide batched calls"
        ).split()
    ]


class Device:
    """An array as CuPy's, with the attributes that products need, over one of NumPy."""

    def __init__(self, array):
        self.array, self.data = array, SimpleNamespace(ptr=array.ctypes.data)
        self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype
        self.ndim, self.itemsize, self.size = array.ndim, array.itemsize, array.size

    def copy(self):
        """A C-contiguous copy."""
        return Device(self.array.copy())

    def fill(self, value):
        self.array.fill(value)

    def __setitem__(self, where, value):
        self.array[where] = value.array if isinstance(value, Device) else value


class Memory:
    """Memory of a device, aligned as that of a GPU."""

    def __init__(self, size):
        self.held = np.empty(size + 256, np.uint8)
        self.ptr = self.held.ctypes.data + -self.held.ctypes.data % 256


@pytest.fixture(scope="module")
def library():
    return load(tried=[built()])


@pytest.fixture(autouse=True)
def device(library, monkeypatch):
    """A device with the imitation behind it: an object like the module cupy."""
    state = SimpleNamespace(id=0, stream=0, capability="90", allocated=[])

    def alloc(size):
        state.allocated.append(size)
        return Memory(size)

    cuda = SimpleNamespace(
        Device=lambda number=None: SimpleNamespace(
            id=state.id, compute_capability=state.capability
        ),
        get_current_stream=lambda: SimpleNamespace(ptr=state.stream),
        alloc=alloc,
        using_allocator=lambda allocator: nullcontext(),
        runtime=SimpleNamespace(runtimeGetVersion=lambda: 12080),
    )
    monkeypatch.setattr(
        arrays,
        "cupy",
        lambda: SimpleNamespace(
            cuda=cuda, get_default_memory_pool=lambda: SimpleNamespace(malloc=alloc)
        ),
    )
    monkeypatch.setattr(arrays, "empty", lambda shape, dtype: poisoned(shape, dtype))
    monkeypatch.setattr(
        *(product, "in_format"),
        lambda x, dtype: Device(x.array.astype(dtype)) if x.dtype != dtype else x,
    )
    monkeypatch.setenv("MINIFP_CUBLAS", library.path)
    product.handles.cache_clear()
    yield state
    product.handles().close()
    product.handles.cache_clear()
    assert library.library.fake_handles() == 0


def poisoned(shape, dtype):
    """Memory as it comes: full of what must not be read."""
    return Device(np.full(shape, np.nan, dtype))


def last_call(library):
    told = Call()
    library.library.fake_last_call(ctypes.byref(told))
    return told


def exact(a, b, alpha=1.0, before=0.0):
    """(the product in float64, the sum of the products' magnitudes)."""
    a, b, before = (np.asarray(x).astype(F64) for x in (a, b, before))
    return alpha * (a @ b) + before, abs(alpha) * (np.abs(a) @ np.abs(b)) + np.abs(before)


def within_bound(out, a, b, alpha=1.0, before=0.0):
    """Whether a product is within half an ulp and c 2^-24 of the sum of magnitudes."""
    return np.all(excess(out, *exact(a, b, alpha, before), addends=a.shape[-1] + 1) <= 1)


# ---- all layouts --------------------------------------------------------------------------------


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
    "one": ((), (), ()),
    "batch": ((3,), (3,), (3,)),
    "one b": ((4,), (), (4,)),
    "one a": ((), (4,), (4,)),
    "two axes": ((2, 3), (2, 3), (2, 3)),
    "broadcast": ((2, 1), (3,), (2, 3)),
    "outer": ((2, 3), (2, 1), (2, 3)),
    "axes of one": ((1, 3), (1,), (1, 3)),
    "three axes": ((2, 1, 3), (1, 4, 1), (2, 4, 3)),
}


def tolerance(out, a, b, compute, before=0.0):
    """Whether a result is as near the exact one as the compute type gets."""
    if compute == "float16":
        y, magnitude = exact(a, b, before=before)
        return np.all(np.abs(out - y) <= (a.shape[-1] + 2) * 2.0**-10 * magnitude + 2.0**-20)
    if compute == "tf32" and a.dtype == F32:
        y, magnitude = exact(a, b, before=before)
        return np.all(np.abs(out - y) <= 2.0**-9 * magnitude)
    if out.dtype == F64:
        return np.allclose(out, exact(a, b, before=before)[0], rtol=1e-13, atol=1e-13)
    return within_bound(out, a, b, before=before)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(
    "formats", FORMATS, ids=lambda f: f"{f[0].__name__}-{f[1].__name__}-{f[2]}"
)
def test_every_layout_batch_format_and_size(formats, batch):
    generator = np.random.default_rng(5)
    stored, result, compute = formats
    lead_a, lead_b, lead = BATCHES[batch]
    sizes = SIZES if batch in ("one", "batch") else SIZES[:3]
    for (m, n, k), one, other in itertools.product(sizes, LAYOUTS, LAYOUTS):
        a = laid_out((*lead_a, m, k), one, stored, generator)
        b = laid_out((*lead_b, k, n), other, stored, generator)
        for rows, accumulate in itertools.product(("rows", "wide rows"), (False, True)):
            out = laid_out((*lead, m, n), rows, result, generator)
            before = out.copy() if accumulate else 0.0
            if not accumulate:
                out[...] = np.nan  # nothing of it may be read
            given = multiply(
                Device(a), Device(b), Device(out), compute=compute, accumulate=accumulate
            )
            where = (m, n, k, one, other, rows, accumulate)
            assert given.array is out and tolerance(out, a, b, compute, before), where


@pytest.mark.parametrize("place", ["rows", "wide rows"])
def test_what_lies_beside_the_result_is_not_touched(place):
    wide = np.full((3, 9, 11), 7, F32)
    out = wide[:, 2:6, 3:8]
    a, b = np.ones((3, 4, 6), F32), np.ones((3, 6, 5), F32)
    multiply(Device(a), Device(b), Device(out))
    assert np.all(out == 6)
    out[...] = 7
    assert np.all(wide == 7)


@pytest.mark.parametrize("stored, result", [(F16, F16), (F16, F32), (F32, F32)])
def test_long_sums_stay_within_the_bound(stored, result):
    generator = np.random.default_rng(3)
    for m, n, k in [(65, 33, 4096), (130, 70, 700), (1, 64, 5000)]:
        a = generator.standard_normal((m, k)).astype(stored)
        b = generator.standard_normal((k, n)).astype(stored)
        out = np.full((m, n), np.nan, result)
        multiply(Device(a), Device(b), Device(out))
        assert within_bound(out, a, b)


def test_alpha_is_applied_before_the_only_rounding():
    generator = np.random.default_rng(4)
    a, b = (generator.standard_normal((16, 16)).astype(F16) for _ in range(2))
    out = np.zeros((16, 16), F16)
    multiply(Device(a), Device(b), Device(out), alpha=0.3)
    assert within_bound(out, a, b, alpha=float(F32(0.3)))


def test_float16_sums_that_overflow_in_float16_do_not_in_float32():
    a = np.full((4, 4), 300, F16)
    out = np.zeros((4, 4), F32)
    multiply(Device(a), Device(a), Device(out))
    assert np.all(out == 360_000)


# ---- how many calls -----------------------------------------------------------------------------


def calls_of(library, a, b, out, **how):
    """(how many calls a product took, the last of them)."""
    before = last_call(library).calls
    multiply(Device(a), Device(b), Device(out), **how)
    told = last_call(library)
    return told.calls - before, told


def test_leading_axes_are_one_batch_where_strides_allow_it(library):
    a, b = np.ones((2, 3, 4, 5), F16), np.ones((2, 3, 5, 6), F16)
    count, told = calls_of(library, a, b, np.zeros((2, 3, 4, 6), F16))
    assert (count, told.batch, told.batched) == (1, 6, 1)
    assert (told.m, told.n, told.k, told.stride_a, told.stride_b) == (6, 4, 5, 30, 20)


def test_a_batch_with_one_matrix_is_one_tall_product(library):
    a, b = np.ones((2, 3, 4, 5), F16), np.ones((5, 6), F16)
    count, told = calls_of(library, a, b, np.zeros((2, 3, 4, 6), F16))
    assert (count, told.batched, told.m, told.n, told.k) == (1, 0, 6, 24, 5)
    count, told = calls_of(library, a, b[None, None], np.zeros((2, 3, 4, 6), F16))
    assert (count, told.batched, told.n) == (1, 0, 24)
    steps = np.ones((7, 3, 1, 5), F16)[::2]  # rows that lie apart
    count, told = calls_of(library, steps[:, 0], b, np.zeros((4, 1, 6), F16))
    assert (count, told.batched, told.n, told.ldb) == (1, 0, 4, 30)


def test_what_cannot_be_one_tall_matrix_is_a_batch(library):
    wide = np.ones((3, 8, 5), F16)
    count, told = calls_of(library, wide[:, :4], np.ones((5, 6), F16), np.zeros((3, 4, 6), F16))
    assert (count, told.batch, told.stride_a, told.stride_b) == (1, 3, 0, 40)
    turned = np.ones((3, 5, 4), F16).swapaxes(-1, -2)
    count, told = calls_of(library, turned, np.ones((5, 6), F16), np.zeros((3, 4, 6), F16))
    assert (count, told.batch, told.tb, told.stride_a) == (1, 3, 1, 0)


def test_axes_that_are_not_one_are_a_batch_of_the_longest_and_loops(library):
    a, b = np.ones((2, 1, 4, 5), F16), np.ones((7, 5, 6), F16)
    out = np.zeros((2, 7, 4, 6), F16)
    count, told = calls_of(library, a, b, out)
    assert (count, told.batch) == (2, 7) and np.all(out == 5)


def test_heads_of_attention_are_read_in_place(library):
    """(B, T, H, D) seen as (B, H, T, D): no copies, a call for each of B or H."""
    generator = np.random.default_rng(6)
    q, k = (generator.standard_normal((2, 5, 3, 4)).astype(F16).swapaxes(1, 2) for _ in range(2))
    out = np.zeros((2, 3, 5, 5), F16)
    count, told = calls_of(library, q, k.swapaxes(-1, -2), out)
    assert (count, told.batch, told.ldb) == (2, 3, 12)
    assert within_bound(out, q, k.swapaxes(-1, -2))


def test_operands_are_copied_only_where_they_must_be(monkeypatch):
    copies = []
    monkeypatch.setattr(Device, "copy", lambda self: copies.append(self) or Device(self.array + 0))
    generator = np.random.default_rng(1)
    for one, other in itertools.product(LAYOUTS, LAYOUTS):
        a, b = (laid_out((2, 4, 4), how, F16, generator) for how in (one, other))
        multiply(Device(a), Device(b), Device(np.zeros((2, 4, 4), F16)))
        assert len(copies) == sum(how in ("every other", "backwards") for how in (one, other))
        copies.clear()
    once = np.broadcast_to(np.ones(4, F16), (4, 4))  # rows one upon the other
    multiply(Device(once), Device(once), Device(np.zeros((4, 4), F16)))
    assert len(copies) == 2
    windows = np.lib.stride_tricks.sliding_window_view(np.ones(9, F16), 4)
    multiply(Device(windows), Device(np.ones((4, 2), F16)), Device(np.zeros((6, 2), F16)))
    assert len(copies) == 3
    backwards = np.ones((3, 4, 4), F16)[::-1]  # cuBLAS says nothing of batches that go backwards
    multiply(Device(backwards), Device(once.copy()), Device(np.zeros((3, 4, 4), F16)))
    assert len(copies) == 4


def test_matrices_of_one_row_may_lie_one_upon_another(library):
    """No tall matrix has such rows, but a batch of its own may be read so: nothing is copied."""
    a = np.lib.stride_tricks.sliding_window_view(np.arange(9).astype(F16), 4)[:, None]
    b, out = np.ones((4, 2), F16), np.zeros((6, 1, 2), F16)
    count, told = calls_of(library, a, b, out)
    assert (count, told.batch, told.stride_b) == (1, 6, 1)
    assert np.array_equal(out, a @ b)


# ---- nothing to do ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, other", [((0, 3), (3, 4)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 4)), ((2, 0, 3), (3, 4))]
)
def test_an_empty_result_is_no_call(library, shape, other):
    a, b = np.ones(shape, F16), np.ones(other, F16)
    assert calls_of(library, a, b, np.zeros((*shape[:-1], other[-1]), F16))[0] == 0


@pytest.mark.parametrize("lead", [(), (3,)])
def test_a_sum_of_no_products_is_0_or_what_was_there(library, lead):
    a, b = np.ones((*lead, 2, 0), F16), np.ones((0, 4), F16)
    out = np.full((*lead, 2, 4), np.nan, F16)
    assert calls_of(library, a, b, out)[0] == 0 and np.all(out == 0)
    out[...] = 3
    assert calls_of(library, a, b, out, accumulate=True)[0] == 0 and np.all(out == 3)


# ---- roundings ----------------------------------------------------------------------------------


def test_with_beta_0_a_nan_in_the_result_does_not_leak():
    for compute, dtype in ("float32", F16), ("float16", F16), ("tf32", F32), ("float64", F64):
        out = np.full((3, 3), np.nan, dtype)
        multiply(
            Device(np.ones((3, 3), dtype)),
            Device(np.eye(3, dtype=dtype)),
            Device(out),
            compute=compute,
        )
        assert np.all(out == 1)


def test_a_nan_in_an_operand_does_leak():
    a = np.ones((3, 3), F16)
    a[1, 1] = np.nan
    out = np.zeros((3, 3), F16)
    multiply(Device(a), Device(np.ones((3, 3), F16)), Device(out))
    assert np.all(np.isnan(out[1])) and np.all(out[[0, 2]] == 3)


ONE_AND_A_BIT = np.array([[1, 2**-11]], F16)  # 1 + 2^-11 lies halfway between two halves


@pytest.mark.parametrize("bias", [F16, F32])
def test_the_bias_enters_before_the_only_rounding(bias):
    """1 + 2^-11 rounds to 1, and 1 + 2^-12 after it too; but their sum is more than halfway."""
    a, b = Device(ONE_AND_A_BIT), Device(np.ones((2, 1), F16))
    twice = (F32(1) + F32(2**-11)).astype(F16) + F16(2**-12)
    y = product.product(a, b, F16, Device(np.array([2**-12], bias)))
    assert (twice, y.array[0, 0], y.dtype) == (1, F16(1 + 2**-10), F16)


@pytest.mark.parametrize("compute", ["float32", "float16"])
@pytest.mark.parametrize("result", [F16, F32])
@pytest.mark.parametrize("bias", [F16, F32, None])
@pytest.mark.parametrize("lead", [(), (2, 3)])
def test_products_with_a_bias_of_any_format(compute, result, bias, lead):
    generator = np.random.default_rng(2)
    a = generator.standard_normal((*lead, 6, 9)).astype(F16)
    b = generator.standard_normal((9, 5)).astype(F16)
    c = None if bias is None else generator.standard_normal(5).astype(bias)
    y = product.product(
        Device(a), Device(b), result, None if c is None else Device(c), compute=compute
    )
    assert y.dtype == result and y.shape == (*lead, 6, 5)
    assert tolerance(y.array, a, b, compute, 0.0 if c is None else np.broadcast_to(c, y.shape))


def test_a_product_that_cublas_does_not_store_so_is_cast():
    """float32 operands and a float16 result: float32 sums, rounded once when they are cast."""
    generator = np.random.default_rng(2)
    a, b = (generator.standard_normal((8, 8)).astype(F32) for _ in range(2))
    y = product.product(Device(a), Device(b), F16, alpha=0.5)
    assert y.dtype == F16 and within_bound(y.array, a, b, alpha=0.5)
    y = product.product(Device(a.astype(F64)), Device(b.astype(F64)), F32, compute="float64")
    assert y.dtype == F32 and np.all(y.array == (a.astype(F64) @ b).astype(F32))


def test_sums_in_float16_stop_where_those_in_float32_go_on():
    a, b = np.ones((1, 4096), F16), np.ones((4096, 1), F16)
    found = {}
    for compute in "float16", "float32":
        out = np.zeros((1, 1), F16)
        multiply(Device(a), Device(b), Device(out), compute=compute)
        found[compute] = out[0, 0]
    assert found == {"float16": 2048, "float32": 4096}


def test_sums_in_float16_are_those_of_the_reference():
    """The imitation rounds every product and partial sum, k ascending, as the CPU's reference."""
    from minifp.numerics.accumulate import primitives

    generator = np.random.default_rng(8)
    a = (generator.standard_normal((9, 40)) * 2.0 ** generator.integers(-12, 4, (9, 40))).astype(
        F16
    )
    b = generator.standard_normal((40, 11)).astype(F16)
    out = np.zeros((9, 11), F16)
    multiply(Device(a), Device(b), Device(out), compute="float16")
    assert np.array_equal(out, primitives(F16).dot(a.astype(F32), b.astype(F32)).astype(F16))


MODES = {  # what cuBLAS is told where products are summed in float16, in float32 of either format
    "tensor_cores": (cublas.COMPUTE_16F, cublas.COMPUTE_32F, cublas.COMPUTE_32F),
    "no_tensor_cores": (
        *(cublas.COMPUTE_16F_PEDANTIC, cublas.COMPUTE_32F_PEDANTIC),
        cublas.COMPUTE_32F_PEDANTIC,
    ),
    "tf32": (cublas.COMPUTE_16F, cublas.COMPUTE_32F, cublas.COMPUTE_32F_FAST_TF32),
}
ASKED = (F16, "float16"), (F16, "float32"), (F32, "float32")


@pytest.fixture
def mode(monkeypatch):
    """No mode is chosen yet, and none stays."""
    monkeypatch.setattr(math_modes, "_chosen", None)
    monkeypatch.delenv("MINIFP_GPU_MATH", raising=False)


@pytest.mark.parametrize("name", MODES)
def test_a_math_mode_is_a_compute_type_for_each_format(name, mode, library):
    math_modes.set_gpu_math(name)
    generator = np.random.default_rng(4)
    for (dtype, sums), code in zip(ASKED, MODES[name], strict=True):
        a, b = (generator.standard_normal((8, 8)).astype(dtype) for _ in range(2))
        out = product.product(Device(a), Device(b), dtype, compute=sums).array
        assert last_call(library).compute == code
        assert tolerance(out, a, b, "tf32" if code == cublas.COMPUTE_32F_FAST_TF32 else sums)
    assert name in MODES and last_call(library).math_mode == 16  # no partial sums in the result


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
    with pytest.raises(ArgumentError, match="MINIFP_GPU_MATH: set_gpu_math.'fast'"):
        math_modes.get_gpu_math()


def test_tf32_is_refused_where_tensor_cores_do_not_take_it(mode, device):
    device.capability = "75"
    with pytest.raises(DeviceError, match="Turing .* has no tensor cores for tf32"):
        math_modes.set_gpu_math("tf32")
    assert math_modes.get_gpu_math() == "tensor_cores"


def test_tf32_drops_13_bits_of_float32_operands_and_none_of_float16():
    for stored, expected in (F32, 1.0), (F16, 1 + 2**-10):
        a = np.array([[1 + 2**-12 if stored is F32 else 1 + 2**-10]], stored)
        out = np.zeros((1, 1), F32)
        multiply(Device(a), Device(np.ones((1, 1), stored)), Device(out), compute="tf32")
        assert out[0, 0] == expected


def test_bfloat16_operands_at_the_level_of_the_library(library, device):
    """NumPy has no bfloat16: its bits are the upper half of a float32's."""
    generator = np.random.default_rng(9)
    a, b = (generator.standard_normal((8, 8)).astype(F32) for _ in range(2))
    bits = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)]
    a, b = ((x.astype(np.uint32) << 16).view(F32) for x in bits)
    kind, handle = cublas.DATA_TYPES["bfloat16"], product.current_handle()
    wide, narrow = np.zeros((8, 8), F32), np.zeros((8, 8), np.uint16)
    for out, code in (wide, 0), (narrow, kind):
        where = (bits[1].ctypes.data, bits[0].ctypes.data, out.ctypes.data)
        x, y = Matrix(0, kind, 8), Matrix(0, code, 8)
        library.gemm(handle, cublas.COMPUTE_32F, (8, 8, 8), where, x, x, y)
    assert within_bound(wide, a, b)
    rounded = (narrow.astype(np.uint32) << 16).view(F32)
    assert np.all(np.abs(rounded - wide) <= 2.0**-8 * np.abs(wide))


# ---- handles ------------------------------------------------------------------------------------


def ones(library, **how):
    """The call that a product of ones was."""
    return calls_of(library, np.ones((2, 2), F16), np.ones((2, 2), F16), np.zeros((2, 2), F16))[1]


def test_the_workspace_outlives_setting_the_stream_and_partial_sums_are_in_float32(library, device):
    told = ones(library)
    assert told.workspace and told.workspace_bytes == 32 * 2**20
    assert told.workspace == product.current_handle().workspace.ptr
    assert (told.math_mode, told.algo, told.compute) == (16, -1, 68)


def test_the_workspace_is_as_large_as_the_generation_wants(library, device):
    device.capability = "75"
    assert ones(library).workspace_bytes == 4 * 2**20 == device.allocated[-1]


def test_one_handle_for_each_device_stream_and_thread(library, device):
    library_of_rig = library.library
    library_of_rig.rig_stream.restype = ctypes.c_void_p
    other = library_of_rig.rig_stream()
    first = product.current_handle()
    assert product.current_handle() is first and len(device.allocated) == 1
    device.stream = other
    second = product.current_handle()
    assert second is not first and ones(library).stream == other
    device.id = 1
    third = product.current_handle()
    found = []
    thread = threading.Thread(target=lambda: found.append(product.current_handle()))
    thread.start()
    thread.join()
    assert len({first.value, second.value, third.value, found[0].value}) == 4
    assert len(product.handles()) == 4 == library_of_rig.fake_handles()
    device.id = device.stream = 0
    assert product.current_handle() is first


def test_a_captured_product_runs_when_its_graph_is_launched(library, device):
    rig = library.library
    for name in "rig_stream", "rig_end_capture":
        getattr(rig, name).restype = ctypes.c_void_p
    device.stream = rig.rig_stream()
    stream = ctypes.c_void_p(device.stream)
    a, b, out = np.ones((2, 2), F16), np.ones((2, 2), F16), np.zeros((2, 2), F16)
    rig.rig_begin_capture(stream)
    multiply(Device(a), Device(b), Device(out), alpha=0.5)
    graph = ctypes.c_void_p(rig.rig_end_capture(stream))
    assert np.all(out == 0)
    a[...] = 3
    rig.rig_graph_launch(graph, None)
    rig.rig_graph_free(graph)
    assert np.all(out == 3)


def test_handles_that_fail_are_destroyed(library):
    with pytest.raises(CublasError, match="cublasSetWorkspace_v2: cuBLAS status 7, INVALID_VALUE"):
        library.handle(0, SimpleNamespace(ptr=8), 2**20)
    assert library.library.fake_handles() == 0


def test_a_closed_handle_is_refused_and_can_be_closed_again(library):
    handles = Handles(library, lambda device: (Memory(2**12), 2**12))
    handle = handles.get(0, 0)
    assert handle.version() == 120000
    handles.close()
    handle.close()
    a, here = Matrix(0, 0, 1), (Memory(64).ptr,) * 3
    with pytest.raises(CublasError, match="status 1, NOT_INITIALIZED: no usable device or driver"):
        library.gemm(handle, cublas.COMPUTE_32F, (1, 1, 1), here, a, a, a)


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a, b, out",
    [
        ((2, 3), (4, 5), (2, 5)),
        ((2, 3), (3, 5), (2, 6)),
        ((2, 2, 3), (3, 3, 5), (2, 2, 5)),
        ((2, 3), (3, 5), (1, 2, 5)),
        ((3,), (3, 5), (5,)),
    ],
)
def test_shapes_that_do_not_fit(a, b, out):
    given = [Device(np.ones(shape, F16)) for shape in (a, b, out)]
    with pytest.raises(ShapeError, match=r"matrix product of shapes .* into .*\(\.\.\., M, K\)"):
        multiply(*given)


def test_shapes_of_a_product_with_a_bias_that_do_not_fit():
    a, b = Device(np.ones((2, 3), F16)), Device(np.ones((3, 4), F16))
    with pytest.raises(ShapeError, match=r"with a bias of shape \(5,\)"):
        product.product(a, b, F16, Device(np.ones(5, F16)))
    with pytest.raises(ShapeError, match=r"of shapes \(3, 4\) and \(2, 3\): expected"):
        product.product(b, a, F16)
    with pytest.raises(ShapeError):
        product.product(Device(np.ones(3, F16)), a, F16)


def test_results_that_cannot_be_written_row_by_row():
    a = np.ones((3, 3), F16)
    for out in np.zeros((3, 3), F16).T, np.zeros((3, 6), F16)[:, ::2], np.zeros((3, 3), F16)[::-1]:
        with pytest.raises(ShapeError, match="expected rows that are contiguous"):
            multiply(Device(a), Device(a), Device(out))
    one = np.lib.stride_tricks.as_strided(np.zeros((3, 3), F16), (2, 3, 3), (0, 6, 2))
    with pytest.raises(ShapeError, match="apart from each other"):
        multiply(Device(np.ones((2, 3, 3), F16)), Device(a), Device(one))


@pytest.mark.parametrize(
    "a, b, out, compute, said",
    [
        (F16, F32, F32, "float32", "product of float16 and float32 into float32"),
        (F32, F32, F16, "float32", "float32 into float16, computed in float32"),
        (F16, F16, F32, "float16", "expected two operands of one format, computed in float16"),
        (F64, F64, F64, "float32", "float64 into float64"),
        (F16, F16, F16, "float128", "'float128': expected one of float16, float16_pedantic"),
    ],
)
def test_formats_that_are_not_multiplied(a, b, out, compute, said):
    given = [Device(np.ones((2, 2), dtype)) for dtype in (a, b, out)]
    with pytest.raises(ArgumentError, match=said):
        multiply(*given, compute=compute)


def test_the_table_of_formats_is_that_of_the_imitation(library, device):
    """What minifp takes for supported, the library takes, and it refuses everything else."""
    handle, here = product.current_handle(), (Memory(256).ptr,) * 3
    kinds = [np.dtype(t) for t in (F16, F32, F64)]
    for a, b, out, compute in itertools.product(kinds, kinds, kinds, COMPUTE_TYPES):
        x, y, z = (Matrix(0, cublas.DATA_TYPES[t.name], 1) for t in (a, b, out))
        call = library.gemm, (handle, COMPUTE_TYPES[compute], (1, 1, 1), here, x, y, z)
        if supported(a, b, out, compute):
            call[0](*call[1])
            assert codes(a, b, out, compute) == (x.kind, z.kind, COMPUTE_TYPES[compute])
        else:
            with pytest.raises(CublasError, match="status 15, NOT_SUPPORTED"):
                call[0](*call[1])


def test_an_error_names_the_call_with_its_sizes_and_formats(library, device):
    handle, here = product.current_handle(), (Memory(256).ptr,) * 3
    good, short = Matrix(0, 2, 4), Matrix(0, 2, 3)
    with pytest.raises(CublasError) as caught:
        library.gemm(handle, 68, (4, 5, 6), here, short, good, good, batch=7)
    assert (caught.value.status, caught.value.name) == (7, "INVALID_VALUE")
    assert isinstance(caught.value, DeviceError)
    for word in "7 times", "(4, 5, 6)", "float16 and float16 into float16", "float32", "3, 4, 4":
        assert word in str(caught.value)
    assert "status 99, UNKNOWN: see the cuBLAS reference" in str(CublasError(99, "call"))


def test_sizes_of_2_to_the_31_take_the_wide_entry_points(library, device, monkeypatch):
    handle, here = product.current_handle(), (Memory(256).ptr,) * 3
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


# ---- finding the library ------------------------------------------------------------------------

MAPS = """\
7f10-7f20 r-xp 00000000 08:01 42    /opt/lib/libcublas.so.12.8.4.1
7f20-7f30 r--p 00000000 08:01 42    /opt/lib/libcublas.so.12.8.4.1
7f30-7f40 r--p 00000000 08:01 43    /opt/lib/libcublasLt.so.12
7f50-7f60 r--p 00000000 08:01 44    /opt/lib/libcudart.so.12
7f70-7f80 rw-p 00000000 00:00 0     [heap]
"""


def put(root, *names):
    """Empty files under a folder; their paths."""
    paths = [root / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return [str(path) for path in paths]


def search(tmp_path, major=None, platform="linux", maps="", **environment):
    """The candidates in a folder tree, without the plain names at the end."""
    found = candidates(
        major,
        platform=platform,
        environment=environment,
        roots=[tmp_path / "site", tmp_path / "user"],
        toolkits=[tmp_path / "cuda"],
        maps=maps,
    )
    assert sum(not os.path.dirname(path) for path in found) == 2
    return [path for path in found if os.path.dirname(path)]


def test_what_is_loaded_is_found_in_the_map_of_the_process():
    assert loaded_libraries(MAPS) == [(12, "/opt/lib/libcublas.so.12.8.4.1")]
    assert loaded_libraries("") == []


def test_on_linux_what_is_loaded_comes_before_pip_and_pip_before_cuda(tmp_path):
    assert search(tmp_path) == []
    kit = put(tmp_path, "cuda/lib64/libcublas.so.12", "home/lib64/libcublas.so.13")
    wheels = put(
        tmp_path,
        "site/nvidia/cu13/lib/libcublas.so.13",
        "site/nvidia/cublas/lib/libcublas.so.12",
        "user/nvidia/cublas/lib/libcublas.so.12",
    )
    put(
        tmp_path,
        "site/nvidia/cublas/lib/libcublasLt.so.12",
        "site/nvidia/cublas/bin/cublas64_12.dll",
    )
    loaded = "/opt/lib/libcublas.so.12.8.4.1"
    home = str(tmp_path / "home")
    assert search(tmp_path, maps=MAPS, CUDA_HOME=home) == [loaded, *wheels, kit[1], kit[0]]
    twelve = [loaded, *wheels[1:], kit[0]]
    assert search(tmp_path, 12, maps=MAPS, CUDA_HOME=home) == [*twelve, wheels[0], kit[1]]
    assert search(tmp_path, 13, maps=MAPS)[0] == wheels[0]


def test_on_windows_the_dlls_of_pip_come_before_those_of_cuda(tmp_path):
    kit = put(tmp_path, "v13/bin/x64/cublas64_13.dll", "v13/bin/cublas64_12.dll")
    wheels = put(
        tmp_path,
        "site/nvidia/cu13/bin/x86_64/cublas64_13.dll",
        "site/nvidia/cublas/bin/cublas64_12.dll",
    )
    put(tmp_path, "site/nvidia/cublas/lib/libcublas.so.12")
    path = str(tmp_path / "v13")
    assert search(tmp_path, platform="win32", CUDA_PATH=path) == [*wheels, *kit]
    found = search(tmp_path, 12, platform="win32", CUDA_PATH=path)
    assert found == [wheels[1], kit[1], wheels[0], kit[0]]


def test_the_loader_is_asked_last():
    nowhere = {"environment": {}, "roots": [], "toolkits": []}
    assert candidates(platform="linux", **nowhere) == ["libcublas.so.13", "libcublas.so.12"]
    assert candidates(12, platform="win32", **nowhere) == ["cublas64_12.dll", "cublas64_13.dll"]
    assert candidates(platform="darwin", **nowhere) == ["libcublas.so.13", "libcublas.so.12"]


def test_a_path_in_the_environment_is_the_only_one(tmp_path):
    put(tmp_path, "site/nvidia/cu13/lib/libcublas.so.13")
    (own,) = put(tmp_path, "own/libcublas.so")
    given = {"platform": "linux", "roots": [tmp_path / "site"], "maps": MAPS}
    assert candidates(environment={"MINIFP_CUBLAS": own}, **given) == [own]
    with pytest.raises(DeviceError, match="MINIFP_CUBLAS=.*: no such file; expected the path of"):
        candidates(environment={"MINIFP_CUBLAS": own + "x"}, **given)


def test_the_first_candidate_that_loads_is_taken(tmp_path):
    (damaged,) = put(tmp_path, "libcublas.so.13")
    assert load(tried=[damaged, built()]).path == built()
    assert load().path == built()  # of MINIFP_CUBLAS
    assert repr(load()) == f"<cuBLAS {built()}>"


@pytest.mark.parametrize("major, package", [(13, "nvidia-cublas"), (12, "nvidia-cublas-cu12")])
def test_where_there_is_none_the_error_says_what_was_tried_and_what_to_install(major, package):
    with pytest.raises(DeviceError) as caught:
        load(major, tried=["/nowhere/libcublas.so.13", "libcublas_of_nobody.so"])
    assert "/nowhere/libcublas.so.13" in str(caught.value)
    assert "libcublas_of_nobody.so" in str(caught.value)
    assert f"pip install {package}, or set MINIFP_CUBLAS" in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="a library that every Linux has")
def test_a_library_that_is_not_cublas():
    with pytest.raises(DeviceError, match="has no cublasCreate_v2: expected cuBLAS 11 or later"):
        load(tried=["libc.so.6"])
