"""Compiled kernels of block.py, and of update rules: from gradient to working copy in one loop.

`@update(numbers)` makes the compiled kernel of an update rule of the rule for one element, a
function of float32 numbers: w, g (unscaled already) and one for each state (None for one that is
not kept), up to a `/`; and then of what `numbers(**settings)` returns, where Python's own floats do
what is done once for all elements. It returns the updated w and states.

The loop goes over weights in the order in which they lie, and reads each gradient where it lies.
A kernel is made for what there is, by a letter each for weights and states: u updated in place, o
read from one array and written to another, m made (only written), a absent. A last c says that new
weights are also rounded into a working copy.
"""

from functools import cached_property
from importlib import import_module

import numpy as np

from minifp.autograd.gradient_clip_numba import sum_of_squares
from minifp.optim import block
from minifp.runtime.cpu.compile import Part, front_end
from minifp.runtime.cpu.half import load, store, view
from minifp.runtime.cpu.pool import Chunked, spans
from minifp.runtime.cpu.scattered import LIKE, Scattered, array_at
from minifp.runtime.cuda.arrays import is_on_device

RUN = 8192  # elements that are worth a chunk
NANOSECONDS = 1.0  # an element

TEXT = """
def {name}(chunk, scratch, length, starts, addresses, like, scale, {arguments}):
    scale = float32(scale)
{floats}
    i, stop = chunk * length, min((chunk + 1) * length, starts[-1])
    k = 0
    while starts[k + 1] <= i:
        k += 1
    while i < stop:
        g, first = array_at(addresses[k], like), i - starts[k]
        n = min(starts[k + 1], stop) - i
        for j in range(n):
            {results} = f({values})
{stores}
        i += n
        k += 1
"""


def update(numbers):
    """Make the rule for one element the compiled kernel of the update rule of its name; see the
    module."""
    return lambda element: Update(element, numbers)


class Update:
    """The compiled kernel of one update rule. element, numbers: see the module."""

    is_compiled_kernel = is_any_device = True

    def __init__(self, element, numbers):
        code = element.__code__
        self.element, self.numbers, self.kernels = element, numbers, {}
        self.arrays = code.co_posonlyargcount - 1  # weights and states
        self.names = [f"n{k}" for k in range(code.co_argcount - code.co_posonlyargcount)]
        # Nothing is fused, and so the bits are the same everywhere. (Not to say so is to inherit.)
        options = {"error_model": "numpy", "fastmath": False}
        self.inline = Part(element, lambda: front_end.part(element, options))

    @cached_property
    def on_device(self):
        """The same rule on a GPU: see block_cuda.py."""
        return import_module("minifp.optim.block_cuda").Rule(self)

    def in_place(self, w, copy, gradients, states, inverse_scale, settings):
        """Update w and states (None for one that is not kept), all (n), with Scattered gradients.

        copy: (n), into which w is rounded, or None. On a GPU all are device arrays, and gradients
        one flat one.
        """
        if is_on_device(w):
            update = self.on_device.update_in_place
            return update(w, copy, gradients, states, inverse_scale, settings)
        pattern = "".join(["u", *("a" if s is None else "u" for s in states)])
        arrays = [w, *(s for s in states if s is not None)]
        if copy is not None:
            pattern += "c"
            arrays.append(copy)
        self._run(pattern, gradients, inverse_scale, arrays, settings)

    def __call__(self, w, g, *rest, to, **settings):
        """The updated w and states, in the formats `to`: see Kernel.compiled."""
        *states, inverse_scale = rest
        if is_on_device(w):
            return self.on_device.updated(w, g, states, inverse_scale, to, settings)
        given, made = [w, *states], [np.empty(w.shape, dtype) for dtype in to]
        arrays = [a for a in given if a is not None]
        if any(a.dtype not in LIKE for a in (g, *arrays, *made)) or g.size != w.size:
            return None
        pattern = "".join("m" if a is None else "o" for a in given)
        arrays = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
        arrays += [a.reshape(-1) for a in made]
        self._run(pattern, Scattered([g]), inverse_scale, arrays, settings)
        return tuple(made)

    def _run(self, pattern, gradients, inverse_scale, arrays, settings):
        if pattern not in self.kernels:
            self.kernels[pattern] = self._made(pattern)
        n = arrays[0].size
        chunks, length = spans(n, RUN)
        self.kernels[pattern](
            *(chunks, length, gradients.starts, gradients.addresses, gradients.like),
            *(float(inverse_scale), *map(view, arrays), *map(float, self.numbers(**settings))),
            cost=n * NANOSECONDS,
        )

    def _made(self, pattern):
        """The kernel for a pattern. Its arrays are x0, x1, ... that are read, and y0, ... that are
        written; n0, ... are the numbers, r0, ... the results.
        """
        letters = dict(enumerate(pattern[: self.arrays]))
        read = [f"x{k}" for k, letter in letters.items() if letter in "uo"]
        written = [f"y{k}" for k, letter in letters.items() if letter in "om"]
        copy = ["copy"] if pattern.endswith("c") else []
        values = [
            "None" if letter in "am" else f"load(x{k}, i + j)" for k, letter in letters.items()
        ]
        values[1:1] = ["load(g, first + j) * scale"]
        targets = {"u": "x", "o": "y", "m": "y"}
        stores = [f"{targets[x]}{k}, i + j, r{k}" for k, x in letters.items() if x in targets]
        stores += [f"{name}, i + j, r0" for name in copy]
        name = f"{self.element.__name__}_{pattern}"
        text = TEXT.format(
            name=name,
            arguments=", ".join([*read, *written, *copy, *self.names]),
            floats="\n".join(f"    {name} = float32({name})" for name in self.names),
            results=", ".join(f"r{k}" for k in letters),
            values=", ".join([*values, *self.names]),
            stores="\n".join(f"            store({given})" for given in stores),
        )
        known = {"load": load, "store": store, "array_at": array_at}
        known |= {"f": self.inline, "float32": np.float32}
        return Chunked.from_text(text, name, self.element, known)


class Gradients(block.Gradients):
    """Gradients that kernels read where they lie."""

    is_compiled_kernel = True

    def __init__(self, weights):
        self.tensors, self.all = [p.grad for p in weights.parameters], None
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

    def scattered(self, first, last):
        """Those from number `first` up to `last`, which are of one format."""
        if self.all is not None and last - first == len(self.arrays):
            return self.all
        return Scattered(self.arrays[first:last])
