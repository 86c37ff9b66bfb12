"""The bytes that one training step holds at its peak, by kind: measured at the tape, or foretold
from shapes; and those of a forward pass alone, at its kernels.

    weights, masters, optimizer_state   all the time; what the optimizer says of itself, or will
    activations                         what the tape keeps for backward, the batch included
    gradients                           of activations, from when they are made until they are used,
                                        and of weights, from when they are made

Arrays that share memory count once; the workspace inside an operation does not count.
An operation holds what it reads and what it has made at once, so what it has used up is taken off
only when the next operation is done. (scope/memory/ledger.py watches until arrays are really freed,
names who holds them, and measures the workspace.)
"""

import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from minifp.autograd import tape
from minifp.autograd.tape import Node, Tensor
from minifp.numerics import kernels, rules
from minifp.numerics.formats import is_narrow
from minifp.numerics.state_format import StateFormat
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import is_array

KINDS = ("weights", "masters", "optimizer_state", "activations", "gradients")
ACTIVATIONS = "activations"
ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS = "activation_gradients", "weight_gradients"
GRADIENTS = (ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS)


class OverLimit(Exception):
    """A step holds more than it may."""


@contextmanager
def measure_bytes(model, optimizer, most=None):
    """Watch one training step; yields a dict that has the bytes of each of KINDS afterwards.

    optimizer: of the model, a plain one or a MixedOptimizer. most: the bytes that the step may hold
    at its peak; as soon as it holds more, OverLimit ends it.
    """
    bytes_by_kind: dict[str, int] = {}
    always = optimizer.memory()
    left = None if most is None else most - sum(always.values()) + always["gradients"]
    ledger = Ledger([*model.parameters(), *model.buffers()], left)
    tape.observers.append(ledger)
    try:
        yield bytes_by_kind
    finally:
        tape.observers.remove(ledger)
        bytes_by_kind |= of_step(optimizer.memory(), ledger.peak)


def foretell_bytes(model, precision, states: Sequence[bool], peak: Counter) -> dict[str, int]:
    """The same of a step that was not made.

    states: of what an optimizer keeps of each weight, whether it is a second moment. peak: of a
    Ledger that saw forward and backward, of shapes alone. Masters are of narrow weights.
    """
    weights = [p for p in model.parameters() if p.requires_grad]
    narrow, of_state = [p for p in weights if is_narrow(p.dtype)], StateFormat.of(precision)
    masters, _ = rules.as_trained(precision, [p.dtype for p in weights])
    state = sum(of_state.bytes_of(p.numel(), second) for p in weights for second in states)
    always = {
        "weights": sum(t.array.nbytes for t in (*model.parameters(), *model.buffers())),
        "masters": sum(4 * p.numel() for p in narrow) if masters else 0,
        "optimizer_state": state + precision.compensated * sum(p.array.nbytes for p in narrow),
        "gradients": sum(p.numel() * np.dtype(p.gradient_dtype).itemsize for p in weights),
    }
    return of_step(always, peak)


def of_step(always: Mapping[str, int], peak: Counter) -> dict[str, int]:
    """The bytes of each of KINDS. always: beside what is held all the time, the gradients after the
    step, which the update may leave in a wider format. peak: of a Ledger."""
    after = always["gradients"]  # more, as where there are many weights, and few activations
    peak = peak if peak.total() > after else Counter({WEIGHT_GRADIENTS: after})
    kinds = {**always, **peak, "gradients": sum(peak[kind] for kind in GRADIENTS)}
    return {kind: int(kinds.get(kind, 0)) for kind in KINDS}


class Ledger:
    """An observer of the tape that knows what is held now, and what was held at the peak.

    weights: tensors that are held all the time, which it does not count. now, peak: bytes by kind:
    activations, activation_gradients, weight_gradients.
    """

    def __init__(self, weights, limit=None):
        self.trained = list(weights)
        self.weights = {key_of(buffer(t.array)) for t in self.trained}
        self.limit = limit  # of `now`: above it OverLimit is raised
        self.in_backward = False
        self.held = {}  # id of the buffer -> [buffer, kind, how often it is held]
        self.of_node = {}  # node -> the buffers that go with it
        self.used_up = []  # the buffers of the node released last
        self.now: Counter = Counter()
        self.peak: Counter = Counter()

    def on_record(self, node: Node, outputs: tuple) -> None:
        """What an operation keeps for backward is an activation, if it is no weight."""
        if self.in_backward:
            self.gradients_have_met()
        self.hold(node, ACTIVATIONS, arrays_in(node.saved))

    def on_seed(self, seed) -> None:
        """A backward begins."""
        self.gradients_have_met()

    def gradients_have_met(self) -> None:
        """A backward is over: what arrived at a weight was added to what was there, in a new array,
        or was taken away again."""
        self.in_backward = False
        for t in self.trained:
            for key in self.of_node.pop(t, ()):
                self.let_go(key)
            if t.grad is not None:
                self.hold(t, WEIGHT_GRADIENTS, [t.grad.array])

    def on_gradient(self, node: Node | Tensor, gradient) -> None:
        """A gradient has arrived where it is used: at an operation, or where it stays."""
        self.in_backward = True
        is_leaf = isinstance(node, Tensor) and key_of(buffer(node.array)) in self.weights
        self.hold(node, WEIGHT_GRADIENTS if is_leaf else ACTIVATION_GRADIENTS, [gradient])

    def on_release(self, node: Node) -> None:
        """Backward of an operation is over."""
        for key in self.used_up:
            self.let_go(key)
        self.used_up = self.of_node.pop(node, [])

    def hold(self, node, kind, arrays):
        """Count those arrays that are no weights, once each, for a node."""
        for array in arrays:
            whole = buffer(array)
            key = key_of(whole)
            if key not in self.weights:
                self.take(node, kind, key, whole)
        if self.now.total() > self.peak.total():
            self.peak = self.now.copy()
        if self.limit is not None and self.now.total() > self.limit:
            raise OverLimit(f"{self.now.total():,} bytes, of {self.limit:,} beside the weights")

    def take(self, node, kind, key, whole):
        """Count a buffer until its node, and the others that hold it, let go of it."""
        entry = self.held.setdefault(key, [whole, kind, 0])
        self.now[entry[1]] += whole.nbytes if entry[2] == 0 else 0
        entry[2] += 1
        self.of_node.setdefault(node, []).append(key)

    def let_go(self, key):
        """One that held a buffer does so no more."""
        entry = self.held[key]
        entry[2] -= 1
        if entry[2] == 0:
            whole, kind, _ = self.held.pop(key)
            self.now[kind] -= whole.nbytes


@contextmanager
def measure_forward(model):
    """Watch a forward pass of which nothing is recorded; yields a dict that has the bytes of the
    weights and of the activations at the peak afterwards.

    An activation is what a kernel reads or returns and is no weight, the batch included, from when
    a kernel shows it until its memory is freed.
    """
    weights = [*model.parameters(), *model.buffers()]
    whole = {key_of(b): b.nbytes for b in (buffer(t.array) for t in weights)}
    alive, sizes = Alive({*whole}), dict[str, int]()
    kernels.observers.append(alive)
    try:
        yield sizes
    finally:
        kernels.observers.remove(alive)
        sizes.update({"weights": sum(whole.values()), ACTIVATIONS: alive.peak})


class Alive:
    """An observer of kernels: the bytes of what they read and return, and their peak.

    weights: keys of buffers that do not count.
    """

    def __init__(self, weights):
        self.weights, self.owners = weights, {}  # id of a buffer -> a weak reference to it
        self.now = self.peak = 0

    def on_kernel(self, kernel, args, results, formats):
        """What a kernel reads and what it returns are there at once."""
        for array in (*arrays_in(args), *arrays_in(results)):
            if is_array(array):
                self.hold(buffer(array))
        self.peak = max(self.peak, self.now)

    def hold(self, whole):
        """Count a buffer until it is freed."""
        owner, size = id(whole), whole.nbytes
        if owner in self.owners or key_of(whole) in self.weights:
            return

        def gone(_):
            del self.owners[owner]
            self.now -= size

        self.owners[owner] = weakref.ref(whole, gone)
        self.now += size


def buffer(array):
    """The array that owns the memory which `array` looks at."""
    while isinstance(array.base, type(array)):
        array = array.base
    return array


def key_of(whole):
    """What stands for an array that owns memory: the memory, as a GPU's may be owned twice."""
    return (whole.data.ptr, whole.nbytes) if is_on_device(whole) else id(whole)


def arrays_in(saved):
    """All arrays among what an operation saved, also inside tuples and lists."""
    for item in saved:
        if isinstance(item, (tuple, list)):
            yield from arrays_in(item)
        elif hasattr(item, "nbytes") and hasattr(item, "base"):
            yield item
