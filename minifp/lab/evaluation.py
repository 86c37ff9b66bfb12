"""A model judged on the test set: the task's metrics, the mean loss, and what is to be kept."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.data import DataLoader
from minifp.data.structure import leaves, mapped
from minifp.errors import ArgumentError
from minifp.lab.batches import called, checked
from minifp.lab.metrics import TEST_LOSS, Metric
from minifp.numerics.formats import is_float

LOSS = "loss"  # what a task's own `evaluate` calls the test loss, if it has one


@dataclass
class Evaluation:
    """metrics: by name, those of the task first; None for one that is not finite. loss: of the test
    set, or None. kept: what else the task's own `evaluate` returned: arrays, texts, pictures and
    sounds."""

    metrics: dict[str, float | None]
    loss: float | None
    kept: dict[str, Any] = field(default_factory=dict)


def evaluate(task, state, test_set) -> Evaluation:
    """Judge what is trained: by the task's own `evaluate`, or by its loss and metrics."""
    with state.evaluating():
        if task.evaluate is not None:
            return own_evaluation(task, task.evaluate(state, test_set))
        return plain_evaluation(task, state, test_set)


def own_evaluation(task, values) -> Evaluation:
    """What a task's own `evaluate` returned. Raises ArgumentError where a metric is missing."""
    if not isinstance(values, Mapping):
        raise ArgumentError(
            f"task {task.name!r}: evaluate returned {type(values).__name__}, expected a dict of "
            f"{', '.join(m.name for m in task.all_metrics)} and of results to keep"
        )
    values = dict(values)
    missing = [m.name for m in task.all_metrics if m.name not in values]
    if missing:
        raise ArgumentError(
            f"task {task.name!r}: evaluate returned {', '.join(map(repr, values)) or 'nothing'}, "
            f"but no {', '.join(map(repr, missing))}, the task's metric"
        )
    if LOSS not in values and (task.decides or "").endswith(TEST_LOSS):
        reason = f"no {LOSS!r}, but {task.decides} is to decide"
        raise ArgumentError(f"task {task.name!r}: evaluate returned {reason}")
    metrics = {m.name: finite(number(values.pop(m.name))) for m in task.all_metrics}
    loss = finite(number(values.pop(LOSS))) if LOSS in values else None
    others = {k: v for k, v in values.items() if isinstance(v, (Real, np.number))}
    metrics |= {name: finite(number(value)) for name, value in others.items()}
    return Evaluation(metrics, loss, {k: v for k, v in values.items() if k not in others})


def plain_evaluation(task, state, test_set) -> Evaluation:
    """The mean loss over the test set, and the metrics of all outputs and targets."""
    keep = any(m.function is not None for m in task.all_metrics)
    return judged(task, *outputs_of(task, state, test_set, keep))


def outputs_of(task, state, test_set, keep: bool = True, loss_of=None) -> tuple:
    """(outputs, targets, mean loss) of the whole test set; without `keep` the loss alone.

    loss_of: in place of the task's loss.
    """
    loss_of = task.loss if loss_of is None else loss_of
    loader = DataLoader(test_set, 4 * task.batch_size, collate_fn=task.collate)
    losses, outputs, targets = [], [], []
    for batch in checked(loader, "the test set"):
        y, t = called(state.model, batch)
        losses.append((count(t), float(loss_of(y, t).item())))
        if keep:
            outputs.append(mapped(wide, y))
            targets.append(mapped(wide, t))
    loss = sum(n * l for n, l in losses) / sum(n for n, _ in losses)
    return (together(outputs), together(targets), loss) if keep else (None, None, loss)


def judged(task, outputs, targets, loss: float) -> Evaluation:
    """The metrics of all outputs and targets, and the loss."""
    return Evaluation(
        {m.name: finite(measured(m, outputs, targets, loss)) for m in task.all_metrics},
        finite(loss),
    )


def measured(metric: Metric, outputs, targets, loss) -> float:
    """One metric; NaN where an output is not finite: the largest of NaNs is the first class, which
    would be an accuracy that means nothing."""
    if metric.function is None:
        return loss
    arrays = [leaf for _, leaf in leaves(outputs)]
    if not all(np.isfinite(a).all() for a in arrays if isinstance(a, np.ndarray)):
        return math.nan
    return number(metric.function(outputs, targets))


def wide(leaf):
    """The array of a tensor, in float32 if it is narrower."""
    if not isinstance(leaf, Tensor):
        return leaf
    array = leaf.numpy()
    return array.astype(np.float32) if is_float(array.dtype) else array


def together(batches):
    """The batches as one, leaf by leaf; as a list where arrays of different shapes do not fit.

    A list of dicts has one for each example, as detectors return and take them: they become one
    list of all examples.
    """
    first = batches[0]
    if has_one_for_each(first):
        return list(chain.from_iterable(batches))
    if isinstance(first, Mapping):
        return {key: together([batch[key] for batch in batches]) for key in first}
    if isinstance(first, (tuple, list)):
        parts = [together([batch[i] for batch in batches]) for i in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    fits = isinstance(first, np.ndarray) and first.ndim and len({b.shape[1:] for b in batches}) == 1
    return np.concatenate(batches) if fits else batches


def has_one_for_each(value) -> bool:
    """Whether it has a dict for each example: a list of dicts, or a tuple of those with boxes."""
    if not isinstance(value, (list, tuple)) or not value:
        return False
    if not all(isinstance(item, Mapping) for item in value):
        return False
    return isinstance(value, list) or all("boxes" in item for item in value)


def count(batch) -> int:
    """How many examples a batch, or what is a part of one, has."""
    for part in (batch, *batch) if isinstance(batch, tuple) else (batch,):
        if has_one_for_each(part):
            return len(part)
    return next((len(leaf) for _, leaf in leaves(batch) if getattr(leaf, "ndim", 0)), 1)


def number(value) -> float:
    """A number that a metric returned. Raises ArgumentError for what is none."""
    if isinstance(value, (Tensor, np.ndarray)) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, (Real, np.number)):
        raise ArgumentError(f"a metric returned {type(value).__name__}, expected one number")
    return float(value)


def finite(value: float) -> float | None:
    """The number, or None where it is not finite."""
    return value if math.isfinite(value) else None
