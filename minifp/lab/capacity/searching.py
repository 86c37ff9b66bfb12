"""`largest_batch`: the most examples whose training step fits a memory, found by trying."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minifp.errors import ArgumentError, TrainingError
from minifp.lab.arms import is_control
from minifp.lab.capacity.sizes import as_bytes
from minifp.lab.capacity.trial import Trial, Tried, attempt
from minifp.lab.environment import environment
from minifp.lab.settings import canonical, planned_data
from minifp.lab.task import Task
from minifp.lab.tasks import load_task
from minifp.lab.where import HERE, where_of
from minifp.lab.workers import room
from minifp.lab.workers.travel import HOW_TO_GET, ticket
from minifp.numerics import policy
from minifp.report.content import Document
from minifp.report.documented import Documented
from minifp.runtime import processes
from minifp.runtime.device import as_device
from minifp.saving import files

PRECISIONS = (policy.SINGLE, "mixed")
MOST = 2**30  # examples, beyond which nobody searches
FAR = 4  # times the largest that fits, and no larger: a line through small batches may mislead
GUESSES = 3  # of which the last doubles, or halves what is left: no bent curve makes small steps


@dataclass
class Limit:
    """What was found for one precision. trials: in their order; best: the largest batch that fits,
    None where not even one example does."""

    precision: str
    trials: list[Tried] = field(default_factory=list)

    @property
    def best(self) -> Tried | None:
        """The largest that fits."""
        return max((t for t in self.trials if t.fits), key=lambda t: t.batch, default=None)

    @property
    def line(self) -> tuple[float, float] | None:
        """(bytes that do not depend on the batch, bytes for each example): the line through what
        was measured from a quarter of the largest batch on; None for fewer than two sizes."""
        if self.best is None:
            return None
        near = [t for t in self.trials if t.fits and 4 * t.batch >= self.best.batch]
        if len({t.batch for t in near}) < 2:
            return None
        each, fixed = np.polyfit([t.batch for t in near], [t.held for t in near], 1)
        return float(fixed), float(each)


@dataclass(repr=False)
class Capacity(Documented):
    """The result of `largest_batch`: a Limit for each precision.

    memory: bytes of arrays that a step may hold. examples: the size of the training set; a larger
    batch repeats them.
    """

    task: str
    memory: int
    examples: int
    limits: list[Limit]
    environment: dict[str, str]

    def document(self) -> Document:
        """All that is shown of it: see minifp/report/content.py."""
        from minifp.lab.capacity.capacity_document import document

        return document(self)


def largest_batch(
    task: Task | str,
    memory: str | int,
    precisions: Iterable = PRECISIONS,
    **where: Any,
) -> Capacity:
    """Find the largest batch whose training step fits a memory, in each precision, by trying.

    task: as `compare` takes it. memory: "2GB", "512MiB" or a number of bytes, the limit of all
    arrays at the peak of a step, as comparisons count them (weights, masters, optimizer state,
    activations, gradients), without the workspace inside operations and the process itself; the
    growth of the process is measured and reported too. Each trial is two real steps in its own
    process: the task's batch and twice its size, then the size given by the line through two that
    fit, until one more example does not. A batch larger than the training set repeats examples.
    where: out, figures, style, width, font, device and progress, as in `fp.lab.Where`; `out` gets
    largest-batch.json, .csv, .md and .html.

    Returns a Capacity. Raises ArgumentError for invalid arguments, and if the machine has less free
    memory; TrainingError if the process of a trial dies.
    """
    most, names, task = as_bytes(memory), canonical(precisions), load_task(task)
    if any(map(is_control, names)):
        raise ArgumentError(f"precisions={names}: expected precisions, not controls")
    at = where_of("largest_batch", where, HERE)
    on = as_device(None) if at.device is None else at.device
    if on == "cpu":
        check_room(memory, most)
    if at.folder is not None:
        files.check_writable(at.folder / "largest-batch.json")
    examples, sent = len(planned_data(task)[0]), ticket(task, {}, task)
    limits = []
    with bar_of(task.name, at.progress) as bar:
        for name in names:
            limit = Limit(name)
            limits.append(limit)
            for batch in sizes(limit, task.batch_size, most):
                bar.set_postfix_str(f"{name}, a batch of {batch:,}")
                limit.trials.append(outcome(Trial(sent, name, batch, most, on)))
                bar.update()
    capacity = Capacity(task.name, most, examples, limits, environment())
    at.save(capacity)
    return capacity


def check_room(memory, most: int) -> None:
    """Raise ArgumentError where a process with so many bytes of arrays would not fit here."""
    free = processes.available()
    needed = room.INTERPRETER + room.WORKSPACE * most
    if free is not None and needed > free:
        raise ArgumentError(
            f"memory={memory!r}: such a step is tried for real, in a process of about "
            f"{room.gib(needed)} with its workspace, and {room.gib(free)} are free on this "
            "machine: give less"
        )


def bar_of(name: str, progress: bool) -> Any:
    """The progress bar, of which nobody knows the end."""
    from minifp.runtime.bars import tqdm

    return tqdm(desc=name, unit=" trials", disable=not progress, leave=False)


def sizes(limit: Limit, first: int, memory: int) -> Iterable[int]:
    """The batches to try, each after what the ones before came to: twice or half the size until two
    fit, then where the line through the last two that fit meets the memory, coming from half of it
    and not too FAR; now and then twice the size, or the middle once it is known what does not fit.
    """
    batch, guesses = first, 0
    while True:
        yield batch
        fits = sorted((t for t in limit.trials if t.fits), key=lambda t: t.batch)
        low = fits[-1].batch if fits else 0
        high = min((t.batch for t in limit.trials if not t.fits), default=None)
        if high is not None and high - low == 1:
            return
        end = meeting(fits[-2], fits[-1], memory) if len(fits) > 1 else None
        if high is None and (end is None or end > FAR * low):
            batch = 2 * low if end is None else min(end // 2, FAR * low)
        else:
            guesses += 1
            if end is None or guesses % GUESSES == 0:
                end = 2 * low if high is None else (low + high) // 2
            batch = max(low + 1, end if high is None else min(end, high - 1))
        if batch > MOST:
            raise ArgumentError(f"{limit.precision}: {low:,} examples fit: give a smaller memory=")


def meeting(one: Tried, other: Tried, memory: int) -> int:
    """The batch at which the line through two trials meets the memory."""
    each = (other.held - one.held) / (other.batch - one.batch)
    return other.batch + int((memory - other.held) / each) if each > 0 else 2 * other.batch


def outcome(trial: Trial, do: Callable[[Trial], Tried] = attempt) -> Tried:
    """Carry out a trial in a process of its own. Raises TrainingError where that dies."""
    try:
        from loky import ProcessPoolExecutor
        from loky.backend import get_context
        from loky.process_executor import BrokenProcessPool
    except ImportError:
        raise ArgumentError(f"largest_batch needs loky: {HOW_TO_GET}") from None
    pool = ProcessPoolExecutor(max_workers=1, context=get_context("loky"))
    try:
        return pool.submit(do, trial).result()
    except BrokenProcessPool as error:
        raise TrainingError(
            f"the process that tried a batch of {trial.batch:,} in {trial.precision} died. A "
            "SIGKILL often means that the machine ran out of memory: give a smaller memory="
        ) from error
    finally:
        pool.shutdown(wait=True, kill_workers=True)
