"""The compiled kernel of block.py: gradients that kernels read where they lie."""

from minifp.optim import block
from minifp.runtime.cpu.kernels.scattered import Scattered, sum_of_squares


class Gradients(block.Gradients):
    """Gradients that kernels read where they lie."""

    is_compiled_kernel = True

    def __init__(self, weights):
        self.tensors, self.all = [p.grad for p in weights.parameters], None
        self.starts = weights.starts
        try:
            self.arrays = [t.array for t in self.tensors]
        except AttributeError:  # of None
            super().__init__(weights)
            return
        self.all = Scattered.at_once(self.arrays, weights.starts)
        if self.all is None:
            super().__init__(weights)

    def are_alike(self):
        return self.all is not None or super().are_alike()

    def squared_norm(self):
        return super().squared_norm() if self.all is None else sum_of_squares(self.all)

    def scattered(self, first, last, part):
        """Those from number `first` up to `last`, which are of one format, as far as they lie in a
        part of the buffers."""
        if self.all is not None and part.stop - part.start == self.starts[-1]:
            return self.all
        return Scattered(self.cut(first, last, part))
