"""Have runs made, and keep each as soon as it is there."""

from collections.abc import Sequence
from typing import Any

from minifp.lab.results import first_losses, store
from minifp.lab.workers.job import Outcome, this_environment
from minifp.lab.workers.progress import Progress
from minifp.lab.workers.request import Request


def carry_out(title: str, requests: Sequence[Request], engine: Any, progress: bool) -> None:
    """Let an engine make runs, and add each to its comparison, and to the folder of that.

    engine: InProcess, Local or Cluster: its `outcomes` gives runs in whatever order they come home.
    Raises ArgumentError where a run that is kept there would now have other losses.
    """
    if not requests:
        return
    first_losses.check(requests)
    with engine, Progress(title, requests, progress) as bar:
        for one, outcome in engine.outcomes(requests, bar):
            bar.end(one)
            keep(one, outcome)


def keep(one: Request, outcome: Outcome) -> None:
    """Add a run to its comparison, at the place that it was asked for at, and save it."""
    comparison, run = one.comparison, outcome.run
    differing = differences(comparison.environment, outcome.environment)
    if differing:
        run.made["environment"] = differing
    comparison.runs.append(run)
    places = {pair: i for i, pair in enumerate(comparison.asked)}
    comparison.runs.sort(key=lambda r: places.get((r.precision, r.seed), -1))
    if comparison.out is not None:
        store.save_run(comparison.out, run, comparison.config, comparison.origin)
        comparison.save(comparison.out)


def differences(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """What another process runs on that is not what this one does, but how many cores there are."""
    return "; ".join(
        f"{name} {value} instead of {ours.get(name)}"
        for name, value in theirs.items()
        if name != "cores" and value != ours.get(name, this_environment().get(name))
    )
