"""Block: the parameters of one group that are stored in one format, as flat buffers."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.gradient_clip import squared_norm
from minifp.derive.dtypes import name_of
from minifp.errors import ShapeError
from minifp.numerics.compiled import compiled_kernel_of
from minifp.numerics.formats import float32, format_of
from minifp.numerics.state_format import takes_scale
from minifp.optim.state import Layout, ScaledState, State
from minifp.optim.weights import Weights
from minifp.runtime.device import device_of, moved


class Gradients:
    """The gradients of the parameters of a block, each an array of its own, where backward left it.

    tensors, arrays: one for each parameter, or None.
    Raises ShapeError for a gradient that has not as many elements as its parameter.
    """

    def __init__(self, weights):
        self.tensors = [p.grad for p in weights.parameters]
        self.starts = weights.starts
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

    def flat(self, first, last, part):
        """Those from number `first` up to `last`, as far as they lie in a part of the buffers, as
        one flat array."""
        flat = self.cut(first, last, part)
        return flat[0] if len(flat) == 1 else np.concatenate(flat)

    def cut(self, first, last, part):
        """The same, each as an array of its own."""
        flat = [a.reshape(-1) for a in self.arrays[first:last]]
        flat[-1] = flat[-1][: part.stop - int(self.starts[last - 1])]
        flat[0] = flat[0][part.start - int(self.starts[first]) :]
        return flat


class Run(NamedTuple):
    """Parameters of a block that lie one after the other and are updated as one; or a piece of
    them, which may have the end of the first and the beginning of the last.

    first, last: their numbers, without the last. part: where they lie in the buffers. step: the
    number of their step, from 1 on. state: name -> number; of a piece, with arrays, too.
    """

    first: int
    last: int
    part: slice
    step: int
    state: dict[str, Any]


@dataclass
class Block:
    """Weights, state and step counts of parameters that lie one after the other.

    state: name -> State. state_formats: name -> the format in which it is stored; layout: of the
    scales of those formats that take one, None without scales. numbers: name -> one number for each
    parameter. steps: how many updates each parameter has had. number: its own, among its
    optimizer's. checked, needed: the values of the group's settings when they were last checked,
    and the names of the state that they call for.
    """

    group: dict
    weights: Weights
    state_formats: dict
    numbers: dict
    steps: list
    number: int = 0
    layout: Layout | None = None
    state: dict[str, State] = field(default_factory=dict)
    checked: list = field(default_factory=list)
    needed: tuple = ()

    @property
    def parameters(self):
        """The parameters, in the order in which they lie in the buffers."""
        return self.weights.parameters

    def add_state(self, name, initial):
        """Make the state of this name, everywhere `initial`, if there is none yet."""
        if name not in self.state:
            given, layout = (self.weights, self.state_formats[name], initial), self._layout_of(name)
            self.state[name] = State(*given) if layout is None else ScaledState(*given, layout)

    def _layout_of(self, name):
        return self.layout if takes_scale(format_of(self.state_formats[name])) else None

    @cached_property
    def opened_formats(self):
        """The formats in which a rule reads and writes what state it may have."""
        formats = self.state_formats
        return tuple([formats[n] if self._layout_of(n) is None else float32 for n in formats])

    def all_state(self):
        """All arrays of state, with what compensates for rounding."""
        compensation, held = self.weights.compensation, self.state.values()
        arrays = [array for state in held for array in state.arrays]
        return [*arrays, *([] if compensation is None else [compensation])]

    @cached_property
    def is_on_host(self):
        """Whether the weights are on the CPU, where they stay: see Weights.check_formats."""
        return device_of(self.weights.flat) == "cpu"

    @cached_property
    def _kind_of_gradients(self):
        return compiled_kernel_of(Gradients, device_of(self.weights.flat)) or Gradients

    def gradients(self):
        """The parameters' Gradients, as they are now."""
        return self._kind_of_gradients(self.weights)

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
        """The Run of the next step of these parameters, which are alike; see `counts_of`."""
        part = slice(self.weights.slices[first].start, self.weights.slices[last - 1].stop)
        state = {name: values[first] for name, values in self.numbers.items()}
        return Run(first, last, part, self.steps[first] + 1, state)

    def pieces(self, run, whole):
        """A run in pieces, each with its state, which is kept as soon as the next one is asked for:
        in one piece, where no state has scales. whole: whether it must be one."""
        if self.layout is not None:
            return self._scaled_pieces(run, [run.part] if whole else self.layout.pieces(run.part))
        run.state.update({name: state.array[run.part] for name, state in self.state.items()})
        return (run,)

    def _scaled_pieces(self, run, parts):
        parts = [*parts]
        most, numbers = max([part.stop - part.start for part in parts], default=0), dict(run.state)
        rooms = {name: state.room(most) for name, state in self.state.items()}
        for part in parts:
            opened = {n: state.opened(part, rooms[n]) for n, state in self.state.items()}
            piece = self._piece(run, part, {**numbers, **opened})
            yield piece
            for name, state in self.state.items():
                state.close(part, piece.state[name])
            run.state.update((name, piece.state[name]) for name in numbers)

    def _piece(self, run, part, state):
        if part == run.part:
            return run._replace(state=state)
        starts = self.weights.starts
        first = int(np.searchsorted(starts, part.start, "right")) - 1
        return Run(first, int(np.searchsorted(starts, part.stop)), part, run.step, state)

    def counts_of(self, run):
        """What a run that is done counts, and the numbers of its state: (list, slice, values)."""
        here, n = slice(run.first, run.last), run.last - run.first
        numbers = [(values, here, [run.state[name]] * n) for name, values in self.numbers.items()]
        return [(self.steps, here, [run.step] * n), *numbers]

    def take_over(self, i, other, j):
        """Let parameter i begin with the state and the counts of number j of another block."""
        part = other.weights.slices[j]
        kept = {name: moved(a[part], "cpu") for name, a in other.weights.kept.items()}
        if kept.keys() == self.weights.kept.keys():
            self.weights.take_up(i, kept)
        self.steps[i] = other.steps[j]
        for name, values in self.numbers.items():
            values[i] = other.numbers[name][j]
        for name, state in other.state.items():
            self.add_state(name, 0.0)
            self.state[name].assign(i, state.numbers(j))
