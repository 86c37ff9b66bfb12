"""Runs in other processes: the same bits, nothing lost but the run that dies, plain refusals."""

import os
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from weakref import WeakKeyDictionary

import numpy as np
import psutil
import pytest
from lab_blobs import blobs
from refusals import refuses

from minifp.errors import ArgumentError, DataError, MisuseWarning
from minifp.lab import Comparison, compare
from minifp.lab.tasks import load_task
from minifp.lab.workers import engines
from minifp.lab.workers import job as jobs
from minifp.lab.workers import room as rooms
from minifp.lab.workers.in_process import InProcess
from minifp.lab.workers.local import Local
from minifp.lab.workers.progress import Progress
from minifp.lab.workers.request import Request
from minifp.lab.workers.travel import Carried, Named, ticket
from minifp.runtime import callers, groups, processes
from minifp.runtime.cpu import threads

# A task whose loss ends the first process but this one that computes it 20 times, or what has
# started that: a worker of a cluster.
FILE = """
import os, signal, time
from pathlib import Path
from lab_blobs import blobs
from minifp.nn import functional as F
MARK, calls = Path(__file__).with_name("kill"), []

def loss(y, t):
    calls.append(1)
    if os.getpid() != {parent} and len(calls) == 20 and MARK.exists():
        whom = MARK.read_text("utf-8")
        MARK.unlink()
        if whom == "itself":
            os._exit(9)
        os.kill(os.getppid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        time.sleep(60)
    return F.cross_entropy(y, t)

task = blobs(loss=loss, steps=30)
"""
ARMS = ("float32", "mixed@order")


@pytest.fixture(scope="module")
def mortal(tmp_path_factory):
    path = tmp_path_factory.mktemp("tasks") / "mortal.py"
    path.write_text(FILE.format(parent=os.getpid()), encoding="utf-8")
    return f"{path}:task"


@pytest.fixture(scope="module")
def alone(mortal):
    return bits(compare(mortal, ARMS, 2, progress=False))


def let_die(mortal, whom):
    """Who is to die once while it is trained: "itself", the process, or its "parent"."""
    Path(mortal.rpartition(":")[0]).with_name("kill").write_text(whom, encoding="utf-8")


def bits(comparison):
    found = []
    for run in comparison.runs:
        arrays = {name: a.tobytes() for name, a in run.snapshots.items()}
        found.append((run.precision, run.seed, run.history, run.evaluations, arrays))
    return found


def test_two_processes_give_the_same_bits_though_one_dies(mortal, alone, tmp_path):
    let_die(mortal, "itself")
    out = tmp_path / "out"
    several = compare(mortal, ARMS, 2, jobs=2, out=out, progress=False, keep_weights=True)
    assert (bits(several), len([*(out / "runs").glob("*.safetensors")])) == (alone, 4)
    (note,) = [note for note in several.notes() if "twice" in note]
    assert "was run twice: its process died (EXIT(9))" in note
    assert Comparison.load(tmp_path / "out").notes() == several.notes()


@pytest.mark.nightly
def test_a_cluster_gives_the_same_bits_though_a_worker_dies(mortal, alone, tmp_path):
    distributed = pytest.importorskip("distributed")
    let_die(mortal, "parent")
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**settings, silence_logs="CRITICAL") as cluster,
        distributed.Client(cluster) as client,
    ):
        several = compare(mortal, ARMS, 2, client=client, out=tmp_path / "out", progress=False)
    assert bits(several) == alone
    (note,) = [note for note in several.notes() if "twice" in note]
    assert re.search(r"was run twice: the worker \S+, process \d+ died", note)
    assert len(Comparison.load(tmp_path / "out").runs) == 4


def test_a_task_with_a_name_travels_by_it_and_a_changed_one_by_value(mortal):
    base = load_task("lenet", "digits")
    named = ticket(base, {"steps": 3, "dial": None}, base)
    assert named == Named("lenet", "digits", (("steps", 3),))
    task = load_task(mortal)
    of_file = ticket(task, {"steps": 2}, task)
    assert of_file.spec == mortal and b"os._exit" in of_file.text
    elsewhere = replace(of_file, spec=of_file.spec.replace("mortal.py", "elsewhere.py"))
    loaded = elsewhere.load()  # where the file is not there, it is written anew
    assert (loaded.name, loaded.steps, loaded.source) == ("blobs", 2, task.source)
    changed = replace(base, batch_size=8)
    assert changed.origin is None
    by_value = ticket(changed, {}, changed)
    assert isinstance(by_value, Carried) and by_value.load().batch_size == 8
    lock = threading.Lock()
    task = blobs(model=lambda: lock)  # which cannot be pickled
    refuses(ArgumentError, "because of its model: .*lock.*its own file", ticket, task, {}, task)


def test_a_task_of_a_module_travels_by_its_name(monkeypatch):
    import lab_blobs

    task = blobs()
    monkeypatch.setattr(lab_blobs, "held", task, raising=False)
    found = ticket(task, {}, task)
    assert found == Named("lab_blobs:held") and found.load() == task
    refuses(ArgumentError, "'lab_blobs:other': other is not there in", load_task, "lab_blobs:other")
    refuses(ArgumentError, "no_such_module cannot be imported", load_task, "no_such_module:task")


def test_other_data_in_the_other_process_are_refused():
    draw = np.random.default_rng(0)

    def other_each_time():
        train, test = blobs().data()
        x, t = train.arrays
        return type(train)(x, draw.integers(0, 4, len(t)), name="clouds"), test

    task = blobs(data=other_each_time)
    config = compare(task, ["float32"], 1, steps=1, progress=False).config
    job = jobs.Job(Carried("blobs", "", b""), config, "float32", 0)
    with pytest.raises(DataError, match="differs in the process .* training data is 'clouds"):
        jobs.check_same(job, jobs.settings(task, task.data()))


def test_processes_that_there_cannot_be_are_refused(monkeypatch):
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(ArgumentError, match="jobs=.*: expected an integer, at least 1"):
            compare(blobs(), jobs=wrong, progress=False)
    refuses(ArgumentError, "jobs=100,000: expected at most .* for each of", Local, 10**5)
    monkeypatch.setitem(sys.modules, "loky", None)
    refuses(ArgumentError, "jobs=2 needs loky: python -m pip install loky", Local, 2)
    monkeypatch.setattr(engines, "IN_BROWSER", True)
    monkeypatch.setattr(callers, "told", WeakKeyDictionary())
    with pytest.warns(MisuseWarning, match="a browser has no processes"):
        assert isinstance(engines.engine_for(2), InProcess)
    refuses(ArgumentError, "at least 1", engines.engine_for, 0)


def test_the_bar_counts_the_steps_of_all_runs_also_of_one_that_begins_again():
    runs = [SimpleNamespace(steps=100) for _ in range(2)]
    with Progress("", runs, is_visible=True) as progress:
        for run, expected in ((runs[0], 50), (runs[0], 50), (runs[1], 100)):
            progress.begin(run)
            progress.reached(run, 50)
            assert (progress.bar.n, progress.bar.total) == (expected, 200)
        for run in runs:
            progress.end(run)
            progress.reached(run, 50)  # told late
        assert progress.bar.n == 200 and progress.bar.postfix == "2 of 2 runs"


GIB = 2**30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 8 GiB free, of which processes 7 and 8 hold 1 GiB each."""
    monkeypatch.setattr(groups, "PROC", tmp_path / "proc")
    monkeypatch.setattr(groups, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8 * GIB))
    monkeypatch.setattr(psutil, "Process", a_process)
    return tmp_path


def a_process(number):
    """7, which is running, or 8, which has ended."""
    if number not in (7, 8):
        raise psutil.NoSuchProcess(number)
    memory = SimpleNamespace(rss=GIB, peak_wset=2 * GIB)
    return SimpleNamespace(memory_info=lambda: memory, is_running=lambda: number == 7)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_run_for_which_there_is_no_memory_is_held_back_with_a_warning(machine):
    room = rooms.Room(4 * GIB)
    assert room.is_for_another([7], 8, 3)
    told = "about 4.0 GiB, and 8.0 GiB are free: 2 at a time instead of 3"
    with pytest.warns(RuntimeWarning, match=told):
        assert not room.is_for_another([7, 8], 9, 3)
    room.learn(3 * GIB)  # less than was guessed: now it is known
    assert not room.is_for_another([7, 8, 9], 10, 4)  # 2 + 2 + 3 + 3, and it was told already
    assert room.is_for_another([7, 8], 9, 3)


def test_the_limit_of_a_group_counts_less_its_cache(machine, monkeypatch):
    assert processes.available() == 8 * GIB
    write(machine / "proc" / "self" / "cgroup", "4:memory:/job\n0::/mine\n")
    group = machine / "groups" / "mine"
    for name, text in (("max", "max"), ("current", "9"), ("stat", "anon 1\ninactive_file 10\n")):
        write(group / f"memory.{name}", text)
    assert processes.available() == 8 * GIB
    write(group / "memory.max", "1009")
    assert processes.available() == 1010
    write(machine / "proc" / "self" / "cgroup", "0::/mine/too\n")  # a limit holds for all below
    assert processes.available() == 1010
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert processes.available() is None and rooms.Room(2**50).is_for_another([], 7, 2)


def test_a_quota_of_time_counts_as_cores(machine, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    write(machine / "proc" / "self" / "cgroup", "4:cpu,cpuacct:/job\n0::/mine\n")
    write(machine / "groups/cpu/job/cpu.cfs_period_us", "100000")
    quotas = ("mine/cpu.max", "max 100000", 8), ("cpu/job/cpu.cfs_quota_us", "300000", 3)
    for name, text, cores in (
        *quotas,
        ("mine/cpu.max", "150000 100000", 2),
        ("cpu.max", "9 99", 1),
    ):
        write(machine / "groups" / name, text)
        assert threads.cores() == cores


def test_windows_tells_the_peak_and_names_a_parent_that_has_ended(machine, monkeypatch):
    assert (processes.resident(7), processes.resident(9)) == (GIB, 0)
    monkeypatch.setattr(os, "getpid", lambda: 7)
    assert processes.peak() == 2 * GIB
    for parent, named, runs in ((7, 7, True), (8, 8, False), (9, 9, False), (7, 1, False)):
        monkeypatch.setattr(os, "getppid", lambda number=named: number)  # elsewhere 1 takes it over
        assert processes.Parent(parent).is_running() == runs


def test_what_changes_bits_goes_to_the_process_that_trains(monkeypatch, mortal):
    monkeypatch.setenv("MINIFP_KERNELS", "numpy")
    task, asked = load_task(mortal), SimpleNamespace(config={}, keeps_weights=True)
    job = Request(asked, task, task.data(), "mixed", 0, None, ticket(task, {}, task)).job()
    assert job.variables == {"MINIFP_KERNELS": "numpy"} and job.device == "cpu"
    assert job.keep_weights
