"""Compiling ahead: what is named is compiled and kept, and once more it is all there."""

import os
from dataclasses import replace
from functools import partial

import pytest
from terminals import call

import minifp as fp
from minifp.lab import compile_ahead as ahead
from minifp.lab import warm_record
from minifp.models import MLP
from minifp.runtime import cpu
from minifp.runtime.cpu.compile import kernel_cache
from minifp.runtime.cpu.compile.progress import PROGRESS, compiling
from minifp.runtime.cpu.kernels.pool import Chunked
from minifp.teach.warming import jobs_for_lessons


def test_what_is_compiled_meanwhile_is_listed(monkeypatch):
    part = ahead.Compiled("lenet", "mixed")
    with ahead.listed(part):
        with compiling("relu_dx"), compiling("of relu_dx"):
            pass
        with compiling("adam"):
            pass
    assert part.kernels == ["relu_dx", "adam"] and PROGRESS.tell is None
    monkeypatch.setattr(ahead, "train", lambda *_: pytest.fail("it trains first"))
    with pytest.raises(fp.ArgumentError, match="no model 'lnet' to compile: expected lenet"):
        ahead.jobs_for(["mlp", "lnet"])


def test_each_precision_is_trained_and_once_more_nothing_is_compiled(monkeypatch):
    tiny = replace(fp.load_task("mlp"), model=lambda: MLP(64, 8, 10), batch_size=4)
    monkeypatch.setitem(ahead.MODELS, "tiny", lambda: tiny)
    parts = ahead.compile_ahead(ahead.jobs_for(["tiny"]), progress=False)
    assert [part.precision for part in parts] == [*ahead.PRECISIONS]
    again = ahead.compile_ahead(ahead.jobs_for(["tiny"]), progress=False)
    assert not [part.kernels for part in again if part.kernels]


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache of compiled kernels for this test, with one kernel."""
    monkeypatch.setenv(kernel_cache.ENVIRONMENT, str(tmp_path))
    kernel = kernel_cache.place() / "code-0000000000000001" / "one.o"
    kernel.parent.mkdir(parents=True)
    kernel.write_bytes(b"code")
    return kernel


def test_what_was_compiled_is_known_as_long_as_all_files_are_there(own_cache, monkeypatch):
    def recorded():
        warm_record.write_down(["mlp, mixed"])
        warm_record.write_down(["lenet, mixed"])
        assert warm_record.warmed() == {"mlp, mixed", "lenet, mixed"}

    assert warm_record.warmed() == set()
    recorded()
    own_cache.with_name("more.o").write_bytes(b"")
    assert warm_record.warmed() == {"mlp, mixed", "lenet, mixed"}
    with monkeypatch.context() as patch:
        patch.setattr(warm_record.environment, "processor", lambda: "another")
        warm_record.digest.cache_clear()
        assert warm_record.warmed() == set()
    warm_record.digest.cache_clear()
    for damaged in ("", "[]", '{"jobs": ["mlp, mixed"]}', '{"files": 3}'):
        warm_record.record().write_text(damaged, encoding="utf-8")
        assert warm_record.warmed() == set()
    recorded()
    own_cache.unlink()
    assert warm_record.warmed() == set()


def test_several_processes_compile_and_are_told_apart():
    """Each job is done once, in one of two processes, neither of which is this one."""
    jobs = [ahead.Job(str(i), "", partial(own_number, i)) for i in range(4)]
    parts = ahead.compile_ahead(jobs, progress=False, processes=2)
    assert sorted(part.model for part in parts) == ["0", "1", "2", "3"]
    found = {int(name) for part in parts for name in part.kernels}
    assert os.getpid() not in found and 1 <= len(found) <= 2


def own_number(i):
    with compiling(str(os.getpid())):
        pass


def test_the_command_compiles_what_is_new_once_and_says_how_long(own_cache, monkeypatch):
    from minifp.lab.commands import warmup

    done = []

    def compiled():
        with compiling("relu_dx"):
            done.append(1)

    job = ahead.Job("tiny", "mixed", compiled)
    monkeypatch.setattr(warmup, "jobs_for_lessons", lambda: [job])
    first, second = (call("warmup", "-q", "-j", "1").output for _ in "12")
    assert "tiny mixed    1 kernels compiled" in first and "Compiled 1 kernels in" in first
    assert "All kernels were compiled already" in second and done == [1]
    monkeypatch.setattr(cpu, "why_not_derived", lambda: "MINIFP_KERNELS=numpy")
    assert call("warmup").output == "Nothing can be compiled here: MINIFP_KERNELS=numpy.\n"


def test_lessons_need_each_model_in_each_precision_and_the_microscope():
    names = [*map(str, jobs_for_lessons())]
    assert len({*names}) == len(names)
    assert {f"{m}, {p}" for m in ahead.FIRST for p in ahead.PRECISIONS} <= {*names}
    assert "charlstm, inspect, mixed" in names


def test_kernels_that_no_model_calls_are_called(monkeypatch):
    call, called = Chunked.__call__, set()

    def noted(kernel, *given, **settings):
        called.add(kernel.__name__)
        return call(kernel, *given, **settings)

    monkeypatch.setattr(Chunked, "__call__", noted)
    (job,) = (job for job in jobs_for_lessons() if job.model == "operations")
    job.call()
    assert {"dot_rows", "sum_in_lines"} <= called
