"""Block: the parameters of one group that are stored in one format, as flat buffers."""

from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from minifp.formats import narrow
from minifp.optim.weights import Weights


@dataclass
class Block:
    """Weights, state and step counts of parameters that lie one after the other.

    state: name -> (n) array, in `state_format`. numbers: name -> one number for each parameter.
    steps: how many updates each parameter has had.
    """

    group: dict
    weights: Weights
    state_format: np.dtype
    numbers: dict
    steps: list
    state: dict = field(default_factory=dict)

    @property
    def parameters(self):
        """The parameters, in the order in which they lie in the buffers."""
        return self.weights.parameters

    def add_state(self, name, initial):
        """Make the state of this name, everywhere `initial`, if there is none yet."""
        if name not in self.state:
            self.state[name] = np.full(self.weights.flat.size, initial, self.state_format)

    def runs(self, alone):
        """(first, last) of neighbours that have a gradient and are alike in all that is counted.

        alone: each parameter by itself.
        """
        numbers = zip(*self.numbers.values()) if self.numbers else [()] * len(self.steps)
        own = range(len(self.steps)) if alone else [0] * len(self.steps)
        keys = zip([p.grad is not None for p in self.parameters], self.steps, numbers, own)
        start = 0
        for (has_gradient, *_), same in groupby(keys):
            end = start + len(list(same))
            if has_gradient:
                yield start, end
            start = end

    def span(self, first, last):
        """Where the parameters from `first` up to `last` lie in the buffers."""
        return slice(self.weights.slices[first].start, self.weights.slices[last - 1].stop)

    def gradients(self, first, last):
        """The gradients of a run as one flat array, in the widest of their formats."""
        flat = [p.grad.array.reshape(-1) for p in self.parameters[first:last]]
        return flat[0] if len(flat) == 1 else np.concatenate(flat)

    def take_over(self, i, other, j):
        """Let parameter i begin with the state and the counts of number j of another block."""
        self.steps[i] = other.steps[j]
        for name, values in self.numbers.items():
            values[i] = other.numbers[name][j]
        for name, array in other.state.items():
            self.add_state(name, 0.0)
            found = array[other.weights.slices[j]]
            self.state[name][self.weights.slices[i]] = narrow(found, self.state_format)
