"""One batch tried in a process of its own: two real training steps, whose bytes are measured.

The second step is as all later ones: the first makes optimizer state and caches. As soon as the
bytes exceed the memory the trial is over, as where an allocation fails, so that none takes more.
Beside the bytes of arrays the growth of the process is measured: from after a step on a few
examples, by which libraries, kernels and data are loaded, to the most that it holds in the trial.
"""

import gc
import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from minifp.data import Subset
from minifp.errors import OutOfMemory
from minifp.lab.arms import as_arm
from minifp.lab.memory import OverLimit, measure_bytes
from minifp.lab.run import Run, Training
from minifp.lab.settings import planned_data
from minifp.lab.task import Task
from minifp.runtime import processes, random
from minifp.runtime.cpu.blas import one_thread
from minifp.runtime.device import default_device

WARM = 2  # examples of the step before
STEPS = 2
FRESH = "5"  # written into /proc/self/clear_refs, it lets the peak begin anew


@dataclass(frozen=True)
class Trial:
    """What is tried. task: a Ticket; memory: bytes that the step may hold; device: None for the
    default."""

    task: Any
    precision: str
    batch: int
    memory: int
    device: str | None = None


@dataclass
class Tried:
    """What came of it. bytes: at the peak of the second step, by kind; {} where it did not fit.
    growth: of the process, in bytes; None where the system does not tell, or on a GPU. why: what
    ended a trial that did not fit."""

    precision: str
    batch: int
    fits: bool
    bytes: dict[str, int] = field(default_factory=dict)
    growth: int | None = None
    why: str = ""

    @property
    def held(self) -> int:
        """Bytes of all kinds together."""
        return sum(self.bytes.values())


def attempt(trial: Trial) -> Tried:
    """Carry out a trial in this process, which is to end after it."""
    task = trial.task.load()
    train_set = planned_data(task)[0]
    of = trial.precision, trial.batch
    with default_device(trial.device), one_thread():
        two_steps(task, trial.precision, train_set, min(WARM, trial.batch), None)
        gc.collect()
        before = begin_peak() if trial.device in (None, "cpu") else None
        try:
            bytes_of_step = two_steps(task, trial.precision, train_set, trial.batch, trial.memory)
        except (OverLimit, OutOfMemory, MemoryError) as error:
            return Tried(*of, fits=False, why=str(error) or type(error).__name__)
        if sum(bytes_of_step.values()) > trial.memory:
            return Tried(*of, fits=False, why=f"it held {sum(bytes_of_step.values()):,} bytes")
    growth = None if before is None else max(0, processes.peak() - before)
    return Tried(*of, fits=True, bytes=bytes_of_step, growth=growth)


def two_steps(task: Task, precision: str, train_set, batch: int, memory: int | None) -> dict:
    """The bytes of the second step with such a batch. Raises OverLimit above `memory` bytes."""
    count = batch * task.accumulate
    examples = Subset(train_set, np.arange(count) % len(train_set))
    task = replace(task, batch_size=batch, steps=STEPS, early_stopping=None)
    arm = as_arm(precision)
    random.manual_seed(0)
    with arm.active():
        run = Run(str(arm), 0)
        training = Training(task, run, (examples, examples), graph=False)
        for _, batches in zip(range(STEPS), training.batches()):
            with measure_bytes(training.state, training.state, memory) as bytes_of_step:
                training.one_step(batches)
    return bytes_of_step


def begin_peak() -> int | None:
    """Bytes that the process holds now, above which its peak counts from here on; None where the
    system does not let it begin anew."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write(FRESH)
    except OSError:
        return None
    return processes.resident(os.getpid()) or None
