"""`minifp doctor --lab`: a line for each thing, what mends it, and an exit code to go by."""

import json
import shutil
import sys
from collections import namedtuple
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from terminals import call

from minifp.lab import environment, warm_record
from minifp.lab.commands import doctor_lab as seat
from minifp.lab.commands.doctor_lab import Check
from minifp.runtime import cpu
from minifp.runtime.cpu.compile import machine
from minifp.runtime.cpu.compile.progress import PROGRESS
from minifp.teach.warming import jobs_for_lessons

doctor = partial(call, "doctor")


@pytest.fixture
def warm(monkeypatch):
    monkeypatch.setattr(warm_record, "warmed", lambda: {*map(str, jobs_for_lessons())})


def test_a_seat_that_is_ready_is_green(monkeypatch):
    monkeypatch.setattr(seat, "CHECKS", (seat.python, seat.package, seat.bundled))
    monkeypatch.setattr(seat, "SECONDS", 0.01)
    monkeypatch.setattr(seat, "SLOWER", 1e9)
    result = doctor("--lab")
    *lines, last = result.output.splitlines()
    assert result.exit_code == 0 and last == "GREEN: this seat is ready"
    said = [" ".join(line.split()[:2]) for line in lines]
    assert said == ["ok Python", "ok minifp", "ok data", "ok speed"]
    assert "ms for a step of LeNet" in lines[-1]


def test_a_seat_that_is_not_says_what_mends_it(monkeypatch):
    wrong = Check("kernels", "none are compiled", seat.warmup())
    monkeypatch.setattr(seat, "CHECKS", (seat.python, lambda: wrong))
    monkeypatch.setattr(seat, "speed", lambda: pytest.fail("it would time a compiler"))
    result = doctor("--lab")
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, "NOT READY: kernels, speed")
    assert result.output.count(f"-> {seat.warmup()}\n") == 2
    told = json.loads(doctor("--lab", "--json").output)
    assert told["ready"] is False
    assert told["checks"][1] == {"name": "kernels", "said": wrong.said, "mend": wrong.mend,
                                 "ok": False}  # fmt: skip


def test_options_that_would_do_nothing_are_refused():
    assert doctor("--json").exit_code == doctor("--kernels", "--lab").exit_code == 2


def test_kernels_are_ready_when_all_parts_were_compiled(warm, monkeypatch):
    cpu.can_compile() or pytest.skip("nothing is compiled here")
    assert seat.kernels().ok
    first, *others = jobs_for_lessons()
    there, wrote = {str(first)}, []
    monkeypatch.setattr(warm_record, "warmed", lambda: there)
    monkeypatch.setattr(warm_record, "write_down", wrote.extend)
    # By whatever ran: the record knows of the first part, and trying finds that of the others the
    # second has all it needs; the third stops where it would compile.
    tried = [replace(one, call=lambda n=n: n and machine.kept_code(f"{n}", str, "a kernel"))
             for n, one in enumerate(others[:2])]  # fmt: skip
    monkeypatch.setattr(seat, "jobs_for_lessons", lambda: [first, *tried])
    assert seat.kernels().said == "1 of 3 parts are not compiled" and wrote == [str(others[0])]
    assert PROGRESS.depth == 0 and PROGRESS.tell is None
    for folder, command in (
        (Path(sys.executable).parent, "minifp"),
        (Path("elsewhere"), f"{environment.python_path()} -m minifp"),  # no environment is active
    ):
        monkeypatch.setattr(shutil, "which", lambda word, folder=folder: str(folder / word))
        assert seat.kernels().mend == f"{command} warmup"
    monkeypatch.setattr(cpu, "numba_error", lambda is_tried: ImportError("no numba"))
    monkeypatch.delenv("MINIFP_KERNELS", raising=False)
    assert "pip install --upgrade numba" in seat.kernels().mend
    monkeypatch.setenv("MINIFP_KERNELS", "numpy")
    assert seat.kernels().mend == "unset MINIFP_KERNELS"


def test_libraries_that_are_missing_are_installed_into_this_python(monkeypatch):
    monkeypatch.setattr(seat, "find_spec", lambda name: None)
    for check, package in ((seat.pictures, "matplotlib"), (seat.sliders, "ipywidgets"),
                           (seat.notebooks, "jupyterlab ipykernel")):  # fmt: skip
        assert check().mend == f"{environment.python_path()} -m pip install {package}"


def test_a_kernel_of_another_python_is_none(monkeypatch, tmp_path):
    pytest.importorskip("jupyter_client")
    from jupyter_client.kernelspec import KernelSpecManager

    monkeypatch.setattr(seat, "library", lambda name, *_: Check(name, "all"))
    monkeypatch.setenv("PATH", str(tmp_path))  # as where no environment is activated
    programs = (sys.executable, True), ("python", True), (str(tmp_path / "python"), False)
    for program, ok in programs:
        specs = {"python3": {"spec": {"argv": [program, "-m", "ipykernel_launcher"]}}}
        monkeypatch.setattr(KernelSpecManager, "get_all_specs", lambda self, s=specs: s)
        found = seat.notebooks()
        assert found.ok == ok and ("-m ipykernel install --user" in found.mend) == (not ok)


def test_room_speed_and_threads_are_measured(monkeypatch):
    usage = namedtuple("usage", "total used free")
    for free, ok in ((seat.DISK, True), (seat.DISK - 1, False)):
        monkeypatch.setattr(shutil, "disk_usage", lambda place, n=free: usage(2 * n, n, n))
        assert seat.disk().ok == ok
    for free, ok in ((seat.MEMORY, True), (seat.MEMORY - 1, False), (None, True)):
        monkeypatch.setattr(seat.processes, "available", lambda n=free: n)
        assert seat.memory().ok == ok
    most = seat.PLANNED * seat.SLOWER / 1000
    for seconds, ok in ((0.99 * most, True), (1.01 * most, False)):
        monkeypatch.setattr(seat, "step_seconds", lambda s=seconds: s)
        assert seat.speed().ok == ok
    monkeypatch.setattr(seat, "get_num_threads", lambda: 10**6)
    assert seat.threads().mend == "unset MINIFP_THREADS"
