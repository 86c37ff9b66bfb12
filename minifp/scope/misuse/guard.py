"""Misuse of mixed precision, caught while a microscope looks.

Nothing here changes a number. Some of it is asked once, when the microscope begins: parameters that
nobody trains (untrained.py), masters made of rounded numbers, second moments that underflow
(optimizer_numbers.py). The rest is seen in the steps that are looked at: gradients that are read or
changed while they are multiplied by the loss scale (scaled_gradients.py), and constants that a
format cannot hold (lost_constants.py).

What is not told, because it does no harm here: a schedule that is stepped after a skipped step. An
`LRScheduler` asks the optimizer what it did, and its `step()` after one skipped step is none. And
what cannot be told from what is right: a loss multiplied by a number of the user's own, who may
just weigh it.
"""

import warnings
from typing import Any

from minifp.autograd import tape
from minifp.autograd.tape import Tensor
from minifp.errors import MisuseWarning
from minifp.numerics import kernels
from minifp.runtime import callers
from minifp.runtime.callers import level_of_user
from minifp.scope.misuse.lost_constants import LostConstants
from minifp.scope.misuse.optimizer_numbers import rounded_parameters, told_of_masters, told_of_state
from minifp.scope.misuse.scaled_gradients import ScaledGradients
from minifp.scope.misuse.untrained import Untrained, names_of


class Guard:
    """Looks for misuse of one model and its MixedOptimizer.

    model, optimizer: those of the microscope. warn: whether each is told by `warnings.warn` too.
    texts: of the misuse that was seen; each kind at each place once.
    """

    def __init__(self, model: Any, optimizer: Any, warn: bool = True) -> None:
        self.optimizer, self.warn = optimizer, warn
        self.texts: list[str] = []
        self.places: set = set()
        self.looking = False
        self.names = {id(p): name for name, p in model.named_parameters()}
        self.untrained = Untrained(model, optimizer, self.name, self.tell)
        self.gradients = ScaledGradients(optimizer, self.name, self.tell)
        self.constants = LostConstants(self.tell)
        self.rounded: set[int] = set()  # parameters whose masters were told of

    def name(self, p: Tensor) -> str:
        """What a parameter (or another leaf) is called."""
        return self.names.get(id(p)) or getattr(p, "name", None) or f"a tensor of shape {p.shape}"

    def tell(self, kind: str, place: Any, text: str) -> None:
        """Tell of one misuse, unless this kind was told of this place before."""
        if (kind, place) in self.places:
            return
        self.places.add((kind, place))
        self.texts.append(text)
        if self.warn:
            warnings.warn(text, MisuseWarning, stacklevel=level_of_user())

    def checks_at_start(self) -> None:
        """Tell of what can be seen before the first step; take note of what others warn of once."""
        if self.texts.append not in callers.listeners:
            callers.listeners.append(self.texts.append)
        self.untrained.at_start()
        for kind, text in told_of_state(self.optimizer).items():
            self.tell("state", kind, text)
        self._check_masters()

    def _check_masters(self, assigned=False):
        rounded = rounded_parameters(self.optimizer, assigned)
        new = [p for p in rounded if id(p) not in self.rounded]
        self.rounded |= {id(p) for p in new}
        if new:
            names = names_of(new, self.name)
            self.tell("masters", names, told_of_masters(new, names))

    # ---- which steps are looked at ----

    def look(self) -> None:
        """Watch what is done from now on."""
        if not self.looking:
            self.looking = True
            self.gradients.begin()
            tape.observers.append(self)
            kernels.observers.append(self)

    def look_away(self) -> None:
        """Watch no more."""
        self.looking = False
        for observers in (tape.observers, kernels.observers):
            if self in observers:
                observers.remove(self)

    def close(self) -> None:
        """The end: tell what waited for more to be seen."""
        self.look_away()
        if self.texts.append in callers.listeners:
            callers.listeners.remove(self.texts.append)
        self.gradients.tell_of_reads()
        self.untrained.at_end()

    # ---- in a step ----

    def on_record(self, node: Any, outputs: tuple) -> None:
        """An operation was recorded."""
        self.constants.on_record(node, outputs)

    def on_seed(self, seed: Any) -> None:
        """A backward begins."""
        self.gradients.on_seed(seed)

    def on_gradient(self, node: Any, gradient: Any) -> None:
        """A gradient arrived."""
        if isinstance(node, Tensor):
            self.gradients.on_gradient(node, gradient)

    def on_release(self, node: Any) -> None:
        """Nothing to do."""

    def on_kernel(self, kernel: Any, args: tuple, results: tuple, formats: Any) -> None:
        """A kernel ran."""
        self.gradients.on_kernel(kernel, args)
        self.constants.on_kernel(kernel, args, results)

    def on_read(self, t: Tensor) -> None:
        """A tensor's numbers were given to the user: numpy(), item(), tolist(), print."""
        self.gradients.on_read(t)

    def on_update(self, optimizer: Any, gradients: list, factor: float) -> None:
        """An optimizer is about to change weights, and has not yet taken up what was assigned to
        them. To be called at every step, also of others."""
        self.gradients.in_step = True
        if optimizer is self.optimizer:
            self.gradients.on_update(gradients, self.looking)
            if self.looking:
                self._check_masters(assigned=True)
                self.untrained.on_update(gradients)

    def on_step(self, optimizer: Any, result: Any) -> None:
        """An optimizer has stepped, or skipped; before looking away from the step."""
        self.gradients.in_step = False
        if optimizer is self.optimizer and self.looking:
            self.gradients.on_step()
