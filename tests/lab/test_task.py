"""What makes a Task, and how one is found by name or in a file."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import minifp as fp
from minifp import nn, optim
from minifp.lab.task import Task, accuracy
from minifp.lab.tasks import BUILT_IN, load_task
from minifp.nn import functional as F

GOOD = {
    "name": "mine", "model": lambda: nn.Linear(2, 2), "data": lambda: ((), ()),
    "loss": F.cross_entropy, "optimizer": optim.Adam,
}  # fmt: skip

FILE = """
import minifp as fp
from minifp import nn, optim
import minifp.nn.functional as F

task = fp.Task("mine", lambda: nn.Linear(2, 2), lambda: None, F.cross_entropy, optim.Adam)
other = fp.Task("other", lambda: nn.Linear(2, 2), lambda: None, F.cross_entropy, optim.Adam)
number = 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_accuracy_is_the_percentage_of_targets_named():
    outputs = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 1.0], [5.0, 4.0]], np.float32)
    assert accuracy(outputs, np.array([1, 0, 0, 0])) == 75.0
    sequence = accuracy(np.eye(3, dtype=np.float32)[None], np.array([[0, 1, 0]]))
    assert sequence == pytest.approx(200 / 3)


@pytest.mark.parametrize("change, message", [
    ({"name": ""}, "name is ''"), ({"data": ([], [])}, "data is ([], []), expected a function"),
    ({"schedule": 3}, "schedule is 3, expected a function"),
    ({"metric": "accuracy"}, "metric is 'accuracy', expected a function"),
    ({"goal": "least"}, "goal is 'least'"),
    ({"metric": None}, "with metric=None the metric is the loss"),
    ({"metric": None, "goal": "min", "metric_unit": "nats"}, "margin is None, give, before"),
    ({"batch_size": 0}, "batch_size is 0, expected an integer of at least 1"),
    ({"batch_size": 2.5}, "batch_size is 2.5"), ({"epochs": True}, "epochs is True"),
    ({"steps": -1}, "steps is -1"),
    ({"clip_norm": float("nan")}, "clip_norm is nan, expected a positive finite number"),
    ({"margin": 0}, "margin is 0, expected a positive finite number"),
    ({"margin": "half"}, "margin is 'half'"), ({"dial": 1.5}, "dial is 1.5, expected an integer"),
    ({"model": nn.Linear(2, 2)}, "an existing model"),
])  # fmt: skip
def test_a_wrong_field_is_named(change, message):
    refuses(fp.ArgumentError, re.escape(message), Task, **{**GOOD, **change})


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_tasks_build_their_model_and_optimizer_and_take_their_first_data(name):
    sets = BUILT_IN[name][1]
    for data in sets:
        task = load_task(name, data=data)
        assert task.name == f"{name}-{data}"
        with fp.precision("mixed"):
            optimizer = task.optimizer(task.model().parameters())
            if task.schedule is not None:
                task.schedule(optimizer, 100)
    task = load_task(name)
    assert task.name == f"{name}-{[*sets][0]}"
    train, _ = task.data()
    x, t = (fp.tensor(a) for a in train[np.arange(4)])
    loss = task.loss(task.model()(x), t)
    assert loss.shape == () and np.isfinite(loss.item())


def test_a_task_in_a_file_which_may_import_what_lies_beside_it(file):
    task = load_task(f"{file}:other")
    assert task.name == "other" and len(task.source) == 64
    assert load_task(str(file)).name == "mine"
    (file.parent / "beside_it.py").write_text("rate = 0.5\n", encoding="utf-8")
    file.write_text("import beside_it\n" + FILE, encoding="utf-8")
    assert load_task(f"{file}:task").name == "mine"


def test_a_task_that_is_not_there_is_refused_with_those_that_are(file):
    there = ".*expected a minifp.Task; there are: task, other"
    for spec, data, message in (
        ("resnet", None, "no task 'resnet': expected mlp, lenet, charlstm, gpt, an exhibit"),
        (3, None, "a task is a Task or a string, not int"),
        ("nowhere.py:task", None, "no file nowhere.py"),
        (f"{file}:number", None, f"number is a int in{there}"),
        (f"{file}:nothing", None, f"nothing is not there in{there}"),
        ("lenet", "shakespeare", "no data 'shakespeare' for the task lenet: expected digits"),
        (f"{file}:task", "digits", "the task 'mine' has its own data"),
    ):
        refuses(fp.ArgumentError, message, load_task, spec, data=data)


@pytest.mark.parametrize("third", ["raise KeyError('gone')", "x = = 2", "raise SystemExit(2)"])
def test_a_file_that_fails_is_named_with_its_line(file, third):
    file.write_text(f"x = 1\n\n{third}\n", encoding="utf-8")
    refuses(fp.ArgumentError, r"the file failed: .*mine.py.*line 3", load_task, f"{file}:task")


PIECES = "task|=|fp.Task(|)|import minifp as fp\n|\n|    |'x'|1|raise|lambda: 1/0|,|def f():|\x00"
PIECES += "|\ufeff|é|name=|None|task = 3\n|%"
PYTHON = st.lists(st.sampled_from(PIECES.split("|")), max_size=12).map("".join)


@given((st.text(max_size=40) | PYTHON).map(str.encode) | st.binary(max_size=40))
def test_a_file_with_any_content_is_refused_as_a_task(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "any.py"
    path.write_bytes(content)
    for spec in (str(path), f"{path}:task"):
        refuses(fp.ArgumentError, re.escape(str(path)), load_task, spec)


@given(st.text(max_size=30))
def test_any_name_of_a_task_is_found_or_refused(text):
    try:
        assert load_task(text).name
    except fp.ArgumentError as error:
        assert "expected" in str(error) or "no file" in str(error) or "no task" in str(error)


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES |= st.just(F.cross_entropy) | st.lists(st.integers(), max_size=2) | st.just(np.zeros(3))


@given(st.dictionaries(st.sampled_from([f.name for f in dataclasses.fields(Task)]), VALUES))
def test_any_fields_make_a_task_or_are_refused(changes):
    try:
        Task(**{**GOOD, **changes})
    except fp.ArgumentError as error:
        assert str(error).startswith("Task")
