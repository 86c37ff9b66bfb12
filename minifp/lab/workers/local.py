"""Runs in several processes on this machine: one core each."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from minifp.checks import check_count
from minifp.errors import ArgumentError
from minifp.lab.workers.elsewhere import Elsewhere
from minifp.lab.workers.job import Outcome, variables
from minifp.lab.workers.lane import Lane
from minifp.lab.workers.request import Request
from minifp.lab.workers.room import Room, array_bytes, guess
from minifp.lab.workers.travel import HOW_TO_GET
from minifp.runtime.cpu.threads import cores

MOST_A_CORE = 16  # processes, of which each takes its time and memory to begin


def checked_jobs(jobs) -> int:
    """How many processes. Raises ArgumentError for what is no number of them, or too many."""
    count, most = check_count("jobs", jobs), MOST_A_CORE * cores()
    if count > most:
        raise ArgumentError(
            f"jobs={count:,}: expected at most {most:,} processes, {MOST_A_CORE} for each of the "
            f"{cores()} cores of this one"
        )
    return count


class Local(Elsewhere):
    """Trains in processes of this machine, so many at a time, each with a thread that waits for it.
    Raises ArgumentError where loky is not there."""

    def __init__(self, jobs: int) -> None:
        self.jobs = checked_jobs(jobs)
        try:
            import loky  # noqa: F401
        except ImportError:
            raise ArgumentError(f"jobs={jobs} needs loky: {HOW_TO_GET}") from None

    @property
    def lanes(self) -> int:
        """Runs at a time."""
        return self.jobs

    def __enter__(self) -> "Local":
        self.idle: list[Lane] = []
        self.busy: dict[Future, Lane] = {}
        self.threads, self.is_open = ThreadPoolExecutor(self.jobs), True
        return self

    def __exit__(self, *raised: object) -> None:
        self.is_open = False
        for lane in (*self.idle, *self.busy.values()):
            lane.stop()
        self.threads.shutdown(cancel_futures=True)

    def prepare(self, requests: Sequence[Request]) -> list:
        """Begin the processes, and compile while they import minifp."""
        self.idle = [Lane(variables()) for _ in range(min(self.jobs, len(requests)))]
        runs = super().prepare(requests)
        data = {id(one.data): array_bytes(one.data) for one in requests}
        self.room = Room(guess(sum(data.values()), (run.bytes for run in runs)))
        return runs

    def has_room(self, running: int) -> bool:
        """Whether a process is idle, and there is memory for its run."""
        if not self.idle or not running:
            return bool(self.idle)
        busy = [lane.process for lane in self.busy.values()]
        count = len(self.idle) + len(busy)
        return self.room.is_for_another(busy, self.idle[0].process, count)

    def send(self, number: int, one: Request) -> Future:
        """Let an idle process make a run."""
        lane = self.idle.pop(0)
        how = "this machine", lambda what: self.events.put((number, what)), lambda: self.is_open
        future = self.threads.submit(lane.train, one.job(), *how)
        self.busy[future] = lane
        return future

    def result(self, future: Future, one: Request) -> Outcome:
        """A run, whose process is idle again."""
        self.idle.append(self.busy.pop(future))
        outcome = future.result()
        self.room.learn(outcome.peak)
        return outcome
