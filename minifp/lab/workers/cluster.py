"""Runs on the workers of a Dask cluster, which may be on many machines.

Dask's scheduler gives each run to a worker, and gives it to another one where that dies. Tasks and
results are pickled on the way: who can talk to the scheduler can run programs on the workers, so
this is for trusted machines only.
"""

import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any

from minifp.errors import ArgumentError, TrainingError
from minifp.lab.compile_ahead import compile_for
from minifp.lab.workers.job import Job, Outcome, do
from minifp.lab.workers.progress import Progress
from minifp.lab.workers.wanted import Wanted
from minifp.runtime.callers import level_of_user
from minifp.runtime.cpu.threads import get_num_threads, set_num_threads

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
            f"no Dask scheduler answers at {address!r}: {error}. Start one by `dask scheduler`, "
            "which tells its address, such as tcp://head:8786, and workers by `dask worker ADDRESS`"
        ) from error
    with client:
        yield client


# ---- on a worker ---------------------------------------------------------------------------------


class NotWanted(Exception):
    """Nobody waits for this run any more."""


def same(ticket):
    """A task on its way, which workers get from each other by its hash."""
    return ticket


def work(number: int, topic: str, job: Job, ticket) -> Outcome:
    """Train on a worker, and tell how far it is."""
    from distributed import get_worker

    worker: Any = get_worker()
    key, before, told = worker.get_current_task(), get_num_threads(), time.monotonic()

    def on_step(run):
        nonlocal told
        if time.monotonic() - told > TELL:
            told = time.monotonic()
            worker.log_event(topic, {"run": number, "steps": run.steps})
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":
                raise NotWanted

    worker.log_event(topic, {"run": number, "begins": worker.address})
    set_num_threads(max(1, worker.state.nthreads))
    try:
        return do(Job(ticket, job.config, job.arm, job.seed, job.device), on_step)
    finally:
        set_num_threads(before)


# ---- in the process that asks --------------------------------------------------------------------


class Cluster:
    """Trains on the workers of a `distributed.Client`. Raises ArgumentError for what is none."""

    def __init__(self, client) -> None:
        if not all(hasattr(client, name) for name in ("submit", "nthreads", "subscribe_topic")):
            raise ArgumentError(
                f"client is a {type(client).__name__}, expected a distributed.Client"
            )
        if getattr(client, "asynchronous", False):
            raise ArgumentError("client is asynchronous: give one made by Client(address)")
        self.client, self.topic = client, f"minifp-{uuid.uuid4().hex}"
        self.events: SimpleQueue = SimpleQueue()
        self.begun: dict[int, list[str]] = {}  # the workers at which each run has begun

    @property
    def lanes(self) -> int:
        """Runs at a time: one in each process."""
        return max(1, len(self.client.nthreads()))

    def __enter__(self) -> "Cluster":
        self.client.subscribe_topic(self.topic, lambda event: self.events.put(event[1]))
        self.futures: list = []
        threads = self.client.nthreads()
        if not threads:
            self._warn("the cluster has no workers yet: runs begin when there are some")
        elif max(threads.values()) > 1:
            self._warn(
                f"workers have up to {max(threads.values())} threads, but each process makes one "
                "run at a time: start more workers of one thread, as by dask worker --nworkers 4 "
                "--nthreads 1"
            )
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(Exception):  # of a scheduler that is gone
            self.client.cancel([f for f in self.futures if not f.done()])
            self.client.unsubscribe_topic(self.topic)
        self.futures = []

    def _warn(self, text):
        warnings.warn(text, RuntimeWarning, stacklevel=level_of_user())

    def outcomes(
        self, wanted: Sequence[Wanted], progress: Progress
    ) -> Iterator[tuple[Wanted, Outcome]]:
        """Each run as soon as it comes home. Raises TrainingError at the end where Dask gave a run
        up, as too many of its workers died, and at once what a run raises."""
        from distributed import wait

        if all(one.device in (None, "cpu") for one in wanted):
            compile_for(wanted)  # before many do so; and what cannot be trained shows here
        waiting = dict(self._submitted(wanted))
        self.futures = [*waiting]
        lost: list[str] = []
        while waiting:
            with suppress(TimeoutError):
                wait([*waiting], GLANCE, "FIRST_COMPLETED")
            self._hear(wanted, progress)
            for future in [f for f in waiting if f.done()]:
                number = waiting.pop(future)
                one, workers = wanted[number], self.begun.get(number, [])
                outcome = self._result(future, one, lost)
                if outcome is None:
                    continue
                if len(workers) > 1:
                    outcome.run.made["repeated"] = f"the worker {workers[0]} died"
                yield one, outcome
        if lost:
            raise TrainingError(
                f"Dask gave up {len(lost)} of {len(wanted)} runs, as their workers died each time: "
                f"{'; '.join(lost)}. They may want memory. All other runs are kept"
            )

    def _submitted(self, wanted):
        """Futures, with the number of the run of each."""
        for number, one in enumerate(wanted):
            job, key = one.job(), f"{self.topic}-{number}"
            ticket = self.client.submit(same, job.task, key=f"minifp-task-{job.task.digest}")
            job = Job(None, job.config, job.arm, job.seed, job.device)
            given = number, self.topic, job, ticket
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
        except KilledWorker as error:
            lost.append(f"{one} ({error})")
        except ModuleNotFoundError as error:
            raise ArgumentError(
                f"a worker cannot import what {one} needs: {error}. All machines need minifp, and "
                "the modules of the task: install them there, or client.upload_file('mytask.py')"
            ) from error
