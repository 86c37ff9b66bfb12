"""Runs one after another, in this process: the way without any other."""

from collections.abc import Iterator, Sequence

from minifp.lab.run import train
from minifp.lab.workers.job import Outcome, here
from minifp.lab.workers.progress import Progress
from minifp.lab.workers.wanted import Wanted
from minifp.runtime.device import default_device


class Here:
    """Trains in this process, with all threads of the kernels."""

    lanes = 1  # runs at a time

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def outcomes(
        self, wanted: Sequence[Wanted], progress: Progress
    ) -> Iterator[tuple[Wanted, Outcome]]:
        """Each run as soon as it is made."""
        for one in wanted:
            progress.begin(one)
            with default_device(one.device):
                run = train(
                    one.task,
                    one.arm,
                    one.seed,
                    one.data,
                    lambda run, one=one: progress.reached(one, run.steps),
                    snapshots=True,
                    weights=one.comparison.keeps_weights,
                )
            yield one, Outcome(run, here())
