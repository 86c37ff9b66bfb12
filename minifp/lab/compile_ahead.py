"""Compile what models need before anybody waits for it: a step of each, on little data.

Whatever is compiled is kept (see runtime/cpu/kernel_cache.py), so that later runs only load it.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from minifp.data import Subset, TensorDataset
from minifp.errors import ArgumentError
from minifp.lab.arms import split
from minifp.lab.run import Run, train
from minifp.lab.task import Task
from minifp.lab.tasks import CHARACTERS, SIZES, load_task
from minifp.models import VGG, CharGRU, CIFARResNet
from minifp.runtime.cpu import blas
from minifp.runtime.cpu.compiling import PROGRESS
from minifp.runtime.device import default_device
from minifp.runtime.nearest import nearest

PRECISIONS = ("float32", "mixed", "bfloat16", "float16")


def on_digits(build: Callable) -> Task:
    """A task of another network on small pictures of digits."""
    return replace(load_task("lenet"), model=build)


# What each name stands for: FIRST is what is compiled where nothing else is asked for.
MODELS: dict[str, Callable[[], Task]] = {
    "mlp": lambda: load_task("mlp"),
    "lenet": lambda: load_task("lenet"),
    "charlstm": lambda: load_task("charlstm"),
    "resnet": lambda: on_digits(lambda: CIFARResNet(depth=8, channels=1)),
    "vgg": lambda: on_digits(lambda: VGG(classes=10, size=SIZES["digits"], channels=1)),
    "chargru": lambda: replace(load_task("charlstm"), model=lambda: CharGRU(CHARACTERS)),
}
FIRST = ("mlp", "lenet", "charlstm", "resnet")


@dataclass
class Compiled:
    """What was compiled for a model in a precision: the titles of kernels, in seconds."""

    model: str
    precision: str
    kernels: list[str] = field(default_factory=list)
    seconds: float = 0.0


def compile_ahead(models: Iterable[str], progress: bool = True, jobs: int = 1) -> list[Compiled]:
    """Train each model for two steps in each of PRECISIONS, and say what was compiled for it.

    jobs: how many processes compile at a time, each all models in one precision, as kernels of
    different precisions have little in common. Raises ArgumentError for a model that is none of
    MODELS.
    """
    from minifp.runtime.bars import tqdm

    for name in (models := [*models]):
        if name not in MODELS:
            near = " or ".join(nearest(name, MODELS)) or ", ".join(MODELS)
            raise ArgumentError(f"no model {name!r} to compile for: expected {near}")
    total = len(models) * len(PRECISIONS)
    with tqdm(
        total=total, desc="compiling", unit=" runs", disable=not progress, leave=False
    ) as bar:
        parts = []
        for share in shares(models, jobs, bar.set_postfix_str):
            parts += share
            bar.update(len(share))
    return parts


def shares(models: list[str], jobs: int, show: Callable[[str], object]) -> Iterator[list[Compiled]]:
    """What was compiled for each precision. show: what is told the titles of kernels meanwhile, if
    that is done here."""
    jobs = min(jobs, len(PRECISIONS))
    if jobs == 1:
        yield from (compile_share(models, precision, show) for precision in PRECISIONS)
        return
    from loky import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs, env=dict.fromkeys(blas.THREADS, "1")) as pool:
        yield from pool.map(partial(compile_share, models), PRECISIONS)


def compile_share(
    models: list[str], precision: str, show: Callable[[str], object] = lambda title: None
) -> list[Compiled]:
    """What was compiled for these models in a precision."""
    parts = [Compiled(model, precision) for model in models]
    for part in parts:
        with listed(part, show):
            one_step(MODELS[part.model](), part.precision)
    return parts


@contextmanager
def listed(part: Compiled, show: Callable[[str], object]) -> Iterator[None]:
    """Write into `part`, and show, what is compiled meanwhile, in place of the line of progress."""

    def tell(title):
        part.kernels.append(title)
        show(f"{part.model}, {part.precision}: {title}")

    since, PROGRESS.tell = time.perf_counter(), tell
    try:
        yield
    finally:
        PROGRESS.tell = None
        part.seconds = time.perf_counter() - since


def one_step(task: Task, precision: str) -> None:
    """Two steps of a task, the second as all later ones, and an evaluation."""
    train_set, test_set = task.data()
    data = first(train_set, 2 * task.batch_size), first(test_set, task.batch_size)
    train(replace(task, steps=2), precision, 0, data)


def compile_for(wanted) -> list[Run]:
    """Compile what runs need that are wanted (see workers/), before several processes do so.

    Returns the Runs of two steps that did it."""
    kinds = {(id(one.task), one.arm): one for one in wanted}
    seen, runs = set(), []
    for one in kinds.values():
        precision, control = split(one.arm)
        if control != "kernels" and (id(one.task), precision) not in seen:
            seen.add((id(one.task), precision))
            with default_device(one.device):
                runs.append(two_steps(one.task, precision, one.data))
    return runs


def two_steps(task: Task, precision: str, data) -> Run:
    """Two steps of a task on the first examples, and an evaluation on no more."""
    counts = 2 * task.batch_size * task.accumulate, task.batch_size
    parts = (Subset(d, range(min(n, len(d)))) for d, n in zip(data, counts))
    return train(replace(task, steps=2), precision, 0, tuple(parts))


def first(dataset, n: int) -> TensorDataset:
    """The first examples of a data set."""
    return TensorDataset(*dataset[np.arange(min(n, len(dataset)))])
