"""`evaluate`: trained weights judged in several number formats, without training."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.data.structure import mapped
from minifp.errors import ArgumentError, CheckpointError
from minifp.lab import evaluation
from minifp.lab.arms import Arm
from minifp.lab.conclusions.scores import primary
from minifp.lab.environment import environment
from minifp.lab.inference import costs
from minifp.lab.inference.checkpoints import Trained, open_all
from minifp.lab.inference.predictions import Changed, Predictions, changed, predictions_of
from minifp.lab.settings import canonical
from minifp.lab.state import State
from minifp.lab.where import HERE, where_of
from minifp.numerics import policy
from minifp.numerics.formats import float32, is_narrow
from minifp.report.content import Document
from minifp.report.documented import Documented
from minifp.runtime import random
from minifp.runtime.cpu.blas import one_thread
from minifp.runtime.cpu.threads import get_num_threads
from minifp.runtime.device import default_device
from minifp.saving import checkpoint, files

PRECISIONS = (policy.SINGLE, "mixed", policy.HALF)
REPEATS = 5


@dataclass
class Result:
    """One checkpoint in one precision.

    metrics: of the task, by name; loss: the mean over the test set, in float32 of what the models
    put out, but by an `evaluate` of the task's own; None where they are not finite.
    predictions: where the model names classes. times: seconds for an example, of each timed pass.
    bytes: of weights, and of activations at the peak of a batch. seconds: their median.
    """

    precision: str
    metrics: dict[str, float | None]
    loss: float | None
    predictions: Predictions | None = None
    times: list[float] = field(default_factory=list)
    bytes: dict[str, int] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        """For an example: the median of the passes."""
        return costs.typical(self.times)

    @property
    def held(self) -> int | None:
        """Bytes of weights and activations together."""
        return sum(self.bytes.values()) if self.bytes else None


@dataclass
class Judged:
    """One checkpoint: a Result for each precision, the baseline's first. batch: how many examples
    one of the timed and measured batches has. left_out: what was not looked at, and why."""

    trained: Trained
    results: dict[str, Result]
    batch: int
    left_out: list[str] = field(default_factory=list)

    @property
    def base(self) -> Result:
        """What the others are held against."""
        return next(iter(self.results.values()))

    def difference(self, precision: str) -> float | None:
        """Of the task's metric, from the baseline's; in percent of a relative one."""
        name = self.trained.task.metric_name
        value, base = (r.metrics.get(name) for r in (self.results[precision], self.base))
        if value is None or base is None:
            return None
        return primary(self.trained).between(value, base)

    def changed(self, precision: str) -> Changed | None:
        """Where it names other classes than the baseline; None where none are named."""
        pair = self.base.predictions, self.results[precision].predictions
        return None if pair[0] is None or pair[1] is None else changed(pair[0], pair[1])


@dataclass(repr=False)
class Inference(Documented):
    """The result of `evaluate`: a Judged for each checkpoint, in their order."""

    precisions: list[str]
    judged: list[Judged]
    repeats: int
    threads: int
    environment: dict[str, str]

    @property
    def others(self) -> list[str]:
        """The precisions that are held against the first."""
        return self.precisions[1:]

    def document(self) -> Document:
        """All that is shown of it: see minifp/report/content.py."""
        from minifp.lab.inference.inference_document import document

        return document(self)


def evaluate(
    checkpoints: str | os.PathLike | Iterable[str | os.PathLike],
    precisions: Iterable = PRECISIONS,
    *,
    task: Any = None,
    data: str | None = None,
    examples: int | None = None,
    batch: int | None = None,
    repeats: int = REPEATS,
    **where: Any,
) -> Inference:
    """Judge trained weights on their test sets in several precisions, and return the Inference.

    checkpoints: files that `minifp train --save` or `compare(keep_weights=True)` wrote, or folders
    of them. precisions: float32, or else the first, is the baseline; weights are rounded to the
    format of each, which then computes. task, data: as for `load_task`, needed if a file does not
    name its task (then any safetensors file of weights will do), or names a task that is not
    minifp's: code named by a file is never run.
    examples: how many of the test set, the first ones, by default all. batch: examples in a batch
    of which time and bytes are measured, by default that of an evaluation, four times the task's.
    repeats: timed passes; the median counts, and precisions take turns. where: out, figures, style,
    width, font, device and progress, as in `fp.lab.Where`; `out` gets evaluation.json, .csv, .md,
    .html and changed.csv.

    Raises ArgumentError for invalid arguments, and CheckpointError for a file that is not a
    checkpoint, does not name its task, or belongs to another one.
    """
    names = ordered(canonical([policy.as_precision(p) for p in listed(precisions)]))
    check_count("repeats", repeats)
    for name, count in (("batch", batch), ("examples", examples)):
        if count is not None:
            check_count(name, count)
    at = where_of("evaluate", where, HERE)
    if at.folder is not None:
        files.check_writable(at.folder / "evaluation.json")
    with default_device(at.device), one_thread():
        trained = open_all(checkpoints, task, data, examples)
        judged = list(each(trained, names, batch, repeats, at.progress))
    inference = Inference(names, judged, repeats, get_num_threads(), environment())
    at.save(inference)
    return inference


def listed(precisions: Any) -> list:
    """One precision, or several."""
    single = isinstance(precisions, (str, policy.Precision))
    return [precisions] if single else list(precisions)


def ordered(precisions: list[str]) -> list[str]:
    """With the baseline first: float32 where it is there."""
    base = [p for p in precisions if p == policy.SINGLE]
    return [*base, *(p for p in precisions if p not in base)]


def each(trained, precisions, batch, repeats, progress):
    """Judge one checkpoint after the other, and show how far it is."""
    from minifp.runtime.bars import tqdm

    total = len(trained) * len(precisions) * (1 + repeats)
    look = {"unit": "pass", "mininterval": 0.5, "disable": not progress, "leave": False}
    with tqdm(total=total, desc="evaluate", **look) as bar:
        for one in trained:
            bar.set_postfix_str(one.name)
            yield judge(one, precisions, batch, repeats, bar)


def judge(trained: Trained, precisions: list[str], batch, repeats: int, bar: Any) -> Judged:
    """One checkpoint in all precisions."""
    task = trained.task
    size = min(4 * task.batch_size if batch is None else batch, len(trained.test_set))
    states, results = {}, {}
    for precision in precisions:
        states[precision] = state_in(trained, precision)
        results[precision] = judged_in(trained, states[precision], precision)
        bar.update()
    whole = Judged(trained, results, size, left_out(task, results))
    batches = {}
    for precision in precisions:
        with policy.precision(precision):
            batches[precision] = costs.batches_of(task, trained.test_set, size)
    if not costs.can_be_called(states[precisions[0]], precisions[0], batches[precisions[0]]):
        whole.left_out.append("time and memory, because the task calls its model in its own way")
        bar.update(repeats * len(precisions))
        return whole
    for precision, state in states.items():
        first = batches[precision][0]
        results[precision].bytes = costs.bytes_of(state, precision, first)
    for precision, seconds in costs.seconds_of(states, batches, repeats):
        results[precision].times.append(seconds)
        bar.update()
    return whole


def state_in(trained: Trained, precision: str) -> State:
    """The models of a checkpoint in a precision. Raises CheckpointError where weights are missing
    or are others'."""
    before = random.get_state()
    try:
        random.manual_seed(0)
        with policy.precision(precision):
            state = State(trained.task, Arm(policy.as_precision(precision)), 0, trains=False)
            checkpoint.load(trained.path, model=state.models.get("", state.models))
            for name, arrays in trained.averaged.items():
                load_averaged(trained.path, state.models, name, arrays)
    finally:
        random.set_state(before)
    state.forget_unrounded()
    return state


def load_averaged(path, models: dict, name: str, arrays: dict) -> None:
    """Let a model have averages of its weights. Raises CheckpointError where they are another's."""
    try:
        models[name].load_state_dict(arrays)
    except (ArgumentError, KeyError) as error:
        raise CheckpointError(f"checkpoint {str(path)!r}: averages of {name!r}: {error}") from error


def judged_in(trained: Trained, state: State, precision: str) -> Result:
    """The metrics, the loss and the predictions on the whole test set."""
    task, test_set = trained.task, trained.test_set
    with costs.judging(state, precision):
        if task.evaluate is not None:
            judgement = evaluation.evaluate(task, state, test_set)
            return Result(precision, judgement.metrics, judgement.loss)
        loss_of = partial(loss_in_float32, task)
        outputs, targets, loss = evaluation.outputs_of(task, state, test_set, loss_of=loss_of)
    judgement = evaluation.judged(task, outputs, targets, loss)
    return Result(precision, judgement.metrics, judgement.loss, predictions_of(outputs, targets))


def loss_in_float32(task, outputs, targets):
    """The loss of what a model put out, for which its precision is not to blame: a sum of many
    numbers in float16 would be another number."""

    def upcast(leaf):
        narrow = isinstance(leaf, Tensor) and is_narrow(leaf.dtype)
        return leaf.to(float32) if narrow else leaf

    with policy.precision(policy.SINGLE):
        return task.loss(mapped(upcast, outputs), targets)


def left_out(task, results: dict[str, Result]) -> list[str]:
    """What cannot be said of this task, and why."""
    if task.evaluate is not None:
        return ["changed predictions, because the task evaluates in its own way"]
    if any(r.predictions is None for r in results.values()):
        return ["changed predictions, because the outputs are not classes"]
    return []
