"""What the threads of compiled kernels (runtime/cpu/kernels/pool.py) keep for themselves."""

import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

PATIENCE = 1.0  # seconds to wait for threads that are busy


def ask_threads() -> int:
    """Bytes of the scratch that this thread and the workers keep between calls.

    A worker that was late to wake keeps what its call was given, and would not have needed, until
    it does. When all have answered none keeps anything but its scratch.
    """
    pool = sys.modules.get("minifp.runtime.cpu.kernels.pool")
    if pool is None:
        return 0
    sizes, others = [], threading.Barrier(pool.POOL.started + 1)

    def answer():
        sizes.append(getattr(getattr(pool._own, "array", None), "nbytes", 0))
        with suppress(threading.BrokenBarrierError):  # a worker that is busy for long never comes
            others.wait(PATIENCE)  # for each of the others, so that none answers twice

    for _ in range(pool.POOL.started):
        pool.POOL.calls.put(SimpleNamespace(work=answer))  # asked as if it were work
    answer()
    return sum(sizes)
