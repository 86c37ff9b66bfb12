"""Runs in several processes on this machine: one core each.

Each lane is a process of its own, with one thread, so that one which is killed takes nothing with
it but its run. Processes are spawned by loky: nothing of this process is copied, and a script
needs no `if __name__ == "__main__"`.
"""

import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np

from minifp.checks import check_count
from minifp.errors import ArgumentError, TrainingError
from minifp.lab.compile_ahead import compile_for
from minifp.lab.workers.job import Job, Outcome, do
from minifp.lab.workers.progress import Progress
from minifp.lab.workers.room import Room, array_bytes, guess
from minifp.lab.workers.travel import HOW_TO_GET
from minifp.lab.workers.wanted import Wanted
from minifp.runtime import processes
from minifp.runtime.cpu import blas
from minifp.runtime.cpu.threads import cores

BOARD = "steps"  # the file in which a process writes how many steps it has done
GLANCE = 0.5  # seconds between two looks at it
TRIES = 2  # of a run whose process dies
MOST_A_CORE = 16  # processes, of which each takes its time and memory to begin
# What runs have freed stays with the process, see runtime/cpu/heap.py; loky would take that for a
# leak, say so, and begin another process.
NO_LEAK = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e15"}


def checked_jobs(jobs) -> int:
    """How many processes. Raises ArgumentError for what is no number of them, or too many."""
    count, most = check_count("jobs", jobs), MOST_A_CORE * cores()
    if count > most:
        raise ArgumentError(
            f"jobs={count:,}: expected at most {most:,} processes, {MOST_A_CORE} for each of the "
            f"{cores()} cores of this one"
        )
    return count


# ---- in the process of a lane --------------------------------------------------------------------

_mine: dict[str, Any] = {}


def begin(folder: str, parent: int) -> None:
    """What a process does first. Ctrl-C is for the parent to hear; without it there is no work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _mine["board"] = np.memmap(Path(folder) / BOARD, np.int64, "r+")
    threading.Thread(target=_end_without, args=(parent,), daemon=True).start()


def _end_without(parent):
    begun_by = processes.Parent(parent)
    while begun_by.is_running():
        time.sleep(1)
    os._exit(1)


def work(job: Job) -> Outcome:
    """Train, and write down how far it is."""
    board = _mine["board"]
    board[0] = 0

    def on_step(run):
        board[0] = run.steps

    return do(job, on_step)


# ---- in the process that asks --------------------------------------------------------------------


class Lane:
    """A process, and the run that it has. variables: of the environment, beside those of threads,
    where they are not as in this process."""

    def __init__(self, variables: dict[str, str] | None = None) -> None:
        self.variables = variables or {}
        self.folder = tempfile.mkdtemp(prefix="minifp-")
        self.board = np.memmap(Path(self.folder) / BOARD, np.int64, "w+", shape=(1,))
        self.one: Wanted | None = None
        self.future: Future | None = None
        self.start()

    @property
    def steps(self) -> int:
        """How many steps of its run are done."""
        return int(self.board[0])

    def start(self) -> None:
        """Begin the process, which imports minifp meanwhile."""
        from loky import ProcessPoolExecutor
        from loky.backend import get_context

        self.pool = ProcessPoolExecutor(
            max_workers=1,
            context=get_context("loky"),
            env={**self.variables, **dict.fromkeys(blas.THREADS, "1"), **NO_LEAK},
            initializer=begin,
            initargs=(self.folder, os.getpid()),
        )
        self.hello = self.pool.submit(os.getpid)

    @property
    def process(self) -> int:
        """Its number; 0 where it has none yet."""
        return self.hello.result() if self.hello.done() and not self.hello.exception() else 0

    def train(self, job: Job) -> Future:
        """Let it train this."""
        return self.pool.submit(work, job)

    def give(self, one: Wanted) -> None:
        """Let it train what is wanted, and remember that."""
        self.one, self.future = one, self.train(one.job())

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.pool.shutdown(wait=True, kill_workers=True)
        shutil.rmtree(self.folder, ignore_errors=True)


class Local:
    """Trains in processes of this machine, so many at a time. Raises ArgumentError where loky is
    not there."""

    def __init__(self, jobs: int) -> None:
        self.jobs = self.lanes = checked_jobs(jobs)
        try:
            import loky  # noqa: F401
        except ImportError:
            raise ArgumentError(f"jobs={jobs} needs loky: {HOW_TO_GET}") from None

    def __enter__(self) -> "Local":
        self.working: list[Lane] = []
        return self

    def __exit__(self, *raised: object) -> None:
        for lane in self.working:
            lane.stop()

    def outcomes(
        self, wanted: Sequence[Wanted], progress: Progress
    ) -> Iterator[tuple[Wanted, Outcome]]:
        """Each run as soon as it is made. Raises TrainingError at the end where the process of a
        run has died TRIES times, and at once what a run raises."""
        count = min(self.jobs, len(wanted))
        self.lanes = progress.lanes = count
        self.working = [Lane() for _ in range(count)]
        steps = compile_for(wanted)  # while they import minifp
        data = {id(one.data): array_bytes(one.data) for one in wanted}
        room = Room(guess(sum(data.values()), (run.bytes for run in steps)))
        waiting, deaths = deque(wanted), dict[int, list[str]]()
        lost: list[Wanted] = []
        while waiting or any(lane.future for lane in self.working):
            for lane in self.working:
                busy = [other.process for other in self.working if other.future is not None]
                if lane.future is not None or not waiting:
                    continue
                if not busy or room.is_for_another(busy, lane.process, count):
                    one = waiting.popleft()
                    progress.begin(one)
                    lane.give(one)
            for lane in self._ended(progress):
                one, future = lane.one, lane.future
                lane.one = lane.future = None
                assert one is not None and future is not None
                died = deaths.get(id(one), [])
                try:
                    outcome = future.result()
                except BrokenProcessPool as error:
                    deaths[id(one)] = [*died, how_it_died(error)]
                    lane.start()
                    if len(died) + 1 < TRIES:
                        waiting.appendleft(one)
                    else:
                        lost.append(one)
                    continue
                room.learn(outcome.peak)
                if died:
                    outcome.run.made["repeated"] = f"its process died ({died[0]})"
                yield one, outcome
        if lost:
            raise TrainingError(_lost(lost, deaths, len(wanted)))

    def _ended(self, progress):
        """The lanes whose runs have ended, after at most GLANCE seconds."""
        busy = {lane.future: lane for lane in self.working if lane.future is not None}
        ended, _ = wait(busy, GLANCE, FIRST_COMPLETED)
        for future, lane in busy.items():
            if future not in ended:
                progress.reached(lane.one, lane.steps)
        return [busy[future] for future in ended]


def how_it_died(error: BaseException) -> str:
    """The signal or the exit code, as loky tells it, such as "SIGKILL(-9)"."""
    codes = re.search(r"\{(.*?)\}", str(error))
    return codes[1] if codes else "for no stated reason"


def _lost(lost, deaths, count):
    told = "; ".join(f"{one} ({', '.join(deaths[id(one)])})" for one in lost)
    return (
        f"the process of {len(lost)} of {count} runs died {TRIES} times: {told}. A SIGKILL often "
        "means that the machine ran out of memory: try fewer jobs. All other runs are saved"
    )
