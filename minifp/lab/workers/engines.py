"""Which engine makes the runs."""

from typing import Any

from minifp.lab.workers.here import Here
from minifp.lab.workers.local import Local, checked_jobs


def engine_for(jobs: int = 1) -> Any:
    """Who trains: this process for one job, or so many others. Raises ArgumentError."""
    return Here() if checked_jobs(jobs) == 1 else Local(jobs)
