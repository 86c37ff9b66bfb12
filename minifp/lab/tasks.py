"""The built-in tasks, and finding a task by its name or in a user's file.

load_task("lenet", data="mnist")       a built-in model on one of its data sets
load_task("vgg-d:quick")               what an exhibit of the gallery trains, at one of its scales
load_task("spirals.py:task")           the Task called `task` in a file
load_task("mypackage.tasks:spirals")   the Task called `spirals` in a module that can be imported
load_task("claims.py:spirals:quick")   what the exhibit of that name trains, in a file or a module
"""

from dataclasses import replace
from functools import partial

from minifp import data, optim
from minifp.errors import ArgumentError
from minifp.lab.exhibits import catalog
from minifp.lab.named_code import Code, code_named, is_code
from minifp.lab.schedules import cosine
from minifp.lab.task import Task, found_by
from minifp.models import GPT, MLP, CharLSTM, LeNet
from minifp.nn import functional as F

SIZES = {"digits": 8, "mnist": 28, "fashion_mnist": 28}  # of the square pictures, in pixels
# Points: one of digits' 360 test pictures is 0.28.
MARGINS = {"digits": 1.0, "mnist": 0.3, "fashion_mnist": 0.5}
CHARACTERS = 65  # in Shakespeare's vocabulary
LENGTH = 64  # of the pieces that are read, in characters


def mlp(name: str) -> Task:
    """A perceptron with two hidden layers of 128 and 64, on pictures of digits."""
    return Task(
        name=f"mlp-{name}",
        description=f"a multilayer perceptron with hidden layers of 128 and 64, on {name}",
        model=lambda: MLP(SIZES[name] ** 2, 128, 64, 10),
        data=getattr(data, name),
        loss=F.cross_entropy,
        optimizer=partial(optim.Adam, lr=1e-3),
        margin=MARGINS[name],
        loss_margin=0.0047 if name == "digits" else None,  # by scripts/loss_margins.py
        batch_size=32,
        epochs=20,
    )


def lenet(name: str) -> Task:
    """A small convolutional network on pictures of digits."""
    return replace(
        mlp(name),
        name=f"lenet-{name}",
        description=f"LeNet, a small convolutional network, on {name}",
        model=lambda: LeNet(classes=10, size=SIZES[name]),
        optimizer=partial(optim.Adam, lr=5e-3),
        schedule=cosine,
        loss_margin=0.004 if name == "digits" else None,  # likewise
        batch_size=64,
        epochs=10 if name == "digits" else 2,
    )


def charlstm(name: str) -> Task:
    """A language model that reads characters, LENGTH at a time."""
    return Task(
        name=f"charlstm-{name}",
        description=f"an LSTM of 256 units that predicts the next character, on {name}",
        model=lambda: CharLSTM(CHARACTERS, hidden=256),
        data=partial(getattr(data, name), length=LENGTH),
        loss=F.cross_entropy,
        optimizer=partial(optim.Adam, lr=5e-3),
        schedule=partial(cosine, warm_up=100),
        metric=None,
        metric_name="validation loss",
        metric_unit="nats",
        goal="min",
        margin=0.03,
        batch_size=32,
        steps=2000,
        clip_norm=1.0,
    )


def gpt(name: str) -> Task:
    """A language model of four Transformer blocks, of the size that nanoGPT trains on a laptop."""
    sizes = {"block_size": LENGTH, "n_layer": 4, "n_head": 4, "n_embd": 128}
    return replace(
        charlstm(name),
        name=f"gpt-{name}",
        description=f"a GPT of 4 blocks of 128 that predicts the next character, on {name}",
        model=lambda: GPT(vocab_size=CHARACTERS, **sizes),
        optimizer=partial(optim.AdamW, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1),
        batch_size=12,
    )


BUILT_IN = {
    "mlp": (mlp, tuple(SIZES)),
    "lenet": (lenet, tuple(SIZES)),
    "charlstm": (charlstm, ("shakespeare",)),
    "gpt": (gpt, ("shakespeare",)),
}


# ---- finding a task ------------------------------------------------------------------------------


def load_task(spec: Task | str, data: str | None = None) -> Task:
    """Return the Task that `spec` means: one itself, a built-in name, an exhibit of the gallery
    with its scale, "package.module:name" or "file.py:name", or there an exhibit with its scale.

    data: the data set of a built-in task, by name; the first of its data sets by default.
    Raises ArgumentError if there is no such task, saying what there is.
    """
    if isinstance(spec, Task):
        task = spec
    elif not isinstance(spec, str):
        raise ArgumentError(f"a task is a Task or a string, not {type(spec).__name__}: {KNOWN}")
    elif spec in BUILT_IN:
        return found_by(built_in(spec, data), spec, data)
    elif (exhibited := catalog.own_task(spec)) is not None:
        task = exhibited
    elif is_code(spec):
        task = from_code(code_named(spec), spec)
    else:
        raise ArgumentError(f"no task {spec!r}: expected {KNOWN}")
    if data is not None:
        raise ArgumentError(f"data={data!r}: the task {task.name!r} has its own data")
    return task


def is_own(spec: object) -> bool:
    """Whether a text means a task of minifp's own: a built-in one, or an exhibit's."""
    return isinstance(spec, str) and (spec in BUILT_IN or catalog.own_task(spec) is not None)


KNOWN = (
    f"{', '.join(BUILT_IN)}, an exhibit of `minifp gallery` at one of its scales, such as "
    '"vgg-d:quick", or a file and a name in it, such as "mytask.py:task"'
)


def built_in(name: str, data: str | None) -> Task:
    """The built-in task of that name on one of its data sets."""
    build, sets = BUILT_IN[name]
    if data is not None and data not in sets:
        raise ArgumentError(f"no data {data!r} for the task {name}: expected {' or '.join(sets)}")
    return build(data or sets[0])


def from_code(code: Code, spec: str) -> Task:
    """The Task in a file or a module; the name is `task` where none is given."""
    if ":" in code.name:
        return catalog.task_in(code)
    name = code.name or "task"
    held = getattr(code.module, name, None)
    if not isinstance(held, Task):
        tasks = [key for key, value in vars(code.module).items() if isinstance(value, Task)]
        what = f"is a {type(held).__name__}" if hasattr(code.module, name) else "is not there"
        raise ArgumentError(
            f"task {spec!r}: {name} {what} in {code.place}, expected a minifp.Task"
            + (f"; there are: {', '.join(tasks)}" if tasks else "; it holds none")
        )
    task = replace(held, source=code.digest) if code.digest else held
    return found_by(task, f"{code.place}:{name}")
