"""Memory of captured steps: a pool for each, as a graph writes wherever its step had memory.

Where there is no room, CuPy's pool gives back the blocks that nobody has, and tries again; while a
step is captured, kernels that are captured already write to them. And blocks that nobody has hold
each other: a pool that is forgotten gives nothing back.
"""

from typing import Any

from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import cupy

UNIT = 512  # bytes that CuPy's pool takes multiples of


class PrivatePool:
    """A pool whose blocks stay where they are while a stream captures."""

    def __init__(self) -> None:
        self.pool = cupy().cuda.MemoryPool()
        release()

    def malloc(self, size: int) -> Any:
        """Memory, for `using_allocator`. Raises CaptureError where it took giving blocks back."""
        notes = capturing.now
        if notes is None or not notes.captures:
            return self.pool.malloc(size)
        blocks, total = self.pool.n_free_blocks(), self.pool.total_bytes()
        try:
            return self.pool.malloc(size)
        finally:
            grown = self.pool.total_bytes() - total  # 0 where a block was taken that nobody had
            lost = blocks - self.pool.n_free_blocks()
            if lost > (not grown) or grown not in (0, -(-size // UNIT) * UNIT):
                notes.forbid(
                    f"runs out of memory, {size:,} bytes, while it is captured (use a smaller "
                    "batch, or precision 'mixed')"
                )


retired: set = set()  # pools of steps that were dropped, of which somebody may still have memory


def retire(pool: PrivatePool) -> None:
    """Give a pool's memory back: now what nobody has, and the rest when that is so."""
    retired.add(pool.pool)
    release()


def release() -> None:
    """Give back what nobody has any more of pools that are retired."""
    if capturing.now is None:  # or it would wait for the device
        for pool in list(retired):
            pool.free_all_blocks()
            if not pool.total_bytes():
                retired.discard(pool)
