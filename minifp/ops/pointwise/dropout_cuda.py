"""Kernels of dropout.py for a GPU: the same random numbers, drawn where they are used.

A call of a purpose is numbered on the host. A graph would repeat the number; so it has the first
call of a step in the GPU's memory, counts on there, and the host follows (see `GraphStream`).
"""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime import random
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import empty, lasting, to_device
from minifp.runtime.cuda.capturing import Uncounted
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

TEXT = Text(__name__, "dropout.cu", "random.cuh")
BYTE = np.dtype("bool")


class Draw:
    """One call of a purpose's random numbers, which can be drawn again."""

    def __init__(self, purpose):
        self.key, self.purpose = random.key(purpose), purpose
        notes = capturing.now
        if notes is None or not notes.captures:
            self.call, self.stream = random.next_call(purpose), None
            return
        streams = notes.streams
        if purpose not in streams:
            streams[purpose] = GraphStream(purpose, notes)
        self.stream, self.call = streams[purpose].memory, streams[purpose].calls
        streams[purpose].calls += 1

    def __repr__(self):
        return f"Draw({self.purpose!r}, {self.call})"

    def given(self):
        """What kernels are given of it."""
        key = (Uncounted(np.uint32(word)) for word in self.key)
        return *key, Uncounted(int(self.call)), Uncounted(0 if self.stream is None else self.stream)


class GraphStream:
    """A purpose's calls in a graph. memory: (3) int64, the key and the first call of the step."""

    def __init__(self, purpose, notes):
        self.purpose, self.calls, self.known = purpose, 0, None
        self.memory = lasting((3,), np.dtype("int64"))
        notes.before["random", purpose] = self.prepare
        notes.after["random", purpose] = self.finish
        notes.last.append(self.advance)

    def prepare(self):
        """Bring key and call to the device, unless they are as the last step left them."""
        now = [*random.key(self.purpose), random.calls(self.purpose)]
        if now != self.known:
            self.memory[...] = to_device(np.array(now, np.int64))
        self.known = [*now[:2], now[2] + self.calls]

    def advance(self):
        """The last kernel of the step."""
        TEXT(X=BYTE, Y=BYTE).launch("advance_draws", 1, 1, self.memory, self.calls)

    def finish(self):
        """Count the step's calls on the host."""
        random.advance(self.purpose, self.calls)


@compiled_kernel
def dropped(x, *, p, draw, to):
    y = empty(x.shape, to[0])
    x = x if x.flags.c_contiguous else x.copy()
    if y.size:
        factor = 1 / (1 - p)
        settings = float(p), factor, *draw.given()
        TEXT(X=x.dtype, Y=y.dtype).launch(
            "dropout", blocks_for(y.size, each=4), THREADS, y.size, x, y, *settings
        )
    return y


def kept(shape, p, purpose):
    """Booleans: which of so many numbers a dropout keeps."""
    y = empty(shape, BYTE)
    if y.size:
        given = y.size, y, float(p), *Draw(purpose).given()
        TEXT(X=BYTE, Y=BYTE).launch("dropout_mask", blocks_for(y.size, each=4), THREADS, *given)
    return y
