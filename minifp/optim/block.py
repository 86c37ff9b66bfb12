"""Block: the parameters of one group that are stored in one format, as flat buffers."""

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.gradient_clip import squared_norm
from minifp.derive.dtypes import name_of
from minifp.errors import ShapeError
from minifp.numerics.compiled import compiled_kernel_of
from minifp.numerics.formats import as_stored, downcast
from minifp.optim.weights import Weights
from minifp.runtime.device import device_of, full, moved


class Gradients:
    """The gradients of the parameters of a block, each an array of its own, where backward left it.

    tensors, arrays: one for each parameter, or None.
    Raises ShapeError for a gradient that has not as many elements as its parameter.
    """

    def __init__(self, weights):
        self.tensors = [p.grad for p in weights.parameters]
        self.arrays: list = [None if t is None else t.array for t in self.tensors]
        sizes = [n if a is None else a.size for a, n in zip(self.arrays, weights.sizes)]
        if sizes != weights.sizes:
            i = next(i for i, n in enumerate(weights.sizes) if sizes[i] != n)
            raise ShapeError(
                f"a gradient of shape {self.arrays[i].shape} for a parameter of shape "
                f"{weights.parameters[i].shape}"
            )

    @property
    def names(self):
        """The name of the format of each; a dtype would be equal to None where it is float64."""
        return [None if a is None else name_of(a.dtype) for a in self.arrays]

    def there_are_any(self):
        """Whether any parameter has one."""
        return any(a is not None for a in self.arrays)

    def are_alike(self):
        """Whether every parameter has one, all in one format."""
        names = set(self.names)
        return len(names) == 1 and None not in names

    def consume(self):
        """Mark them as used up by a step."""
        for t in self.tensors:
            if t is not None:
                t.consumed = t.storage.version

    def squared_norm(self):
        """The sum of squares of all elements, in float64; see gradient_clip.py."""
        return squared_norm(*(a for a in self.arrays if a is not None))

    def flat(self, first, last):
        """Those from number `first` up to `last` as one flat array."""
        flat = [a.reshape(-1) for a in self.arrays[first:last]]
        return flat[0] if len(flat) == 1 else np.concatenate(flat)


class Run(NamedTuple):
    """Parameters of a block that lie one after the other and are updated as one.

    first, last: their numbers, without the last. part: where they lie in the buffers. step: the
    number of their step, from 1 on. state: name -> array, or number.
    """

    first: int
    last: int
    part: slice
    step: int
    state: dict[str, Any]


@dataclass
class Block:
    """Weights, state and step counts of parameters that lie one after the other.

    state: name -> (n) array, in `state_format`. numbers: name -> one number for each parameter.
    steps: how many updates each parameter has had. number: its own, among its optimizer's.
    """

    group: dict
    weights: Weights
    state_format: np.dtype
    numbers: dict
    steps: list
    number: int = 0
    state: dict = field(default_factory=dict)

    @property
    def parameters(self):
        """The parameters, in the order in which they lie in the buffers."""
        return self.weights.parameters

    def add_state(self, name, initial):
        """Make the state of this name, everywhere `initial`, if there is none yet."""
        if name not in self.state:
            flat = self.weights.flat
            self.state[name] = full(
                flat.shape, as_stored(initial, self.state_format), self.state_format, like=flat
            )

    def all_state(self):
        """All arrays of state, with what compensates for rounding."""
        compensation = self.weights.compensation
        return [*self.state.values(), *([] if compensation is None else [compensation])]

    def gradients(self):
        """The parameters' Gradients, as they are now."""
        compiled = compiled_kernel_of(Gradients, device_of(self.weights.flat))
        return (compiled or Gradients)(self.weights)

    def runs(self, gradients, alone):
        """(first, last) of neighbours that are alike in the format of their gradient, if they have
        one, and in all that is counted. alone: each parameter by itself.
        """
        counted = [self.steps, *self.numbers.values()]
        if gradients.are_alike() and not alone and all(c.count(c[0]) == len(c) for c in counted):
            return [(0, len(self.steps))]  # as nearly always
        own = range(len(self.steps)) if alone else self.steps
        start, found = 0, []
        for (name, *_), same in groupby(zip(gradients.names, own, *counted)):
            end = start + len(list(same))
            if name is not None:
                found.append((start, end))
            start = end
        return found

    def begin_step(self, first, last):
        """Count a step of these parameters, which are alike, and return their Run."""
        self.steps[first:last] = [self.steps[first] + 1] * (last - first)
        part = slice(self.weights.slices[first].start, self.weights.slices[last - 1].stop)
        state = {name: array[part] for name, array in self.state.items()}
        state.update((name, values[first]) for name, values in self.numbers.items())
        return Run(first, last, part, self.steps[first], state)

    def end_step(self, run):
        """Keep the numbers of a run's state."""
        for name, values in self.numbers.items():
            values[run.first : run.last] = [run.state[name]] * (run.last - run.first)

    def take_over(self, i, other, j):
        """Let parameter i begin with the state and the counts of number j of another block."""
        part = other.weights.slices[j]
        kept = {name: moved(a[part], "cpu") for name, a in other.weights.kept.items()}
        if kept.keys() == self.weights.kept.keys():
            self.weights.take_up(i, kept)
        self.steps[i] = other.steps[j]
        for name, values in self.numbers.items():
            values[i] = other.numbers[name][j]
        for name, array in other.state.items():
            self.add_state(name, 0.0)
            found = array[other.weights.slices[j]]
            self.state[name][self.weights.slices[i]] = downcast(found, self.state_format)
