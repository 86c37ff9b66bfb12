"""Runs on the workers of a Dask cluster, which may be on many machines.

Dask's scheduler gives each run to a worker, and gives it to another one where that dies. Tasks and
results are pickled on the way: who can talk to the scheduler can run programs on the workers, so
this is for trusted machines only.
"""

import os
import threading
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.util import Finalize
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.workers.elsewhere import Elsewhere
from minifp.lab.workers.job import Job, Outcome
from minifp.lab.workers.lane import DiedAgain, Lane
from minifp.lab.workers.request import Request
from minifp.runtime.callers import level_of_user

HOW_TO_GET = 'python -m pip install "minifp[cluster]", or distributed'
ANSWER = 20  # seconds to wait for a scheduler


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

LANES: dict[int, Lane] = {}  # of threads


def same(ticket):
    """A task on its way, which workers get from each other by its hash."""
    return ticket


def work(number: int, topic: str, job: Job, ticket) -> Outcome:
    """Have a run made by a process of this worker's thread, and tell how far it is."""
    from distributed import get_worker

    worker: Any = get_worker()
    key = worker.get_current_task()
    where = f"{worker.address}, process {os.getpid()}"

    def tell(what):
        worker.log_event(topic, (number, what))

    def is_wanted():
        """Whether it was not cancelled, and who asked for it is there."""
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    return own_lane(job.variables).train(replace(job, task=ticket), where, tell, is_wanted)


def own_lane(variables: dict[str, str]) -> Lane:
    """The process of this thread: without Dask's threads, which take a tenth of the time of one
    that trains, and with the threads of its libraries held to one. variables: of its environment.
    """
    thread = threading.get_ident()
    if thread in LANES and LANES[thread].variables != variables:
        LANES.pop(thread).stop()
    if thread not in LANES:
        lane = LANES[thread] = Lane(variables)
        # Before a process of multiprocessing waits for its children, which it does before atexit.
        Finalize(None, lane.stop, exitpriority=10)
    return LANES[thread]


# ---- in the process that asks --------------------------------------------------------------------


class Cluster(Elsewhere):
    """Trains on the workers of a `distributed.Client`. Raises ArgumentError for what is none."""

    def __init__(self, client) -> None:
        if not all(hasattr(client, name) for name in ("submit", "nthreads", "subscribe_topic")):
            kind = type(client).__name__
            raise ArgumentError(f"client is a {kind}, expected a distributed.Client")
        if getattr(client, "asynchronous", False):
            raise ArgumentError("client is asynchronous: create it with Client(address)")
        self.client, self.futures = client, list[Any]()

    @property
    def lanes(self) -> int:
        """Runs at a time: one for each thread of a worker."""
        return max(1, sum(self.client.nthreads().values()))

    def __enter__(self) -> "Cluster":
        self.topic = f"minifp-{uuid.uuid4().hex}"
        self.client.subscribe_topic(self.topic, lambda event: self.events.put(event[1]))
        if not self.client.nthreads():
            text = "the cluster has no workers yet: runs start as soon as it has"
            warnings.warn(text, RuntimeWarning, stacklevel=level_of_user())
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(Exception):  # of a scheduler that is gone
            self.client.cancel([f for f in self.futures if not f.done()])
            self.client.unsubscribe_topic(self.topic)
        self.futures = []

    def prepare(self, requests: Sequence[Request]) -> list:
        """Compile for CPUs alone: a GPU may be elsewhere."""
        return super().prepare([one for one in requests if one.device in (None, "cpu")])

    def has_room(self, running: int) -> bool:
        """Dask has all runs at once."""
        return True

    def send(self, number: int, one: Request) -> Any:
        """Let Dask have a run, those before it first."""
        job, key = one.job(), f"{self.topic}-{number}"
        ticket = self.client.submit(same, job.task, key=f"minifp-task-{job.task.digest}")
        arguments = number, self.topic, replace(job, task=None), ticket
        future = self.client.submit(work, *arguments, key=key, pure=False, priority=-number)
        self.futures.append(future)
        return future

    def result(self, future: Any, one: Request) -> Outcome:
        """A run, given up where too many of its workers died."""
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            raise DiedAgain(str(error)) from error
        except ModuleNotFoundError as error:
            raise ArgumentError(
                f"a worker cannot import what {one} needs: {error}. All machines need minifp and "
                "the task's modules: install them there, or call client.upload_file('mytask.py')"
            ) from error
