"""Master weights: the float32 truth of which the stored weights are a rounded copy.

An update smaller than half a unit in the last place of a float16 weight would vanish; added to a
float32 master it counts (Micikevicius et al. 2018, arXiv:1710.03740, section 3.1).
"""

import numpy as np

from minifp.formats import float32, narrow, widen
from minifp.optim.weights import Weights


class MasterWeights(Weights):
    """Float32 masters of parameters that are stored in fewer bits.

    They begin from the parameters' unrounded values (`Parameter.exact`), which they take over. What
    is assigned to a parameter later is read again, unrounded where it was given so.
    """

    is_master = True

    def __init__(self, parameters):
        super().__init__(parameters)
        self.flat = np.empty(self.stored.size, float32)
        for p, s in zip(self.parameters, self.slices):
            self._assigned(p, s)

    def _assigned(self, p, s):
        exact = getattr(p, "exact", None)
        self.flat[s] = (widen(p.array, float32) if exact is None else exact).reshape(-1)
        if exact is not None:
            p.exact = None

    def publish(self, first, last):
        """Round the masters of these parameters into their working copies."""
        if first < last:
            s = slice(self.slices[first].start, self.slices[last - 1].stop)
            self.stored[s] = narrow(self.flat[s], self.stored.dtype)
        super().publish(first, last)
