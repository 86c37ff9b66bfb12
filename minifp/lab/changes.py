"""One name, one value: what is changed in a task, or in the precision that it is trained in.

    lr=0.01              a setting of the optimizer, in all of its groups that have it
    batch_size=32        a field of the task
    loss_scale=128       a switch of the precision

`accumulate` is both: of the task where it is given a whole number. A name that is none of these is
refused, with those that are meant perhaps.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.arms import as_arm
from minifp.lab.settings import adjusted
from minifp.lab.state import State
from minifp.lab.task import Task
from minifp.numerics import policy, precision_grammar
from minifp.runtime import random
from minifp.runtime.nearest import nearest

TASK, OPTIMIZER, PRECISION = "task", "optimizer", "precision"
FIELDS = ("epochs", "steps", "dial", "batch_size", "accumulate", "clip_norm", "average")
COUNTS = ("epochs", "steps", "dial", "batch_size", "accumulate")
SWITCHES = tuple(name for name in policy.SWITCHES if name != "operations")
PLAIN = (policy.SINGLE, policy.DOUBLE)  # in which no switch of the precision is changed


@dataclass(frozen=True)
class Setting:
    """Builds an optimizer, or several by name, with one setting changed."""

    build: Callable
    name: str
    value: Any

    def __call__(self, parameters):
        optimizers = self.build(parameters)
        several = optimizers.values() if isinstance(optimizers, Mapping) else optimizers
        for optimizer in several if isinstance(several, Iterable) else [several]:
            for group in optimizer.param_groups:
                if self.name in group:
                    group[self.name] = self.value
                    optimizer.check(group)
        return optimizers


def place_of(name: str, value: Any, task: Task) -> str:
    """Where a change belongs: TASK, OPTIMIZER or PRECISION. Raises ArgumentError for no place."""
    if name in FIELDS and not (name in SWITCHES and not is_whole(value)):
        return TASK
    if name in SWITCHES:
        return PRECISION
    settings = optimizer_settings(task)
    if name in settings:
        return OPTIMIZER
    known = [*settings, *FIELDS, *SWITCHES]
    near = " or ".join(nearest(name, known)) or ", ".join(dict.fromkeys(known))
    raise ArgumentError(f"{name}={as_text(value)}: unknown setting: expected {near}")


def optimizer_settings(task: Task) -> dict[str, Any]:
    """The settings of a task's optimizers, by name, with the value of the first that has it."""
    before = random.get_state()
    try:
        random.manual_seed(0)
        with policy.precision(policy.SINGLE):
            plain = State(task, as_arm(policy.SINGLE), 0).plain
    finally:
        random.set_state(before)
    settings: dict[str, Any] = {}
    for optimizer in plain.values():
        for group in optimizer.param_groups:
            settings = {**group, **settings}
    return {name: value for name, value in settings.items() if name != "params"}


def changed(task: Task, changes: Mapping[str, Any]) -> Task:
    """The task with fields and optimizer settings changed; changes of the precision are left out.

    Raises ArgumentError for a name that is none, or a value that cannot be.
    """
    for name, value in changes.items():
        place = place_of(name, value, task)
        if place == OPTIMIZER:
            task = with_setting(task, name, value)
        elif name in ("epochs", "steps", "dial"):
            task = adjusted(task, **{name: whole(name, value)})
        elif place == TASK:
            off = None if value is False else value
            field: Any = {name: whole(name, value) if name in COUNTS else off}
            task = replace(task, **field)
    return task


def with_setting(task: Task, name: str, value: Any) -> Task:
    """The task with one setting of its optimizer changed. Raises ArgumentError."""
    before = optimizer_settings(task)[name]
    kinds = (bool,) if isinstance(before, bool) else (int, float)
    if isinstance(before, (tuple, list)):
        kinds, value = (tuple,), tuple(value) if isinstance(value, list) else value
    if not isinstance(value, kinds) or isinstance(value, bool) != isinstance(before, bool):
        raise ArgumentError(f"{name}={as_text(value)}: expected such as {name}={as_text(before)}")
    changed_task = replace(task, optimizer=Setting(task.optimizer, name, value))
    try:
        optimizer_settings(changed_task)
    except ArgumentError as error:
        raise ArgumentError(f"{name}={as_text(value)}: {error}") from error
    return changed_task


def switched(precision: str, changes: Mapping[str, Any]) -> str:
    """The canonical text of a precision, or arm, with switches changed; float32 and float64 stay as
    they are, as what others are compared with. Raises PrecisionError."""
    arm = as_arm(precision)
    if is_plain(precision):
        return str(arm)
    pairs = [(name, as_text(value)) for name, value in changes.items()]
    text = precision_grammar.read(str(arm.precision)).changed(*pairs)
    return str(replace(arm, precision=policy.as_precision(str(text))))


def is_plain(precision: str) -> bool:
    """Whether a precision, or arm, is float32 or float64 as it is."""
    return str(as_arm(precision).precision) in PLAIN


def is_whole(value: Any) -> bool:
    """Whether a value is an integer."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def whole(name: str, value: Any) -> int:
    """A value that is to be an integer. Raises ArgumentError."""
    if not is_whole(value):
        raise ArgumentError(f"{name}={as_text(value)}: expected a whole number")
    return int(value)


def as_text(value: Any) -> str:
    """A value as it is written on a command line."""
    if isinstance(value, (tuple, list)):
        return "/".join(map(as_text, value))
    if value is None or isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)
