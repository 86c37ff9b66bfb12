"""Compile what models need before anybody waits for it: a step of each, on little data.

Whatever is compiled is kept (see runtime/cpu/compile/kernel_cache.py), so that later runs load it.
numba and LLVM compile one kernel at a time in a process, whatever its threads, so that several
cores need several processes.
"""

import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from minifp.data import Subset
from minifp.errors import ArgumentError
from minifp.lab.arms import split
from minifp.lab.run import Run, train
from minifp.lab.task import Task
from minifp.lab.tasks import CHARACTERS, SIZES, load_task
from minifp.models import VGG, CharGRU, CIFARResNet
from minifp.runtime.cpu import blas
from minifp.runtime.cpu.compile.progress import PROGRESS
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
    "gpt": lambda: load_task("gpt"),
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


@dataclass(frozen=True)
class Job:
    """What compiles something: a call that another process can be given, and what for."""

    model: str
    precision: str
    call: Callable[[], object]

    def __str__(self) -> str:
        return f"{self.model}, {self.precision}"


def jobs_for(models: Iterable[str], precisions: Sequence[str] = PRECISIONS) -> list[Job]:
    """A step of each model in each precision; neighbours, which two processes do at a time, are of
    different precisions, whose kernels have little in common. Raises ArgumentError for a model that
    is none of MODELS."""
    for name in (models := [*models]):
        if name not in MODELS:
            near = " or ".join(nearest(name, MODELS)) or ", ".join(MODELS)
            raise ArgumentError(f"no model {name!r} to compile: expected {near}")
    return [Job(m, p, partial(step_of, m, p)) for m in models for p in precisions]


def compile_ahead(jobs: Sequence[Job], progress: bool = True, processes: int = 1) -> list[Compiled]:
    """Do all jobs, in so many processes, and say what was compiled for each."""
    from minifp.runtime.bars import tqdm

    look = {"desc": "compiling", "unit": " runs", "disable": not progress, "leave": False}
    parts = []
    with tqdm(total=len(jobs), **look) as bar:
        several = min(processes, len(jobs)) > 1
        for part in in_processes(jobs, processes) if several else map(compiled, jobs):
            parts.append(part)
            bar.set_postfix_str(f"{sum(len(p.kernels) for p in parts)} kernels, {part.model}")
            bar.update()
    return parts


def in_processes(jobs: Sequence[Job], processes: int) -> Iterator[Compiled]:
    """What each job compiled, in the order in which they end. Ctrl-C ends all at once."""
    from concurrent.futures import as_completed

    from loky import ProcessPoolExecutor
    from loky.backend import get_context

    ignore = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)  # for the parent to hear
    settings = {"initializer": ignore, "env": dict.fromkeys(blas.THREADS, "1")}
    pool = ProcessPoolExecutor(min(processes, len(jobs)), context=get_context("loky"), **settings)
    try:
        for future in as_completed([pool.submit(compiled, job) for job in jobs]):
            yield future.result()
    except BaseException:
        pool.shutdown(kill_workers=True)
        raise
    pool.shutdown()


def compiled(job: Job) -> Compiled:
    """Do a job in this process."""
    part = Compiled(job.model, job.precision)
    with listed(part):
        job.call()
    return part


class _Uncompiled(BaseException):
    """A kernel would have to be compiled. No Exception: nobody is to compute it otherwise."""


def is_compiled(job: Job) -> bool:
    """Whether a job finds all of its kernels compiled. It is done in this process, up to the first
    kernel that is not; nothing is compiled."""

    def refuse(title):
        raise _Uncompiled(title)

    try:
        PROGRESS.tell = refuse
        job.call()
    except _Uncompiled:
        return False
    finally:
        PROGRESS.tell = None
    return True


def step_of(model: str, precision: str) -> None:
    """A step of one of MODELS."""
    one_step(MODELS[model](), precision)


@contextmanager
def listed(part: Compiled) -> Iterator[None]:
    """Write into `part` what is compiled meanwhile, in place of the line of progress."""
    since, PROGRESS.tell = time.perf_counter(), part.kernels.append
    try:
        yield
    finally:
        PROGRESS.tell = None
        part.seconds = time.perf_counter() - since


def one_step(task: Task, precision: str) -> None:
    """Two steps of a task, the second as all later ones, and an evaluation."""
    two_steps(task, precision, task.data())


def compile_for(requests) -> list[Run]:
    """Compile what these runs need (see workers/), before several processes do so.

    Returns the Runs of two steps that did it."""
    kinds = {(id(one.task), one.arm): one for one in requests}
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
