"""Which engine makes the runs."""

from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.workers.cluster import Cluster
from minifp.lab.workers.here import Here
from minifp.lab.workers.local import Local, checked_jobs


def engine_for(jobs: int = 1, client: Any = None) -> Any:
    """Who trains: the workers of a client, this process for one job, or so many others of this
    machine. Raises ArgumentError."""
    if client is not None:
        if checked_jobs(jobs) != 1:
            raise ArgumentError(f"jobs={jobs} and a client: a cluster has as many as its workers")
        return Cluster(client)
    return Here() if checked_jobs(jobs) == 1 else Local(jobs)
