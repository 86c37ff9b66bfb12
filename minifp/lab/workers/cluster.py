"""Runs on the workers of a Dask cluster, which may be on many machines.

Dask's scheduler gives each run to a worker, and gives it to another one where that dies. Tasks and
results are pickled on the way: who can talk to the scheduler can run programs on the workers, so
this is for trusted machines only.
"""

import multiprocessing
import os
import threading
import uuid
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.util import Finalize
from queue import SimpleQueue
from typing import Any

from minifp.errors import ArgumentError, TrainingError
from minifp.lab.compile_ahead import compile_for
from minifp.lab.workers.job import Job, Outcome
from minifp.lab.workers.local import TRIES, Lane, how_it_died
from minifp.lab.workers.progress import Progress
from minifp.lab.workers.wanted import Wanted
from minifp.runtime.callers import level_of_user

HOW_TO_GET = 'python -m pip install "minifp[cluster]", or distributed'
ANSWER = 20  # seconds to wait for a scheduler
GLANCE = 0.5  # seconds between two looks at what workers tell
TELL = 1.0  # seconds between two reports of a run, and between two looks whether it is wanted


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """A client of the scheduler at an address such as "tcp://head:8786", closed afterwards; None
    for None.

    Raises ArgumentError where distributed is not there, or no scheduler answers.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise ArgumentError(f"a Dask scheduler needs distributed: {HOW_TO_GET}") from None
    try:
        client = Client(address, timeout=ANSWER)
    except (OSError, ValueError, TimeoutError) as error:
        raise ArgumentError(
            f"no Dask scheduler answers at {address!r}: {error}. Start one with `dask scheduler`, "
            "which prints its address, such as tcp://head:8786, and workers with `dask worker "
            "ADDRESS`"
        ) from error
    with client:
        yield client


# ---- on a worker ---------------------------------------------------------------------------------

_mine = threading.local()


class NotWanted(Exception):
    """Nobody waits for this run any more."""


class DiedAgain(TrainingError):
    """The process of a run has died TRIES times."""


def same(ticket):
    """A task on its way, which workers get from each other by its hash."""
    return ticket


def work(number: int, topic: str, job: Job, ticket) -> Outcome:
    """Have a run made by a process of this worker's thread, and tell how far it is."""
    from distributed import get_worker

    worker: Any = get_worker()
    key, job = worker.get_current_task(), replace(job, task=ticket)
    deaths: list[str] = []
    while len(deaths) < TRIES:
        where = f"{worker.address}, process {os.getpid()}"
        worker.log_event(topic, {"run": number, "begins": where})
        lane = own_lane(job.variables)
        future = lane.train(job)
        try:
            while future not in wait([future], TELL).done:
                worker.log_event(topic, {"run": number, "steps": lane.steps})
                check_wanted(worker, key)
            outcome = future.result()
        except BrokenProcessPool as error:
            deaths.append(how_it_died(error))
            drop_lane()
        except NotWanted:
            drop_lane()
            raise
        else:
            if deaths:
                outcome.run.made["repeated"] = f"its process died ({deaths[0]})"
            return outcome
    raise DiedAgain(", ".join(deaths))


def own_lane(variables: dict[str, str]) -> Lane:
    """The process of this thread: without Dask's threads, which take a tenth of the time of one
    that trains, and with the threads of its libraries held to one. variables: of its environment.
    """
    if hasattr(_mine, "lane") and _mine.lane.variables != variables:
        drop_lane()
    if not hasattr(_mine, "lane"):
        settings = multiprocessing.current_process()._config  # type: ignore[attr-defined]
        daemon = settings.pop("daemon", None)  # Dask's workers are, and may have no children then
        try:
            _mine.lane = Lane(variables)
        finally:
            if daemon is not None:
                settings["daemon"] = daemon
        # Before a process of multiprocessing waits for its children, which it does before atexit.
        _mine.at_end = Finalize(None, _mine.lane.stop, exitpriority=10)
    return _mine.lane


def drop_lane() -> None:
    """End the process of this thread; the next run gets another."""
    _mine.at_end()
    del _mine.lane


def check_wanted(worker: Any, key: str) -> None:
    """Raise NotWanted where the run was cancelled, or who asked for it is gone."""
    task = worker.state.tasks.get(key)
    if task is None or task.state == "cancelled":
        raise NotWanted


# ---- in the process that asks --------------------------------------------------------------------


class Cluster:
    """Trains on the workers of a `distributed.Client`. Raises ArgumentError for what is none."""

    def __init__(self, client) -> None:
        if not all(hasattr(client, name) for name in ("submit", "nthreads", "subscribe_topic")):
            raise ArgumentError(
                f"client is a {type(client).__name__}, expected a distributed.Client"
            )
        if getattr(client, "asynchronous", False):
            raise ArgumentError("client is asynchronous: create it with Client(address)")
        self.client, self.topic = client, f"minifp-{uuid.uuid4().hex}"
        self.events: SimpleQueue = SimpleQueue()
        self.begun: dict[int, list[str]] = {}  # the workers at which each run has begun

    @property
    def lanes(self) -> int:
        """Runs at a time: one for each thread of a worker."""
        return max(1, sum(self.client.nthreads().values()))

    def __enter__(self) -> "Cluster":
        self.client.subscribe_topic(self.topic, lambda event: self.events.put(event[1]))
        self.futures: list = []
        if not self.client.nthreads():
            text = "the cluster has no workers yet: runs start as soon as it has"
            warnings.warn(text, RuntimeWarning, stacklevel=level_of_user())
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(Exception):  # of a scheduler that is gone
            self.client.cancel([f for f in self.futures if not f.done()])
            self.client.unsubscribe_topic(self.topic)
        self.futures = []

    def outcomes(
        self, wanted: Sequence[Wanted], progress: Progress
    ) -> Iterator[tuple[Wanted, Outcome]]:
        """Each run as soon as it comes home. Raises TrainingError at the end where Dask gave a run
        up, as too many of its workers died, and at once what a run raises."""
        from distributed import wait as wait_for

        if all(one.device in (None, "cpu") for one in wanted):
            compile_for(wanted)  # before many do so; and what cannot be trained shows here
        waiting = dict(self._submitted(wanted))
        self.futures = [*waiting]
        lost: list[str] = []
        while waiting:
            with suppress(TimeoutError):
                wait_for([*waiting], GLANCE, "FIRST_COMPLETED")
            self._hear(wanted, progress)
            for future in [f for f in waiting if f.done()]:
                number = waiting.pop(future)
                one, workers = wanted[number], self.begun.get(number, [])
                outcome = self._result(future, one, lost)
                if outcome is None:
                    continue
                if len({*workers}) > 1:
                    outcome.run.made["repeated"] = f"the worker {workers[0]} died"
                yield one, outcome
        if lost:
            raise TrainingError(
                f"{len(lost)} of {len(wanted)} runs were given up, because their processes or "
                f"workers died again: {'; '.join(lost)}. They may need more memory. All other runs "
                "are saved"
            )

    def _submitted(self, wanted):
        """Futures, with the number of the run of each."""
        for number, one in enumerate(wanted):
            job, key = one.job(), f"{self.topic}-{number}"
            ticket = self.client.submit(same, job.task, key=f"minifp-task-{job.task.digest}")
            given = number, self.topic, replace(job, task=None), ticket
            yield self.client.submit(work, *given, key=key, pure=False, priority=-number), number

    def _hear(self, wanted, progress):
        """What workers have told meanwhile."""
        progress.lanes = self.lanes
        while not self.events.empty():
            event = self.events.get()
            one = wanted[event["run"]]
            if "begins" in event:
                self.begun.setdefault(event["run"], []).append(event["begins"])
                progress.begin(one)
            else:
                progress.reached(one, event["steps"])

    def _result(self, future, one, lost):
        """The Outcome of a future; None where Dask gave it up."""
        from distributed import KilledWorker

        try:
            return future.result()
        except (KilledWorker, DiedAgain) as error:
            lost.append(f"{one} ({error})")
        except ModuleNotFoundError as error:
            raise ArgumentError(
                f"a worker cannot import what {one} needs: {error}. All machines need minifp and "
                "the task's modules: install them there, or call client.upload_file('mytask.py')"
            ) from error
