"""Compiling ahead: what is named is compiled and kept, and once more it is all there."""

from dataclasses import replace

import pytest

from minifp.errors import ArgumentError
from minifp.lab import compile_ahead as ahead
from minifp.lab.tasks import load_task
from minifp.models import MLP
from minifp.runtime import cpu
from minifp.runtime.cpu.compiling import PROGRESS, compiling


def test_what_is_compiled_meanwhile_is_listed_with_its_model(monkeypatch):
    shown = []
    with ahead.listed(ahead.Compiled("lenet", "mixed"), shown.append) as _:
        with compiling("relu_dx"), compiling("of relu_dx"):
            pass
        with compiling("adam"):
            pass
    assert shown == ["lenet, mixed: relu_dx", "lenet, mixed: adam"] and PROGRESS.tell is None


def test_each_precision_is_trained_and_once_more_nothing_is_compiled(monkeypatch):
    tiny = replace(load_task("mlp"), model=lambda: MLP(64, 8, 10), batch_size=4)
    monkeypatch.setitem(ahead.MODELS, "tiny", lambda: tiny)
    parts = ahead.compile_ahead(["tiny"], progress=False)
    assert [part.precision for part in parts] == ["float32", "mixed", "bfloat16", "float16"]
    again = ahead.compile_ahead(["tiny"], progress=False)
    assert not [part.kernels for part in again if part.kernels]


def test_several_processes_compile_what_one_does(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ahead, "PRECISIONS", ("float32", "mixed"))
    parts = ahead.compile_ahead(["mlp"], progress=False, jobs=2)
    assert [part.precision for part in parts] == ["float32", "mixed"]
    assert all("adam" in part.kernels for part in parts)
    assert list(tmp_path.rglob("*.o"))
    again = ahead.compile_ahead(["mlp"], progress=False, jobs=2)
    assert not [part.kernels for part in again if part.kernels]


def test_an_unknown_model_is_refused_before_anything_is_compiled(monkeypatch):
    monkeypatch.setattr(ahead, "train", lambda *_: pytest.fail("it trains first"))
    with pytest.raises(ArgumentError, match="no model 'lnet' to compile for: expected lenet"):
        ahead.compile_ahead(["mlp", "lnet"])


def test_where_nothing_can_be_compiled_the_command_says_why(monkeypatch):
    pytest.importorskip("click")
    from click.testing import CliRunner

    from minifp.cli import main

    monkeypatch.setattr(cpu, "why_not_derived", lambda: "MINIFP_KERNELS=numpy")
    result = CliRunner().invoke(main, ["warmup"])
    assert result.output == "Nothing can be compiled here: MINIFP_KERNELS=numpy.\n"
