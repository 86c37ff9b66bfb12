"""Commands on little data: what takes minutes takes two steps."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from lab_blobs import blobs, only_picture

from minifp import exhibits
from minifp.data import TensorDataset
from minifp.lab import demo, environment, warm_record
from minifp.lab.capacity import searching
from minifp.lab.capacity.trial import attempt
from minifp.lab.commands import doctor_lab, warmup
from minifp.lab.compile_ahead import jobs_for
from minifp.lab.tasks import BUILT_IN
from minifp.models import CharLSTM
from minifp.teach import lessons


def first(dataset, n=16):
    return TensorDataset(*dataset[np.arange(n)], name="little")


def little(task, **settings):
    train, test = task.data()
    return replace(task, data=lambda: (first(train), first(test)), batch_size=8, **settings)


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    """No command reads, or deletes, what whoever runs the tests has done in lessons."""
    monkeypatch.setenv("MINIFP_TEACH_FILE", str(tmp_path / "progress.json"))


@pytest.fixture
def a_class(tmp_path):
    """What two students have handed in: their records, with three tries, and a lesson."""
    tried = {
        "predictions": {"01-sixteen-bits: How many?": 1},
        "exercises": {"round_f16": {"failed": 3}},
    }
    for name in ("progress.json", "anna.json", "bert.json", "handed-in/anna.json"):
        (tmp_path / "handed-in").mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(tried), encoding="utf-8")
    (tmp_path / "submitted").mkdir()
    shutil.copy(lessons.NOTEBOOKS / "source" / "01-sixteen-bits.py", tmp_path / "submitted")


@pytest.fixture
def short_demo(monkeypatch):
    """The parts of the demonstration with one seed, two steps, little data and one picture each."""

    def short(part):
        task = part.task()
        return replace(part, task=lambda: little(task, steps=2), seeds=1)

    monkeypatch.setattr(demo, "PARTS", tuple(map(short, demo.PARTS)))
    only_picture(monkeypatch)


@pytest.fixture
def little_tasks(monkeypatch):
    """The built-in tasks on little data, for one epoch of two steps; a small LSTM; and small
    exhibits of each wing of the gallery."""

    def of(build, sizes):
        return lambda name: little(build(name), **sizes)

    for name, (build, sets) in BUILT_IN.items():
        sizes = {"epochs": 1}
        if name in ("charlstm", "gpt"):
            sizes = {"steps": 2, "model": lambda: CharLSTM(65, hidden=8)}
        monkeypatch.setitem(BUILT_IN, name, (of(build, sizes), sets))
    groups = {name: tuple(map(little_exhibit, e[:2])) for name, e in exhibits.GROUPS.items()}
    monkeypatch.setattr(exhibits, "GROUPS", groups)
    monkeypatch.setattr(searching, "outcome", attempt)  # trials need no process of their own here
    monkeypatch.setattr(environment, "cores", lambda: 1)  # nor does compiling,
    monkeypatch.setattr(warmup, "jobs_for_lessons", lambda: jobs_for(["mlp"]))
    monkeypatch.setattr(warm_record, "write_down", lambda jobs: None)  # of which nothing is noted
    monkeypatch.setattr(doctor_lab, "CHECKS", ())  # of a seat that may not be ready
    monkeypatch.setattr(doctor_lab, "SLOWER", 1e9)


def little_exhibit(e):
    arms = (e.tested[0], e.tested[-1])
    doses = {arm: dose for arm, dose in e.doses.items() if arm in arms}
    small = {"task": lambda scale: blobs(steps=2), "looked_at": False}
    return replace(e, arms=arms, doses=doses, seeds=dict.fromkeys(e.seeds, 1), **small)
