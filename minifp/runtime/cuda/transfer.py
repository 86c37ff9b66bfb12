"""Batches on their way to the GPU: through pinned memory, while the GPU works on those before.

A copy from ordinary memory is made in two, and the host waits for it. From pinned memory the GPU
copies by itself, on a stream of its own, into memory that nobody else has; whoever uses the batch
has it copied from there by the GPU, in the order of its own work.

Streams know nothing of each other: an event says what waits for what. Memory that is taken on one
stream may still be in use there, by what was launched before; memory that is given back may be
written by anyone at once, on the host too.
"""

from typing import Any
from weakref import finalize

import numpy as np

from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import cupy, empty, lasting

SLOTS = 2  # batches that can be on their way
BYTES = np.dtype("uint8")


class Slot:
    """Memory for one array on its way, here and there, and when it was filled and read last."""

    def __init__(self, size: int) -> None:
        memory = cupy().cuda.alloc_pinned_memory(size)
        self.here, self.there = np.frombuffer(memory, BYTES, size), lasting((size,), BYTES)
        self.filled: Any = None
        self.read: Any = None


class Upload:
    """Copies arrays to the current device: upload(array). Nothing waits but for a free slot."""

    def __init__(self) -> None:
        self.stream = cupy().cuda.Stream(non_blocking=True)
        self.slots: dict[int, list[Slot]] = {}  # by their size, those used longest ago first
        finalize(self, wait_for, self.slots).atexit = False

    def __call__(self, a: np.ndarray) -> Any:
        """The array on the device, for what is launched on the current stream from now on."""
        capturing.refuse("copies an array from the CPU to the GPU")
        made = empty(a.shape, a.dtype)
        if not a.size:
            return made
        current = cupy().cuda.get_current_stream()
        slot = self._free(a.nbytes, current)
        if slot.filled is not None:
            slot.filled.synchronize()  # or what is on its way would be written over
            self.stream.wait_event(slot.read)
        np.copyto(slot.here[: a.nbytes].view(a.dtype).reshape(a.shape), a)
        slot.there.data.copy_from_host_async(slot.here.ctypes.data, a.nbytes, self.stream)
        slot.filled = self.stream.record()
        current.wait_event(slot.filled)
        made.data.copy_from_device_async(slot.there.data, a.nbytes, current)
        slot.read = current.record()
        return made

    def _free(self, size, current):
        held = self.slots.setdefault(size, [])
        if len(held) < SLOTS:
            held.append(Slot(size))
            self.stream.wait_event(current.record())
            return held[-1]
        held.append(held.pop(0))
        return held[-1]


def wait_for(slots: dict[int, list[Slot]]) -> None:
    """Wait until nothing reads the memory of slots, so that it can go back."""
    for slot in (slot for held in slots.values() for slot in held):
        if slot.read is not None:
            slot.read.synchronize()
