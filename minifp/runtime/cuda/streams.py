"""Streams of captured steps: one that a dropped step gives back serves the next.

A stream has a handle of cuBLAS with a workspace of up to 32 MiB. Were each captured step to make a
stream of its own, those would add up.
"""

from contextlib import suppress
from typing import Any

from minifp.errors import DeviceError
from minifp.runtime.cuda import product
from minifp.runtime.cuda.arrays import cupy

unused: dict[int, list[Any]] = {}  # by the number of the device


class Lease:
    """A stream of the current device that nobody else uses, until it is given back or dropped."""

    def __init__(self) -> None:
        self.device = cupy().cuda.Device().id
        streams = unused.setdefault(self.device, [])
        self.stream = streams.pop() if streams else cupy().cuda.Stream(non_blocking=True)

    def prepare(self) -> None:
        """Make the stream's handle of cuBLAS, which is not allowed while the stream is captured.

        Where there is no cuBLAS nothing is done: a step without products needs none.
        """
        with self.stream, suppress(DeviceError):
            product.current_handle()

    def give_back(self) -> None:
        """Let another have the stream; what is queued on it will be done first."""
        unused[self.device].append(self.stream)

    def drop(self) -> None:
        """Free the stream's handles: nobody may use it again, as after a capture that failed."""
        with suppress(DeviceError):
            product.handles().drop(self.device, self.stream.ptr)
