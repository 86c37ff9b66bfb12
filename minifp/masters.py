"""Master weights: the float32 truth of which the stored weights are a rounded copy.

An update smaller than half a unit in the last place of a float16 weight would vanish; added to a
float32 master it counts (Micikevicius et al. 2018, arXiv:1710.03740, section 3.1).
"""

from minifp.formats import float32, narrow, widen
from minifp.optim.weights import Weights


class MasterWeights(Weights):
    """Float32 masters of parameters that are stored in fewer bits.

    They begin from the parameters' unrounded numbers (`Parameter.exact`) and are these from then
    on. What is assigned to a parameter later is read again, unrounded where it was given so.
    """

    is_master = True

    def __init__(self, parameters):
        super().__init__(parameters)
        self.flat = widen(self.stored, float32)
        for p, s in zip(self.parameters, self.slices):
            self._assigned(p, s)

    def _assigned(self, p, s):
        exact, mine = getattr(p, "exact", None), self.flat[s]
        if exact is not None:
            mine[:] = exact.reshape(-1)
        else:  # changed in place: where the stored number is still the rounded master, that stays
            stored = p.array.reshape(-1)
            changed = narrow(mine, stored.dtype) != stored
            mine[changed] = widen(stored, float32)[changed]
        self._show(p, s)

    def _show(self, p, s):
        if hasattr(p, "keep_exact"):
            p.keep_exact(self.flat[s].reshape(p.shape))

    def publish(self, first, last):
        """Round the masters of these parameters into their working copies."""
        if first < last:
            s = slice(self.slices[first].start, self.slices[last - 1].stop)
            self.stored[s] = narrow(self.flat[s], self.stored.dtype)
        super().publish(first, last)
        for p, s in zip(self.parameters[first:last], self.slices[first:last]):
            self._show(p, s)
