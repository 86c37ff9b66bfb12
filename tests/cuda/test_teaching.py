"""Claims about the tensor cores' product that is there to be read, and its emulation in NumPy."""

import ctypes
import shutil
import sys
from pathlib import Path

import build
import numpy as np
import nvrtc
import pytest
from nvrtc import compiled, spills
from real_gpu import IMITATED
from refusals import refuses

from minifp.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from minifp.runtime.cuda import headers, source
from minifp.runtime.cuda.arrays import to_device, to_host
from minifp.runtime.cuda.teaching import TEXT, emulated, matmul

FORMATS = ("float32", "float16")
SHAPES = [(1, 1, 1), (16, 16, 16), (3, 20, 5), (40, 33, 17), (17, 100, 50), (2, 0, 3), (0, 4, 5)]
in_both = pytest.mark.parametrize("accumulate", FORMATS)


def factors(m, k, n, seed=0):
    random = np.random.default_rng(seed)
    return tuple(random.normal(size=s).astype("float16") for s in ((m, k), (k, n)))


def ones(k):
    return np.ones((1, k), np.float16), np.ones((k, 1), np.float16)


def exact(a, b):
    """(the product, that of absolute values) in float64, where both are as good as exact."""
    wide = a.astype(float), b.astype(float)
    return wide[0] @ wide[1], abs(wide[0]) @ abs(wide[1])


@pytest.mark.parametrize("block", [1, 4, 8, 16])
def test_float16_sums_of_ones_end_where_half_an_ulp_is_a_block(block):
    many = ones(2048 * block * 2)
    assert emulated(*many, "float16", "float32", block=block) == 2048 * block
    assert emulated(*many, "float32", "float32", block=block) == 2048 * block * 2


@pytest.mark.parametrize("rounding, unit", [("toward zero", 2.0**-23), ("nearest", 2.0**-24)])
@pytest.mark.parametrize("block", [1, 4, 16])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_within_one_rounding_for_each_block(shape, block, rounding, unit):
    (product, magnitude), blocks = exact(*factors(*shape)), -(-shape[1] // block)
    for format, half_ulp, tiny in (("float32", unit, 0), ("float16", 2.0**-11, 2.0**-25)):
        y = emulated(*factors(*shape), format, format, block=block, rounding=rounding)
        assert (y.shape, y.dtype) == (product.shape, format)
        # Each partial sum is at most the magnitude and what was rounded before.
        bound = ((1 + half_ulp) ** blocks - 1) * magnitude + blocks * tiny
        assert np.all(np.abs(y - product) <= bound)


def test_float32_sums_that_are_cut_off_fall_short():
    """2^-24 is half an ulp of 1 from below: to nearest, three of them are an ulp of 2^-23 and more.
    Cut off, nothing is left of any."""
    a = np.array([[1, 0, 0, 0] + [2.0**-12 * 1.5, 0, 0, 0] * 4], np.float16)
    b = np.array([[1, 0, 0, 0] + [2.0**-12, 0, 0, 0] * 4], np.float16).T
    assert emulated(a, b, "float32", "float32") == 1
    assert emulated(a, b, "float32", "float32", rounding="nearest") == 1 + 4 * 2.0**-23
    assert emulated(-a, b, "float32", "float32") == -1


def test_products_are_exact_before_they_are_added():
    """As the product of 1 + 2^-10 with itself, less 1: rounded, its last bit would be lost."""
    x = np.float16(1 + 2.0**-10)
    a, b = np.array([[x, -1]], np.float16), np.array([[x], [1]], np.float16)
    assert emulated(a, b, "float32", "float32") == 2.0**-9 + 2.0**-20
    assert emulated(a, b, "float32", "float32", block=1) == 2.0**-9 + 2.0**-20
    assert emulated(a, b, "float16", "float32", block=1) == 2.0**-9


def test_inf_nan_and_overflow():
    big = np.full((1, 8), 65504, np.float16)
    assert emulated(big, big.T, "float32", "float32") == 8 * 65504.0**2
    assert (emulated(big, big.T, "float32"), emulated(big, -big.T, "float16")) == (np.inf, -np.inf)
    a = np.array([[np.inf, 1], [np.nan, 1], [np.inf, -np.inf]], np.float16)
    y = emulated(a, np.ones((2, 1), np.float16))
    assert y[0] == np.inf and np.isnan(y[1:]).all()
    last = emulated(np.array([[np.inf, 0, 0, 0, 1]], np.float16), np.ones((5, 1), np.float16))
    assert last == np.inf  # which cutting off leaves alone


@in_both
@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernel_is_within_the_bound(shape, accumulate):
    a, b = factors(*shape)
    y = to_host(matmul(to_device(a), to_device(b), accumulate, accumulate))
    product, magnitude = exact(a, b)
    # A rounding for each product and each shift: more than any order of blocks has.
    unit, roundings = 2.0**-23 if accumulate == "float32" else 2.0**-11, 2 * shape[1]
    bound = ((1 + unit) ** roundings - 1) * magnitude + roundings * 2.0**-25
    assert (y.shape, y.dtype) == (product.shape, accumulate)
    assert np.all(np.abs(y - product) <= bound)


@pytest.mark.skipif(not IMITATED, reason="a GPU adds in an order of its own")
@pytest.mark.parametrize("dtype", FORMATS)
@in_both
@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernel_computes_what_is_emulated(shape, accumulate, dtype):
    a, b = factors(*shape)
    y = to_host(matmul(to_device(a), to_device(b), accumulate, dtype))
    assert np.array_equal(y, emulated(a, b, accumulate, dtype)) and y.dtype == dtype


@pytest.mark.skipif(not IMITATED, reason="a GPU's threads have an order of their own")
@pytest.mark.parametrize("seed", [7, 1234])
def test_the_kernel_computes_the_same_in_every_order_of_threads(seed):
    a, b = factors(40, 50, 33)
    order = ctypes.c_uint.in_dll(build.runtime(), "rig_seed")
    order.value = seed
    try:
        y = to_host(matmul(to_device(a), to_device(b)))
    finally:
        order.value = 0
    assert np.array_equal(y, emulated(a, b))


def test_the_kernel_takes_views():
    a, b = factors(20, 30, 40)
    y = matmul(to_device(np.ascontiguousarray(a.T)).T, to_device(b)[:, ::2])
    expected = to_host(matmul(to_device(a), to_device(np.ascontiguousarray(b[:, ::2]))))
    assert np.array_equal(to_host(y), expected)


@pytest.mark.gpu
@in_both
def test_a_tensor_core_adds_integers_without_an_error(accumulate):
    """In whatever order it adds: all partial sums are whole numbers up to 2,048."""
    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, s).astype("float16") for s in ((50, 200), (200, 30)))
    y = to_host(matmul(to_device(a), to_device(b), accumulate))
    assert np.array_equal(y, emulated(a, b, accumulate))


@pytest.mark.gpu
def test_a_tensor_core_loses_ones_in_float16_and_not_in_float32():
    a, b = ones(2**16)
    assert to_host(matmul(to_device(a), to_device(b), "float32", "float32")) == 2**16
    lost = to_host(matmul(to_device(a), to_device(b), "float16", "float32"))
    assert lost in [2048 * block for block in (1, 2, 4, 8, 16)]


@pytest.mark.parametrize("dtype", FORMATS)
@in_both
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_text_compiles_for_tensor_cores(arch, accumulate, dtype):
    cubin, log = compiled(TEXT(ACC=accumulate, Y=dtype).text, arch)
    assert cubin and not spills(log)


def test_the_header_of_tensor_cores_is_found_in_a_package_of_its_own(tmp_path, monkeypatch):
    text, include = TEXT(ACC="float32", Y="float16").text, nvrtc.library()[1]
    shutil.copytree(include, tmp_path / "include", ignore=shutil.ignore_patterns("crt"))
    tried = []
    to_device(np.zeros(1))  # the GPU is there, whatever it lacks then

    class RawModule:
        """As CuPy's, which looks into one folder: there, it has no crt/mma.h."""

        def __init__(self, *, code, options):
            tried.append((*options, "--gpu-architecture=sm_90", f"-I{tmp_path / 'include'}"))

        def get_function(self, name):
            return nvrtc.made(text, tried[-1])[1]

    monkeypatch.setattr(sys.modules["cupy"], "RawModule", RawModule)
    monkeypatch.setattr(sys, "path", [*sys.path, str(include.parents[2])])
    assert source.compiled(text, "tile_product")
    folder = headers.folder_of("crt/mma.h", headers.folders(13))
    assert len(tried) == 2 and f"-I{folder}" in tried[1]
    monkeypatch.setattr(headers, "folders", lambda major: [])
    with pytest.raises(DeviceError, match=r"crt/mma\.h is neither.*minifp\[cuda13\]"):
        source.compiled(text, "tile_product")


def test_headers_are_sought_in_pips_folders_and_in_cuda_installations(tmp_path, monkeypatch):
    pip, kit, nvcc = tmp_path / "site", tmp_path / "cuda", tmp_path / "other" / "bin" / "nvcc"
    monkeypatch.setattr(sys, "path", ["", str(pip)])
    monkeypatch.setattr(headers.shutil, "which", lambda name: str(nvcc))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(kit))
    rest = [kit / "include", nvcc.parents[1] / "include", Path("/usr/local/cuda/include")]
    assert headers.folders(12) == [pip / "nvidia" / "cuda_nvcc" / "include", *rest]
    assert headers.folders(13) == [pip / "nvidia" / "cu13" / "include", *rest]
    (kit / "include" / "crt").mkdir(parents=True)
    (kit / "include" / "crt" / "mma.h").touch()
    assert headers.folder_of("crt/mma.h", headers.folders(13)) == kit / "include"
    assert headers.folder_of("none.h", headers.folders(13)) is None
    assert headers.missing(ValueError("no such thing")) is None


def test_what_there_is_no_product_of():
    a, b = factors(3, 4, 5)
    refuses(ShapeError, r"\(3, 4\) times \(3, 4\)", emulated, a, a)
    refuses(DTypeError, "float32 times float16", emulated, a.astype("float32"), b)
    refuses(ArgumentError, "float64", emulated, a, b, "float64")
    refuses(ArgumentError, "block=0", emulated, a, b, block=0)
    refuses(ArgumentError, "rounding='up'", emulated, a, b, rounding="up")
    refuses(DeviceError, "emulated", matmul, a, b)
