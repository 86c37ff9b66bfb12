"""What the threads of compiled kernels (runtime/cpu/kernels/pool.py) keep for themselves."""

import sys
import threading
from collections.abc import Callable
from typing import Any

PATIENCE = 1.0  # seconds to wait for threads that are busy


class Question:
    """What a worker of the pool is asked, as if it were work: how large its scratch is."""

    def __init__(self, scratch_of: Callable[[], Any], others: threading.Barrier) -> None:
        self.scratch_of, self.others, self.bytes = scratch_of, others, 0

    def work(self) -> None:
        """Answer, and wait until each of the others has: so that none answers twice."""
        self.bytes = getattr(self.scratch_of(), "nbytes", 0)
        try:
            self.others.wait(PATIENCE)
        except threading.BrokenBarrierError:
            pass  # a worker that is busy for that long answers nothing


def ask_threads() -> int:
    """Bytes of the scratch that this thread and the workers keep between calls.

    A worker that was late to wake keeps what its call was given, and would not have needed, until
    it does. When all have answered none keeps anything but its scratch.
    """
    pool = sys.modules.get("minifp.runtime.cpu.kernels.pool")
    if pool is None:
        return 0

    def own():
        return getattr(pool._own, "array", None)

    barrier = threading.Barrier(pool.POOL.started + 1)
    questions = [Question(own, barrier) for _ in range(pool.POOL.started + 1)]
    for question in questions[1:]:
        pool.POOL.calls.put(question)
    questions[0].work()
    return sum(question.bytes for question in questions)
