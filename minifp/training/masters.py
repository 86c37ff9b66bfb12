"""Master weights: the float32 truth of which the stored weights are a rounded copy.

An update smaller than half a unit in the last place of a float16 weight would vanish; added to a
float32 master it counts (Micikevicius et al. 2018, arXiv:1710.03740, section 3.1).
"""

from minifp.numerics.formats import downcast, float32, upcast
from minifp.optim.weights import Weights


class MasterWeights(Weights):
    """Float32 masters of parameters that are stored in fewer bits.

    They begin from the parameters' unrounded numbers (`Parameter.exact`) and are these from then
    on. What is assigned to a parameter later is read again, unrounded where it was given so.
    flat: the masters. stored: their working copies, rounded.
    """

    is_master = True

    def __init__(self, parameters):
        self.masters: list = []
        super().__init__(parameters)
        self.flat = upcast(self.stored, float32)
        self.masters = [None] * len(self.parameters)
        for i in range(len(self.parameters)):
            self._view(i)
            self._assigned(i)

    def _view(self, i):
        self.masters[i] = self.flat[self.slices[i]].reshape(self.parameters[i].shape)

    def _adopt(self, i):
        super()._adopt(i)
        if self.masters:
            self._view(i)

    def _assigned(self, i):
        exact = self.parameters[i].exact
        if exact is not None and exact is not self.masters[i]:
            self.masters[i][...] = exact
            self.parameters[i].storage.move_behind(self.masters[i])
        self._show(i)

    def _show(self, i):
        """Let a parameter know the numbers behind what it stores."""
        p = self.parameters[i]
        p.storage.keep(p.array, self.masters[i])

    @property
    def kept(self):
        return {"master": self.flat}

    def take_up(self, i, state):
        self.assign(i, state["master"])

    def publish(self, first, last):
        """Round the masters of these parameters into their working copies."""
        s = slice(self.starts[first], self.starts[last])
        self.stored[s] = downcast(self.flat[s], self.stored.dtype)
        super().publish(first, last)

    def written(self, first, last):
        """Take note of what the optimizer wrote into these parameters' working copies."""
        super().written(first, last)
        for i in range(first, last):
            self._show(i)
