"""One run as it is asked of another process, and what comes home."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from minifp.errors import DataError
from minifp.lab.environment import environment
from minifp.lab.results.origin import VARIABLES
from minifp.lab.run import Run, train
from minifp.lab.settings import check_data, settings
from minifp.lab.task import Task
from minifp.runtime.device import default_device
from minifp.runtime.processes import peak

SHOWN = 60  # characters of a setting that differs


@dataclass(frozen=True)
class Job:
    """One arm with one seed. config: the settings that the task must have there too, data and
    versions among them. device: where to train, None for the default there. variables: those that
    change bits and are set in the environment of the process that asks. keep_weights: whether the
    run comes home with its weights."""

    task: Any  # a Ticket
    config: dict
    arm: str
    seed: int
    device: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    keep_weights: bool = False


@dataclass
class Outcome:
    """A run that came home, and the process that made it: its environment, its number, and the
    bytes that it held at most, where the system tells."""

    run: Run
    environment: dict[str, str] = field(default_factory=dict)
    process: int = 0
    peak: int = 0


ALONE = threading.Lock()  # runs share the seed and the observers of their process
LAST: dict = {}  # what the last job of this process was of: the next one is mostly of the same


def do(job: Job, on_step: Callable[[Run], object] | None = None) -> Outcome:
    """Train as a job says, in this process. Raises DataError where data or settings are others."""
    with ALONE:
        task, data = prepared(job)
        keeps = {"snapshots": True, "weights": job.keep_weights}
        with default_device(job.device):
            run = train(task, job.arm, job.seed, data, on_step, **keeps)
    return Outcome(run, this_environment(), os.getpid(), peak())


def prepared(job: Job) -> tuple[Task, tuple]:
    """The task of a job and its data, which are kept for the next job."""
    if LAST.get("ticket") != job.task or LAST.get("config") != job.config:
        LAST.clear()
        task = job.task.load()
        data = check_data(task.data())
        check_same(job, settings(task, data))
        LAST.update(ticket=job.task, config=job.config, task=task, data=data)
    return LAST["task"], LAST["data"]


def check_same(job: Job, there: dict) -> None:
    """Raise DataError where a task has other settings here than where it was sent from."""
    differing = [key for key in job.config if there.get(key) != job.config[key]]
    if differing:
        texts = {key: [str(of.get(key))[:SHOWN] for of in (there, job.config)] for key in differing}
        differences = "; ".join(f"{k} is {a!r} instead of {b!r}" for k, (a, b) in texts.items())
        raise DataError(
            f"the task {job.config['task']!r} differs in the process that should train it: "
            f"{differences}. A task's data function must return the same data at each call, so "
            "give its random numbers a seed. minifp, files and modules must be the same on all "
            "machines"
        )


def variables() -> dict[str, str]:
    """What changes bits, of what is set in the environment of this process."""
    return {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}


@cache
def this_environment() -> dict[str, str]:
    """The environment of this process."""
    return environment()
