"""Kernels that travel lowered: of these sources, the same results as numba's, and never a crash."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from own_process import python

import minifp
from minifp.runtime import callers, cpu

if not cpu.can_compile():
    pytest.skip("nothing is compiled", allow_module_level=True)

from llvmlite import binding

from minifp.runtime.cpu.compile import decorators, entries, kernel_cache, shipped
from minifp.runtime.cpu.kernels import convert, pool, sums

ROOT = Path(minifp.__file__).parent
FILES = sorted(ROOT.rglob("*.kernels.zip"))
SCRIPT = ROOT.parent / "scripts" / "write_kernels.py"
lowered = pytest.mark.skipif(
    not shipped.index(convert.__file__) or not entries.can_enter() or shipped.variant() == "none",
    reason="this machine, or this Python, is one that kernels were not lowered for",
)


def source_of(file):
    return str(file.with_name(file.name.replace(".kernels.zip", ".py")))


def index_of(file):
    with zipfile.ZipFile(file) as members:
        return json.loads(members.read(shipped.INDEX))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.split(".")[0])
def test_they_were_made_of_the_sources_that_there_are(file):
    digest = kernel_cache.digest_of(source_of(file))
    assert index_of(file)["sources"] == digest, "run python scripts/write_kernels.py"


def test_they_are_small_name_no_folder_of_their_machine_and_compile_on_arm():
    assert FILES and sum(file.stat().st_size for file in FILES) < 2 * 2**20
    for file in FILES:
        with zipfile.ZipFile(file) as members:
            content = b"".join(map(members.read, members.namelist()))
        assert not any(word in content for word in (b"site-packages", b"/minifp/", b"_numba.py"))
    index = index_of(shipped.archive(convert.__file__))["kernels"]
    types = next(types for types in index["copy_all.copy_all_chunks"] if "uint16" in types)
    member, _ = index["copy_all.copy_all_chunks"][types]["neon"]
    with zipfile.ZipFile(shipped.archive(convert.__file__)) as members:
        text = members.read(member).decode()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    arm = binding.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine()
    assert "fcvt" in arm.emit_assembly(binding.parse_assembly(text))


@pytest.mark.nightly
@pytest.mark.skipif(not SCRIPT.is_file(), reason="needs the checkout")
def test_the_script_would_write_what_is_there():
    import numba

    about = index_of(shipped.archive(convert.__file__))
    if (about["llvm"], about["numba"]) != (binding.llvm_version_info[0], numba.__version__):
        pytest.skip("another numba writes another text")
    command = [sys.executable, str(SCRIPT), "--check", "convert"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def entry_of(kernel, *args):
    return decorators.Kernel(kernel.py_func, kernel.options, kernel.takes_rows).resolve(args)


def halves(n=40):
    x = np.random.default_rng(0).standard_normal(n).astype("f4")
    return np.zeros(1, np.int64), 1, pool.NOTHING, n, n, x, np.zeros(n, np.uint16)


@lowered
def test_an_entry_refuses_what_it_was_not_made_for():
    args = halves()
    entry = entry_of(convert.copy_all.kernel, *args)
    counter, _, _, _, _, x, out = args
    refused = {
        0: [counter.astype(np.int32), counter.tolist(), None, counter.reshape(1, 1)],
        1: [1.0, True, np.int64(1), "1"],
        5: [x.astype("f8"), np.zeros(80, "f4")[::2], x.astype(">f4"), x.view(np.int32), x.data],
        6: [out.view(np.float16), np.broadcast_to(np.uint16(0), 40), out.astype(">u2")],
    }
    for place, others in refused.items():
        for other in others:
            changed = [*args[:place], other, *args[place + 1 :]]
            assert entry(*changed) is NotImplemented, (place, other)
    assert entry(*args[:-1]) is NotImplemented and entry(*args, 1) is NotImplemented
    with pytest.raises(OverflowError):
        entry(*args[:3], 2**70, *args[4:])
    assert entry(*args) is None
    assert (out.view(np.float16) == x.astype(np.float16)).all()


@lowered
def test_equal_dtypes_that_are_other_objects_are_taken_and_results_pass_through():
    from minifp.ops.convolution.conv_correlation_numba import zero_of

    args = list(halves())
    args[5] = np.empty(40, np.dtype("f4", copy=True))
    args[5][:] = 1
    assert entry_of(convert.copy_all.kernel, *halves())(*args) is None and (args[6] == 0x3C00).all()
    weights = np.ones(2, np.float32)
    entry = entry_of(zero_of, weights, 2)
    assert entry(weights, 2) == 0.0 and entry(weights, 2.0) is NotImplemented


@lowered
def test_bits_are_those_of_numba_and_an_array_of_any_axes_is_a_row():
    kernel, wide = sums.sum_last.kernel, np.random.default_rng(1).standard_normal((7, 3000))
    for x in (wide.astype("f4"), wide.astype("f2")):
        sizes, outs = (1, pool.NOTHING, 7, 3000, 7, 3000, 1.0), np.zeros((2, 7, 1), x.dtype)
        entry = entry_of(kernel, np.zeros(1, np.int64), *sizes, x, outs[0])
        assert entry(np.zeros(1, np.int64), *sizes, x, outs[0]) is None
        assert entry(np.zeros(1, np.int64), *sizes, x.T, outs[0]) is NotImplemented
        kernel.of_numba(np.zeros(1, np.int64), *sizes, pool.flat(x), pool.flat(outs[1]))
        assert outs.any() and outs[0].tobytes() == outs[1].tobytes()


@lowered
def test_training_with_lowered_kernels_does_not_import_numba(tmp_path):
    code = """
        import sys, numpy as np, minifp as fp, minifp.nn.functional as F
        for dtype in ("float16", "float32"):
            x, w = fp.randn(2, 1, 8, 8, dtype=dtype), fp.randn(4, 1, 3, 3, dtype=dtype)
            w.requires_grad = True
            y = F.max_pool2d(F.conv2d(x, w), 2).reshape(2, -1) @ fp.randn(36, 3, dtype=dtype)
            y.backward(fp.ones(2, 3, dtype=dtype))
            assert np.isfinite(w.grad.numpy()).all()
        assert "numba" not in sys.modules
    """
    python(code, NUMBA_CACHE_DIR=str(tmp_path), PYTHONWARNINGS="error")
    objects = list(tmp_path.rglob("*.o"))
    assert objects and not list(tmp_path.rglob("*.nbc"))


def damage(file, copy, what):
    """A copy of a file of kernels that is cut off, or whose texts LLVM does not understand."""
    if what != "member":
        data = file.read_bytes()
        copy.write_bytes(data[: len(data) // 2] if what == "index" else data)
        return
    with zipfile.ZipFile(file) as good, zipfile.ZipFile(copy, "w") as bad:
        for name in good.namelist():
            bad.writestr(name, good.read(name) if name == shipped.INDEX else b"define nonsense")


@lowered
@pytest.mark.parametrize("what", ["index", "member", "sources"])
def test_where_they_are_damaged_or_of_other_sources_numba_compiles(what, tmp_path, monkeypatch):
    file = shipped.archive(convert.__file__)
    copy = tmp_path / file.name
    damage(file, copy, what)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "archive", lambda path: copy)
    callers.told.clear()
    for cached in (kernel_cache.code_folder, kernel_cache.cache_folder, shipped.index):
        cached.cache_clear()
    if what == "sources":
        monkeypatch.setattr(shipped, "digest_of", lambda path: "others")
    try:
        args = halves()
        kernel = decorators.Kernel(convert.copy_all.kernel.py_func, convert.copy_all.kernel.options)
        if what == "sources":
            kernel(*args)
        else:
            with pytest.warns(RuntimeWarning, match="(?s)cannot be used.*numba compiles"):
                kernel(*args)
        assert not kernel.entries and "of_numba" in vars(kernel)
        assert (args[6].view(np.float16) == args[5].astype(np.float16)).all()
    finally:
        for cached in (kernel_cache.code_folder, kernel_cache.cache_folder, shipped.index):
            cached.cache_clear()
