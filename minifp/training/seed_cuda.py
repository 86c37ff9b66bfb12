"""The seed of backward passes, where only the GPU knows the loss scale."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.source import THREADS, Text

SEED = Text(__name__, "seed.cu")


class Seed:
    """S times the dial, of all backward passes until the next step.

    state: the step's memory, whose first number is S (see step.cu). dial: 2^-k. source: what has
    the same S as its `scale`, for who asks on the host, which waits for the device.
    """

    def __init__(self, state: Any, dial: float, source: Any) -> None:
        self.state, self.dial, self.source = state, dial, source

    def fix(self, scale: float) -> None:
        """Let S be this number for who asks on the host, whatever becomes of the source's."""
        self.source = SimpleNamespace(scale=scale)

    def __float__(self) -> float:
        self.fix(self.source.scale)  # before steps of the host's change it
        return float(self.source.scale * self.dial)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __rtruediv__(self, other: float) -> float:
        return other / float(self)

    def gradient(self, shape: tuple, dtype: Any) -> Any:
        """The first gradient of a backward pass: an array of S, times the dial."""
        dy = empty(shape, dtype)
        dial = np.float64(self.dial)
        SEED(Y=dtype).launch("seed", 1, THREADS, self.state, dial, dy, dy.size)
        return dy
