"""Lines of the user's program that read gradients while they are multiplied by the loss scale."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minifp.autograd import gradient_clip, gradients
from minifp.autograd.tape import Tensor
from minifp.lab.memory import buffer
from minifp.runtime.callers import line_of_user
from minifp.scope.misuse.untrained import Name

KNOWING = ("scale", "seed")  # a line with one of these is taken to divide by it


@dataclass
class Reading:
    """One line that read gradients.

    by: what did. seed: by what they were multiplied. used: whether a step had used them already.
    norm: of the first, as it was read. leaves: whose gradients they are.
    """

    by: str
    seed: float
    used: bool
    norm: float
    leaves: dict[int, Tensor] = field(default_factory=dict)


class GradientReadings:
    """Collects them, until they are told.

    leaves: those whose gradients are looked at, by id; more may come. name(leaf): see Guard.
    """

    def __init__(self, optimizer: Any, name: Name) -> None:
        self.optimizer, self.name = optimizer, name
        self.by_line: dict[str, Reading] = {}
        self.forget()

    def forget(self) -> None:
        """Begin anew with the leaves that the optimizer has."""
        self.leaves = {id(p): p for p in self.optimizer.parameters}
        self.owners: dict[int, Tensor] | None = None  # buffer of a scaled gradient -> its leaf

    def add_leaf(self, leaf: Tensor) -> None:
        """Look at a leaf's gradient, too, which is about to be changed."""
        self.leaves[id(leaf)], self.owners = leaf, None

    def seed_of(self, gradient: Tensor | None) -> float:
        """By what a gradient is multiplied; 1 where it is not, or only a GPU knows."""
        if gradient is None or type(gradient.array) is not np.ndarray:
            return 1.0
        return float(gradient.seed) if is_scaled(gradient) else 1.0

    def can_be(self) -> bool:
        """Whether there is a scaled gradient to read."""
        return bool(self._owners())

    def read(self, array: Any, by: str, t: Tensor | None = None) -> None:
        """An array was read. t: the tensor that it is of, which may know itself to be scaled."""
        whole = buffer(array)
        leaf = self._owners().get(id(whole))
        if leaf is not None and leaf.grad is not None and buffer(leaf.grad.array) is whole:
            self._note(leaf, leaf.grad, by)
        elif t is not None and is_scaled(t):  # a gradient on its way to a hook
            self._note(t, t, by)

    def _owners(self):
        if self.owners is None:
            leaves = [p for p in self.leaves.values() if self.seed_of(p.grad) != 1]
            self.owners = {id(buffer(p.grad.array)): p for p in leaves if p.grad is not None}
        return self.owners

    def _note(self, leaf, gradient, by):
        seed, line = self.seed_of(gradient), line_of_user()
        if seed == 1 or any(word in line.partition(": ")[2] for word in KNOWING):
            return
        if line not in self.by_line:
            norm = math.sqrt(gradient_clip.squared_norm(gradient.array))
            self.by_line[line] = Reading(by, seed, gradients.is_consumed(gradient), norm)
        self.by_line[line].leaves[id(leaf)] = leaf

    def of(self, leaf: Tensor) -> list[Reading]:
        """The lines that read a leaf's gradient."""
        return [r for r in self.by_line.values() if id(leaf) in r.leaves]

    def take(self, leaves: Any) -> list[str]:
        """The lines that read one of these leaves' gradients (ids), which are then forgotten."""
        lines = [line for line, r in self.by_line.items() if set(r.leaves) & set(leaves)]
        for line in lines:
            del self.by_line[line]
        return lines

    def texts(self) -> dict[str, str]:
        """By line, what is told of it; all are then forgotten."""
        readings, self.by_line = self.by_line, {}
        return {line: self.text_of(line, reading) for line, reading in readings.items()}

    def text_of(self, line: str, reading: Reading) -> str:
        """What is told of one line."""
        names = [self.name(leaf) for leaf in reading.leaves.values()]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        dial = f" and 2^-{self.optimizer.dial} of the dial" if self.optimizer.dial else ""
        fix = "call optimizer.unscale_() after backward, before this line"
        if reading.used:
            fix = "call optimizer.unscale_() before optimizer.step()"
        if not {id(p) for p in self.optimizer.parameters} & set(reading.leaves):
            fix = "by its .seed, which is that number"
        return (
            f"{names[0]}.grad{more} read, by {reading.by}, while multiplied by {reading.seed:g} "
            f"(the loss scale{dial}) at {line} : its norm reads {reading.norm:.3g}, but the true "
            f"norm is {reading.norm / reading.seed:.3g}. Divide the numbers by {reading.seed:g}, "
            f"or {fix}. For the true norm of all gradients, use grad_norm of the result of "
            "optimizer.step()"
        )


def is_scaled(gradient: Tensor) -> bool:
    """Whether a gradient is multiplied by something that the host knows."""
    return isinstance(gradient.seed, (int, float, np.number)) and gradient.seed != 1
