"""Which engine makes the runs."""

from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.workers.cluster import Cluster
from minifp.lab.workers.in_process import InProcess
from minifp.lab.workers.local import Local, checked_jobs
from minifp.runtime.browser import IN_BROWSER
from minifp.runtime.callers import warn_once


def engine_for(jobs: int = 1, client: Any = None) -> Any:
    """Who trains: the workers of a client, this process for one job, or so many others of this
    machine. Raises ArgumentError."""
    if client is not None:
        if checked_jobs(jobs) != 1:
            raise ArgumentError(f"jobs={jobs} and a client: a cluster has as many jobs as workers")
        return Cluster(client)
    return InProcess() if possible_jobs(jobs) == 1 else Local(jobs)


def possible_jobs(jobs: int) -> int:
    """So many, or one where there are no processes, which is said once. Raises ArgumentError."""
    count = checked_jobs(jobs)
    if count == 1 or not IN_BROWSER:
        return count
    warn_once("jobs", f"jobs={jobs}: a browser has no processes, so runs go one by one: jobs=1")
    return 1
