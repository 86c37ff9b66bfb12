"""Runs one after another, in this process: the way without any other."""

from collections.abc import Iterator, Sequence

from minifp.lab.run import train
from minifp.lab.workers.job import Outcome, this_environment
from minifp.lab.workers.progress import Progress
from minifp.lab.workers.request import Request
from minifp.runtime.device import default_device


class InProcess:
    """Trains in this process, with all threads of the kernels."""

    lanes = 1  # runs at a time

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def outcomes(
        self, requests: Sequence[Request], progress: Progress
    ) -> Iterator[tuple[Request, Outcome]]:
        """Each run as soon as it is made."""
        for one in requests:
            progress.begin(one)
            keeps = {"snapshots": True, "weights": one.comparison.keeps_weights}
            with default_device(one.device):
                run = train(one.task, one.arm, one.seed, one.data, progress.follower(one), **keeps)
            yield one, Outcome(run, this_environment())
