"""Weights stored in few bits, without masters, whose small updates are not lost.

A rule works in float32. Rounded to nearest, an updated weight stays what it was if the update is
smaller than half the gap to the next number. Two ways in which it counts:

    stochastic     w <- x rounded up with the probability r, where x is the part r of the gap above
                   the number below it: right in the mean, and nothing is kept (Gupta et al. 2015,
                   arXiv:1502.02551)
    compensated    the rule updates x = w + c;   w <- x rounded,   c <- x - w rounded: Kahan's
                   summation, with c in the format of w (Zamirai et al. 2020, arXiv:2010.06192,
                   algorithm 3, where c has the other sign and is added to the update)

c has as many bits as w, so w and c together hold about twice as many as w alone, but none below the
format's smallest number: 2^-24 of float16.
"""

from typing import Any, NamedTuple

import numpy as np

from minifp.numerics.format_codes import codes_of
from minifp.numerics.formats import downcast, float32, format_of, upcast
from minifp.optim.weights import Weights
from minifp.runtime import random
from minifp.runtime.device import full, moved, placed


class Draw(NamedTuple):
    """The random numbers of one step, one for each weight of a block.

    place: of the block, such as "0.1": the number of its optimizer, and its own. step: of these
    weights. So they depend on nothing else but the seed, and none is drawn twice.
    """

    place: str
    step: int

    @property
    def purpose(self) -> str:
        """What random.py knows them by."""
        return f"rounding of updates {self.place}"

    @property
    def key(self) -> tuple[int, int]:
        """That of these random numbers, two words."""
        return random.key(self.purpose)

    def words(self, part: slice) -> np.ndarray:
        """Those of a part of the block, (n) uint32."""
        n = part.stop - part.start
        return random.bits(n, purpose=self.purpose, call=self.step, first=part.start)

    def numbers(self, part: slice) -> tuple[int, int, int, int]:
        """What kernels draw them from: the key, the step, and where the part begins."""
        return *self.key, self.step, part.start


class StochasticWeights(Weights):
    """Stored weights, rounded up or down by chance after each update."""

    is_stochastic = True

    def opened(self, part):
        return upcast(self.flat[part], float32)

    def close(self, part, w, draw):
        dtype, on_host = self.flat.dtype, moved(w, "cpu")  # a GPU's own kernel: see block_cuda.py
        codes = codes_of(on_host, format_of(dtype), "stochastic", draw.words(part))
        self.flat[part] = placed(codes.view(dtype), like=self.flat)


class CompensatedWeights(Weights):
    """Stored weights, each with what its last rounding left over.

    They begin from the parameters' unrounded numbers, as masters do, and so does what is assigned.
    """

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters)
        self.compensation = full(self.flat.shape, 0.0, self.flat.dtype, like=self.flat)
        for i in range(len(self.parameters)):
            self._assigned(i)

    def _assigned(self, i):
        part, exact = self.slices[i], self.parameters[i].exact
        x = self.flat[part] if exact is None else exact.reshape(-1)
        self._split(part, upcast(x, float32))

    def _split(self, part, x):
        """Store x as a rounded weight and what is left over."""
        self.flat[part] = w = downcast(x, self.flat.dtype)
        with np.errstate(invalid="ignore"):  # Inf - Inf
            self.compensation[part] = downcast(x - upcast(w, float32), self.flat.dtype)

    @property
    def kept(self):
        return {"compensation": self.compensation}

    def take_up(self, i, kept):
        found = np.asarray(kept["compensation"]).reshape(-1)
        found = downcast(found, self.flat.dtype)
        self.compensation[self.slices[i]] = placed(found, like=self.flat)

    def opened(self, part):
        return upcast(self.flat[part], float32) + upcast(self.compensation[part], float32)

    def close(self, part, w, draw):
        self._split(part, w)
