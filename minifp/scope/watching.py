"""Watching one step: the histograms of all that is stored in it.

The tape says what operations make and what gradients arrive; kernels say what is stored inside of
one operation (the gradients of an LSTM's gates).
"""

import math
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from minifp.autograd import tape
from minifp.autograd.gradients import name_of
from minifp.autograd.kept_operands import mapped
from minifp.autograd.tape import Node, Tensor
from minifp.lab.memory import arrays_in, buffer
from minifp.numerics import kernels
from minifp.numerics.formats import format_of, is_float
from minifp.numerics.operand_codes import OperandCodes
from minifp.runtime.device import is_array
from minifp.scope.histogram import Histogram
from minifp.scope.observed import (
    ACTIVATION_GRADIENTS,
    ACTIVATIONS,
    GRADIENTS,
    WEIGHT_GRADIENTS,
    WEIGHTS,
    ObservedStep,
)
from minifp.scope.updates import became_of, wanted_updates

OUTSIDE = "outside of modules"
GATES = "_dz"  # how kernels are called whose first result is the gradient of what enters the gates


class Trained:
    """What a Watch asks of a model, where there are parameters alone."""

    _name = ""

    def __init__(self, parameters: list[Tensor]) -> None:
        self.parameters = parameters

    def modules(self) -> tuple:
        """None: none is another model's."""
        return ()

    def buffers(self) -> tuple:
        """None that are known."""
        return ()

    def named_parameters(self) -> list[tuple[str, Tensor]]:
        """Each with what it is called in errors too."""
        return [(name_of(p, i), p) for i, p in enumerate(self.parameters)]


class Watch:
    """An observer of the tape and of kernels, for one step.

    model: the Module whose layers are looked at; None for whatever operations run, and then the
    weights are those that are trained. trained: the parameters of the optimizer that is watched; of
    others no gradients are counted, unless they are the model's.
    """

    def __init__(self, model: Any, step: ObservedStep, trained: Iterable[Tensor] = ()) -> None:
        trained = list(trained)
        parts = Trained(trained) if model is None else model
        self.step, self.names = step, {}
        self.root = type(model).__name__
        self.inside = parts._name  # as an attribute of another module
        self.ours = {m._name or type(m).__name__ for m in parts.modules()}
        self.buffers: dict[int, Any] = {}  # buffers whose numbers are counted, or are none of ours
        # Operations that made nothing but views. A graph that nobody takes back is not held.
        self.views: weakref.WeakSet[Node] = weakref.WeakSet()
        self.trained = {id(p) for p in trained}
        self.at: Node | None = None  # the operation whose backward runs
        self.seed: Any = None  # of the backward that runs
        self.largest_seed: float | None = None  # by what counted gradients are multiplied
        self.updates: list = []  # updates
        for name, p in parts.named_parameters():
            self.names[id(p)] = name
            self._is_new(p.array)
            self._count(WEIGHTS, name, p.array)
        for b in parts.buffers():
            self._is_new(b.array)

    def begin(self) -> None:
        """Look at what the tape and kernels show."""
        tape.observers.append(self)
        kernels.observers.append(self)

    def before_update(self, optimizer: Any, gradients: list, factor: float) -> None:
        """Find out what an update wants, which is then made as it always is: without observers of
        kernels."""
        self.updates = wanted_updates(optimizer, gradients, factor, self.names)
        if self in kernels.observers:
            kernels.observers.remove(self)

    def end(self) -> None:
        """Look away."""
        for observers in (tape.observers, kernels.observers):
            if self in observers:
                observers.remove(self)

    def settle(self, result: Any, scale: float) -> ObservedStep:
        """What was seen, once the step is over. scale: where gradients were not counted."""
        step, seed = self.step, self.largest_seed
        step.scale = scale if seed is None else math.ldexp(seed, step.dial)
        step.updates = became_of([run for run in self.updates if result.each[run.of]])
        self.end()
        return step

    def layer(self, node: Node) -> str | None:
        """What a layer is called: the path of its module below the model. None for another
        model's, which is called by itself, as a GAN's other half."""
        path = node.module
        first, *others = path.split(".")
        if self.ours and path and first not in self.ours and self.inside not in others:
            return None
        if path == self.root:
            return path
        return path.removeprefix(f"{self.root}.") or OUTSIDE

    def on_record(self, node: Node, outputs: tuple) -> None:
        """Activations: what an operation returns and keeps, each array once. What it keeps in
        codes is one that another has returned."""
        for argument in node.call[1] if node.call else ():
            if is_array(argument):
                self._is_new(argument)
        results = [t.array for t in outputs]
        saved = mapped(lambda a: None if isinstance(a, OperandCodes) else a, node.saved)
        new = [a for a in (*results, *arrays_in(saved)) if self._is_new(a)]
        if not any(a is b for a in new for b in results):
            self.views.add(node)
        for array in new:
            self._count(ACTIVATIONS, self.layer(node), array)

    def on_seed(self, seed: Any) -> None:
        """A backward begins."""
        self.seed = seed

    def on_gradient(self, node: Any, gradient: Any) -> None:
        """Gradients: of weights at leaves, of activations elsewhere."""
        if isinstance(node, Tensor):
            name, is_weight = self.names.get(id(node)), node.precision is not None
            if name or id(node) in self.trained:
                self._count(WEIGHT_GRADIENTS, name or OUTSIDE, gradient)
            elif not is_weight:
                self._count(ACTIVATION_GRADIENTS, OUTSIDE, gradient)
            return
        self.at = node
        if node not in self.views:
            self._count(ACTIVATION_GRADIENTS, self.layer(node), gradient)

    def on_release(self, node: Node) -> None:
        """Nothing to do."""

    def on_kernel(self, kernel: Any, args: tuple, results: tuple, formats: Any) -> None:
        """The gradients of what enters the gates of a recurrent layer."""
        is_product = kernel.rule.role == "dot"
        if self.at is not None and is_product and kernel.name.endswith(GATES):
            layer = self.layer(self.at)
            self._count(ACTIVATION_GRADIENTS, layer and f"{layer} gates", results[0])

    def _count(self, kind, layer, array):
        if layer is None:
            return
        if is_float(array.dtype) and array.ndim:
            shift = self._shift() if kind in GRADIENTS else 0
            format = format_of(array.dtype)
            self.step.add(kind, layer, Histogram.of(array).shifted(shift), format)

    def _shift(self):
        """log2 of what brings gradients of this backward to the largest seed; 0 for seeds that only
        a GPU knows."""
        if not isinstance(self.seed, (int, float, np.number)):
            return 0
        seed = abs(float(self.seed))
        shift = round(math.log2((self.largest_seed or seed) / seed))
        if shift < 0:
            for kind in GRADIENTS:
                layers = self.step.histograms[kind]
                self.step.histograms[kind] = {n: h.shifted(-shift) for n, h in layers.items()}
        self.largest_seed = max(seed, self.largest_seed or seed)
        return max(shift, 0)

    def _is_new(self, array):
        """Whether these numbers have not been seen in this step; they have now."""
        whole = buffer(array)
        reference = self.buffers.get(id(whole))
        if reference is not None and reference() is whole:
            return False
        self.buffers[id(whole)] = weakref.ref(whole)
        return True
