"""Kernels in machine code: called with and without entries, and kept in files."""

from weakref import WeakKeyDictionary

import numpy as np
import pytest

from minifp.numerics.formats import float16, float32
from minifp.runtime import callers, cpu

if not cpu.can_derive():
    pytest.skip("kernels are not compiled here", allow_module_level=True)

from minifp.numerics.dispatch import pointwise
from minifp.ops.normalization.softmax import softmax_forward
from minifp.runtime.cpu import kernel_cache, machine
from minifp.runtime.cpu.rows import RowKernel


def bent(x, y, *, bend):
    return x + y / np.sqrt(1 + bend * x * x)


def results():
    """Of kernels that are made anew, over arrays of all forms and rows both ways."""
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


@pytest.mark.parametrize("size", [-1, 0, 9])
def test_object_code_that_is_cut_off_is_made_anew(tmp_path, monkeypatch, size):
    monkeypatch.setattr(kernel_cache, "code_folder", lambda: tmp_path)
    kernel_cache.keep("key", b"code of a kernel")
    (path,) = tmp_path.iterdir()
    assert kernel_cache.kept("key") == b"code of a kernel"
    path.write_bytes(path.read_bytes()[:size])
    assert kernel_cache.kept("key") is None
    kernel_cache.keep("key", b"code of a kernel")
    assert kernel_cache.kept("key") == b"code of a kernel"
    assert [p.name for p in tmp_path.iterdir()] == ["key.o"]


def test_a_folder_that_cannot_be_written_to_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "code_folder", lambda: tmp_path / "gone")
    monkeypatch.setattr(callers, "told", WeakKeyDictionary())
    with pytest.warns(RuntimeWarning, match="compiled kernels cannot be kept"):
        kernel_cache.keep("key", b"code")
    assert kernel_cache.kept("key") is None
