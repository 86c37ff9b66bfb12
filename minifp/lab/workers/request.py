"""A run that is to be made, as the process knows it that asks for it."""

from dataclasses import dataclass
from typing import Any

from minifp.lab.run import total_steps
from minifp.lab.task import Task
from minifp.lab.workers.job import Job, variables
from minifp.lab.workers.travel import Ticket
from minifp.runtime.device import as_device


@dataclass(frozen=True, eq=False)
class Request:
    """One run of a Comparison. ticket: how its task gets to other processes, where it does."""

    comparison: Any
    task: Task
    data: Any
    arm: str
    seed: int
    device: str | None = None
    ticket: Ticket | None = None

    @property
    def steps(self) -> int:
        """How many steps it takes, if it is not stopped."""
        return total_steps(self.task, self.data[0])

    def job(self) -> Job:
        """What another process is told."""
        assert self.ticket is not None
        device = as_device(None) if self.device is None else self.device
        config = self.comparison.config
        keeps = self.comparison.keeps_weights
        return Job(self.ticket, config, self.arm, self.seed, device, variables(), keeps)

    def __str__(self) -> str:
        return f"{self.arm}, seed {self.seed}"
