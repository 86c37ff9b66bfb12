"""The losses of a run's first steps, which tell whether numbers are still computed as they were.

On one kind of machine, with one version of each library, the same settings and seed give the same
bits. So before runs are added to those of a folder, the first steps of one of these are trained
again. Where the losses are others, something that computes has changed since, and new runs are not
mixed with the old ones.
"""

from collections.abc import Sequence
from contextlib import suppress

from minifp.errors import ArgumentError
from minifp.lab.run import Run, train
from minifp.lab.workers.job import this_environment
from minifp.lab.workers.request import Request
from minifp.runtime.device import as_device, default_device

STEPS = 20  # of which records keep the losses


class EnoughSteps(Exception):
    """A run has come as far as was asked."""


def check(requests: Sequence[Request]) -> None:
    """Train the first steps of a kept run again, for each comparison that gets more. Raises
    ArgumentError, naming run and step, where a loss is another."""
    for one in {id(one.comparison): one for one in requests}.values():
        run = kept_run(one)
        if run is not None:
            with default_device(one.device):
                losses = first_losses(one.task, run.precision, run.seed, one.data)
            check_same(one.comparison, run, losses)


def kept_run(one: Request) -> Run | None:
    """A run in the folder of a comparison that this machine should make alike: one of the baseline
    where there is one. On a GPU, of which folders do not tell the kind, there is none."""
    c, ours = one.comparison, {**this_environment(), "cores": ""}
    if c.out is None or as_device(one.device) != "cpu" or {**c.environment, "cores": ""} != ours:
        return None
    runs = [run for run in c.runs if run.history["loss"] and "environment" not in run.made]
    return min(runs, key=lambda run: run.precision != c.baseline, default=None)


def first_losses(task, arm: str, seed: int, data=None, steps: int = STEPS) -> list[float]:
    """The training losses of the first steps of a run, which ends there."""
    losses: list[float] = []

    def note(run):
        losses[:] = run.history["loss"]
        if len(losses) >= steps:
            raise EnoughSteps

    with suppress(EnoughSteps):
        train(task, arm, seed, data, note)
    return losses


def check_same(comparison, run: Run, losses: list[float]) -> None:
    """Raise ArgumentError where losses are not those with which a run began."""
    for step, (was, now) in enumerate(zip(run.history["loss"], losses), 1):
        if str(was) != str(now):  # as texts: NaN is not equal to itself
            raise ArgumentError(
                f"{comparison.out} holds {run.precision}, seed {run.seed}, whose loss at step "
                f"{step} was {was} and is now {now}, on the same kind of machine and with the same "
                "versions: what computes has changed since, or MINIFP_KERNELS has. Runs of both "
                "do not belong in one comparison: use another folder, or delete this one"
            )
