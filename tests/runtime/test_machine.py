"""Kernels in machine code: called with and without entries, and kept in files."""

import ctypes
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from own_process import python

from minifp.numerics.formats import float16, float32
from minifp.runtime import callers, cpu

if not cpu.can_derive():
    pytest.skip("kernels are not compiled here", allow_module_level=True)

from minifp.numerics.dispatch import pointwise
from minifp.ops.normalization.softmax import softmax_forward
from minifp.runtime.cpu.compile import kernel_cache, machine
from minifp.runtime.cpu.kernels.rows import RowKernel


def bent(x, y, *, bend):
    return x + y / np.sqrt(1 + bend * x * x)


def results():
    random = np.random.default_rng(0)
    x, y = (random.normal(0, 1, (40, 70)).astype(float16) for _ in range(2))
    compiled = pointwise(lambda x, y, *, bend: bent(x, y, bend=bend))
    rows = RowKernel(softmax_forward.reference, softmax_forward.rule.out)
    calls = [compiled(a, b, to=(float32,), bend=0.3) for a, b in ((x, y), (x, y[0]), (x.T, y.T))]
    return [*calls, *(rows(x, axis=axis, to=(float16,)) for axis in (0, 1))]


def test_without_entries_ctypes_calls_the_same_kernels(monkeypatch):
    """As where Python's objects look different: no entry is made, and none is called."""
    by_entries = results()
    monkeypatch.setattr(machine, "has_entries", lambda: False)
    monkeypatch.setattr(machine, "callable_at", lambda *_: pytest.fail("an entry is called"))
    monkeypatch.setattr(machine, "KERNELS", {})
    machine.symbols.cache_clear()
    by_ctypes = results()
    machine.symbols.cache_clear()
    assert len(machine.KERNELS) >= 4
    for a, b in zip(by_entries, by_ctypes):
        np.testing.assert_array_equal(a, b)


def test_code_that_cannot_be_loaded_is_no_hindrance_to_what_is_loaded_after_it():
    """A library's name is used up where linking fails, or is interrupted."""
    text = "define i64 @three() {\n  ret i64 3\n}\n"
    with pytest.raises(RuntimeError):
        machine.loaded(b"no code", ["three"])
    with pytest.raises(RuntimeError):
        machine.loaded(machine.object_code(text), ["four"])
    (address,) = machine.loaded(machine.object_code(text), ["three"]).values()
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(address)() == 3


@pytest.mark.parametrize("size", [-1, 0, 9])
def test_object_code_that_is_cut_off_is_made_anew(tmp_path, monkeypatch, size):
    monkeypatch.setenv(kernel_cache.ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr(kernel_cache, "code_folder", kernel_cache.code_folder.__wrapped__)
    kernel_cache.keep("key", b"code of a kernel")
    (path,) = tmp_path.glob("*/code-*/*")
    assert kernel_cache.kept("key") == b"code of a kernel"
    path.write_bytes(path.read_bytes()[:size])
    assert kernel_cache.kept("key") is None
    kernel_cache.keep("key", b"code of a kernel")
    assert kernel_cache.kept("key") == b"code of a kernel"
    assert [p.name for p in path.parent.iterdir()] == ["key.o"]


def test_a_folder_that_cannot_be_written_to_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "code_folder", lambda: tmp_path / "gone")
    monkeypatch.setattr(callers, "told", WeakKeyDictionary())
    with pytest.warns(RuntimeWarning, match="compiled kernels cannot be kept"):
        kernel_cache.keep("key", b"code")
    assert kernel_cache.kept("key") is None


def test_a_numba_that_does_not_load_costs_one_warning(tmp_path):
    """Kernels that need it not run as ever; of one that must be compiled the reference serves."""
    (tmp_path / "numba.py").write_text("raise AttributeError('bool8')", encoding="utf-8")
    code = """
        import minifp as fp
        from minifp.numerics import compiled as lookup
        from minifp.runtime.cpu.compile.decorators import compiled
        x = fp.tensor([[1.0, 3.0], [2.0, 0.5]], dtype="float16")
        print((x @ x).tolist(), fp.exp(x * 0).tolist())
        lookup.compiled_kernel_of = lambda *_: compiled(lambda x: 5.0)
        print([lookup.compilable(lambda x: 4.0)(x.array) for _ in range(2)])
    """
    done = python(code, PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.split("\n")[0] == "[[7.0, 4.5], [3.0, 6.25]] [[1.0, 1.0], [1.0, 1.0]]"
    assert done.stdout.split("\n")[1] == "[4.0, 4.0]"
    assert done.stderr.count("RuntimeWarning") == 1 and "bool8" in done.stderr
