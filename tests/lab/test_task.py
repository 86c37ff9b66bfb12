"""What makes a Task, and how one is found by name or in a file."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minifp as fp
from minifp import nn, optim
from minifp.errors import ArgumentError
from minifp.lab.task import Task, accuracy
from minifp.lab.tasks import BUILT_IN, load_task
from minifp.nn import functional as F

GOOD = {
    "name": "mine",
    "model": lambda: nn.Linear(2, 2),
    "data": lambda: ((), ()),
    "loss": F.cross_entropy,
    "optimizer": optim.Adam,
}

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


def test_accuracy_takes_sequences_too():
    assert accuracy(np.eye(3, dtype=np.float32)[None], np.array([[0, 1, 0]])) == pytest.approx(
        200 / 3
    )


def test_a_percentage_has_a_margin_of_half_a_point():
    assert Task(**GOOD).margin == 0.5


def test_another_metric_must_say_its_margin():
    with pytest.raises(ArgumentError, match="margin is None, say how large a difference of loss"):
        Task(**GOOD, metric=None, metric_name="loss", metric_unit="nats", goal="min")


def test_a_task_cannot_be_changed_but_replaced():
    task = Task(**GOOD)
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.dial = 3
    assert dataclasses.replace(task, dial=3).dial == 3


@pytest.mark.parametrize(
    "change, message",
    [
        ({"name": ""}, "name is ''"),
        ({"data": ([], [])}, "data is ([], []), expected a function"),
        ({"schedule": 3}, "schedule is 3, expected a function"),
        ({"metric": "accuracy"}, "metric is 'accuracy', expected a function"),
        ({"goal": "least"}, "goal is 'least'"),
        ({"metric": None}, "with metric=None the metric is the loss"),
        ({"batch_size": 0}, "batch_size is 0, expected an integer of at least 1"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"epochs": True}, "epochs is True"),
        ({"steps": -1}, "steps is -1"),
        ({"clip_norm": float("nan")}, "clip_norm is nan, expected a positive finite number"),
        ({"margin": 0}, "margin is 0, expected a positive finite number"),
        ({"margin": "half"}, "margin is 'half'"),
        ({"dial": 1.5}, "dial is 1.5, expected an integer"),
    ],
)
def test_a_wrong_field_is_named(change, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Task(**{**GOOD, **change})


def test_a_built_model_is_refused():
    with pytest.raises(ArgumentError, match="built already.*model=lambda"):
        Task(**{**GOOD, "model": nn.Linear(2, 2)})


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_tasks_build_their_model_and_optimizer(name):
    for data in BUILT_IN[name][1]:
        task = load_task(name, data=data)
        assert task.name == f"{name}-{data}"
        with fp.precision("mixed"):
            optimizer = task.optimizer(task.model().parameters())
            if task.schedule is not None:
                task.schedule(optimizer, 100)


@pytest.mark.parametrize(
    "name, data", [("lenet", "digits"), ("mlp", "digits"), ("charlstm", "shakespeare")]
)
def test_built_in_models_take_their_data(name, data):
    task = load_task(name, data)
    train, test = task.data()
    x, t = (fp.tensor(a) for a in train[np.arange(4)])
    loss = task.loss(task.model()(x), t)
    assert loss.shape == () and np.isfinite(loss.item())


def test_the_first_data_set_is_the_default():
    assert load_task("lenet").name == "lenet-digits"


def test_a_task_is_itself():
    task = Task(**GOOD)
    assert load_task(task) is task


def test_a_task_in_a_file(file):
    task = load_task(f"{file}:other")
    assert task.name == "other"
    assert len(task.source) == 64


def test_the_name_in_a_file_is_task_by_default(file):
    assert load_task(str(file)).name == "mine"


def test_a_file_may_import_what_lies_beside_it(file):
    (file.parent / "beside_it.py").write_text("rate = 0.5\n", encoding="utf-8")
    file.write_text("import beside_it\n" + FILE, encoding="utf-8")
    assert load_task(f"{file}:task").name == "mine"


@pytest.mark.parametrize(
    "spec, message",
    [
        ("resnet", "no task 'resnet': expected mlp, lenet, charlstm, an exhibit"),
        (3, "a task is a Task or a text, not int"),
        ("nowhere.py:task", "there is no file nowhere.py"),
    ],
)
def test_a_task_that_is_not_there(spec, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        load_task(spec)


@pytest.mark.parametrize(
    "name, message",
    [
        ("number", "number is a int in"),
        ("nothing", "nothing is not there in"),
    ],
)
def test_a_file_that_holds_another_thing_by_that_name(file, name, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        load_task(f"{file}:{name}")
    assert "expected a minifp.Task; there are: task, other" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["x = 1\n\nraise KeyError('gone')\n", "x = 1\n\nx = = 2\n", "\n\nraise SystemExit(2)\n"]
)
def test_a_file_that_fails_is_named_with_its_line(file, text):
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError, match=r"the file failed: .*mine.py.*line 3"):
        load_task(f"{file}:task")


def test_unknown_data_of_a_built_in_task():
    with pytest.raises(
        ArgumentError, match="no data 'shakespeare' for the task lenet: expected digits"
    ):
        load_task("lenet", data="shakespeare")


def test_ones_own_task_brings_its_own_data(file):
    with pytest.raises(ArgumentError, match="the task 'mine' brings its own data"):
        load_task(f"{file}:task", data="digits")


# ---- anything at all ----------------------------------------------------------------------------

PIECES = ["task", "=", "fp.Task(", ")", "import minifp as fp\n", "\n", "    ", "'x'", "1", "raise"]
PIECES += [
    "lambda: 1/0",
    ",",
    "def f():",
    "\x00",
    "\ufeff",
    "é",
    "name=",
    "None",
    "task = 3\n",
    "%",
]


@given(st.text(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_a_file_with_any_text_is_refused_as_a_task(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "any.py"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(ArgumentError, match=re.escape(str(path))):
        load_task(str(path))


@given(st.binary(max_size=40))
def test_a_file_of_any_bytes_is_refused_as_a_task(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "any.py"
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match=re.escape(str(path))):
        load_task(f"{path}:task")


@given(st.text(max_size=30))
def test_any_name_of_a_task_is_found_or_refused(text):
    try:
        assert load_task(text).name
    except ArgumentError as error:
        assert "expected" in str(error) or "no file" in str(error) or "no task" in str(error)


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES |= st.just(F.cross_entropy) | st.lists(st.integers(), max_size=2) | st.just(np.zeros(3))


@given(st.dictionaries(st.sampled_from([f.name for f in dataclasses.fields(Task)]), VALUES))
def test_any_fields_make_a_task_or_are_refused(changes):
    try:
        Task(**{**GOOD, **changes})
    except ArgumentError as error:
        assert str(error).startswith("Task")
