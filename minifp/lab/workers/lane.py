"""A process that trains, one run after another: one core.

One that is killed takes nothing with it but its run, which another one makes. Processes are spawned
by loky: nothing of this process is copied, and a script needs no `if __name__ == "__main__"`.
"""

import multiprocessing
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np

from minifp.errors import TrainingError
from minifp.lab.workers.job import Job, Outcome, do
from minifp.runtime import processes
from minifp.runtime.cpu import blas

BOARD = "steps"  # the file in which a process writes how many steps it has done
GLANCE = 0.5  # seconds between two looks at it
TRIES = 2  # of a run whose process dies
# What runs have freed stays with the process, see runtime/cpu/heap.py; loky would take that for a
# leak, say so, and begin another process.
NO_LEAK = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e15"}


class DiedAgain(TrainingError):
    """The process of a run has died TRIES times."""


# ---- in the process ------------------------------------------------------------------------------

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
    """A process, begun where it is not there. variables: of its environment, beside those of
    threads."""

    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables
        self.folder = tempfile.mkdtemp(prefix="minifp-")
        self.board = np.memmap(Path(self.folder) / BOARD, np.int64, "w+", shape=(1,))
        self.pool: Any = None
        self.start()

    def start(self) -> None:
        """Begin the process, which imports minifp meanwhile; also that of a daemon, as a worker of
        Dask is one."""
        from loky import ProcessPoolExecutor
        from loky.backend import get_context

        env = {**self.variables, **dict.fromkeys(blas.THREADS, "1"), **NO_LEAK}
        first = {"initializer": begin, "initargs": (self.folder, os.getpid())}
        self.pool = ProcessPoolExecutor(1, context=get_context("loky"), env=env, **first)
        settings = multiprocessing.current_process()._config  # type: ignore[attr-defined]
        own = {name: settings.pop(name) for name in ("daemon",) if name in settings}
        try:
            self.hello = self.pool.submit(os.getpid)
        finally:
            settings.update(own)

    @property
    def process(self) -> int:
        """Its number; 0 where it has none yet."""
        return self.hello.result() if self.hello.done() and not self.hello.exception() else 0

    def train(self, job: Job, where: str, tell: Callable, is_wanted: Callable[[], bool]) -> Outcome:
        """Have a run made, once more by another process where it dies.

        tell: called with `where` when it begins, and now and then with the steps that are done.
        is_wanted: asked then; where it is not, the process ends. Raises CancelledError then,
        DiedAgain, and what the run raises.
        """
        deaths: list[str] = []
        while len(deaths) < TRIES and is_wanted():
            tell(where)
            try:
                outcome = self._trained(job, tell, is_wanted)
            except BrokenProcessPool as error:
                deaths.append(how_it_died(error))
                self.end()
            else:
                if deaths:
                    outcome.run.made["repeated"] = f"its process died ({deaths[0]})"
                return outcome
        raise DiedAgain(", ".join(deaths))

    def _trained(self, job, tell, is_wanted):
        if self.pool is None:
            self.start()
        self.board[0] = 0
        future = self.pool.submit(work, job)
        while future not in wait([future], GLANCE).done and is_wanted():
            tell(int(self.board[0]))
        if not is_wanted():
            self.end()
            raise CancelledError
        return future.result()

    def end(self) -> None:
        """End the process, whatever it is doing; the next run gets another."""
        if self.pool is not None:
            self.pool.shutdown(wait=True, kill_workers=True)
        self.pool = None

    def stop(self) -> None:
        """End the process for ever."""
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)


def how_it_died(error: BaseException) -> str:
    """The signal or the exit code, as loky tells it, such as "SIGKILL(-9)"."""
    codes = re.search(r"\{(.*?)\}", str(error))
    return codes[1] if codes else "for no stated reason"
