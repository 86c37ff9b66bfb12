"""What makes runs comparable: what was asked for, checked, and the settings that all runs share."""

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from minifp.data import fingerprint
from minifp.errors import ArgumentError, DataError
from minifp.lab.environment import installed
from minifp.lab.run import total_steps
from minifp.numerics import policy
from minifp.runtime import random

# ---- what is asked for ---------------------------------------------------------------------------


def adjusted(task, epochs, steps, dial):
    """The task with what the caller wants otherwise. Only one of epochs and steps can count."""
    if epochs is not None and steps is not None:
        raise ArgumentError(f"epochs={epochs} and steps={steps}: give one of them")
    changes = {"epochs": epochs, "steps": steps, "dial": dial}
    changes = {name: value for name, value in changes.items() if value is not None}
    return replace(task, **({"steps": None} if epochs is not None else {}), **changes)


def canonical(precisions) -> list[str]:
    """The canonical text of each precision; each may be there once."""
    given = [precisions] if isinstance(precisions, (str, policy.Precision)) else list(precisions)
    texts = [str(policy.as_precision(p)) for p in given]
    if not texts:
        raise ArgumentError("precisions is empty, expected at least one, such as 'mixed'")
    for text in texts:
        if texts.count(text) > 1:
            raise ArgumentError(f"the precision {text} is given twice, expected each once")
    return texts


def seed_list(seeds) -> list[int]:
    """The seeds, from how many or from which."""
    count = hasattr(seeds, "__index__") and not isinstance(seeds, bool)
    which = list(range(seeds) if count else seeds if isinstance(seeds, Iterable) else ())
    whole = all(hasattr(s, "__index__") and not isinstance(s, bool) and s >= 0 for s in which)
    if not which or not whole or len(set(which)) < len(which):
        raise ArgumentError(
            f"seeds={seeds!r}: expected how many (at least 1), or different integers of at least 0"
        )
    return [int(s) for s in which]


# ---- what is shared ------------------------------------------------------------------------------


def settings(task, data) -> dict:
    """All that makes runs comparable, as JSON holds it. The model is built once to be described."""
    before = random.get_state()
    try:
        random.manual_seed(0)
        with policy.precision("float32"):
            model = task.model()
            optimizer = task.optimizer(model.parameters())
    finally:
        random.set_state(before)
    return {
        "minifp": installed("minifp"),
        "task": task.name,
        "task file": task.source,
        "training data": told(data[0]),
        "test data": told(data[1]),
        "model": {name: list(p.shape) for name, p in model.named_parameters()},
        "optimizer": described(optimizer),
        "loss": name_of(task.loss),
        "metric": f"{task.metric_name}: {name_of(task.metric)}",
        "schedule": name_of(task.schedule),
        "batch size": task.batch_size,
        "steps": total_steps(task, data[0]),
        "clip norm": task.clip_norm,
        "dial": task.dial,
    }


def check_data(data) -> tuple:
    """The pair (training set, test set) that a task's data function returned.

    Raises DataError if it is not two data sets with examples.
    """
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise DataError(
            f"the task's data function returned {type(data).__name__}, "
            "expected a pair: (training set, test set)"
        )
    for name, dataset in zip(("training", "test"), data):
        indexed = hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
        if not indexed or isinstance(dataset, (tuple, list, dict, str, np.ndarray)):
            raise DataError(
                f"the {name} set is a {type(dataset).__name__}, expected a data set with a length "
                "and examples by index, such as fp.data.TensorDataset(x, t)"
            )
        if len(dataset) == 0:
            raise DataError(f"the {name} set is empty, expected at least one example")
    return tuple(data)


def described(optimizer) -> str:
    """An optimizer's class and the settings of each of its groups."""
    groups = [
        ", ".join(f"{k}={v}" for k, v in group.items() if k != "params")
        for group in optimizer.param_groups
    ]
    return f"{type(optimizer).__name__}({'; '.join(groups)})"


def told(dataset) -> str:
    """A data set's name, length and hash."""
    name = getattr(dataset, "name", type(dataset).__name__)
    return f"{name}, {len(dataset)} examples, sha256 {fingerprint(dataset)[:16]}"


def name_of(function) -> str | None:
    """A function's name, without what differs from one process to the next."""
    if function is None:
        return None
    return re.sub(r" at 0x[0-9a-fA-F]+", "", getattr(function, "__qualname__", repr(function)))
