"""Gradients that are read, or changed, while they are still multiplied by the loss scale.

backward leaves S dL/dw in `.grad`; `optimizer.unscale_()`, or the step itself, divides by S. What
is read in between is S times too large, and what is changed in between by a number of the user's
own (a largest norm, a limit, a weight decay) has that number divided by S.

A change is seen by comparison: of what the optimizer is about to use with what backward delivered.
Of that a checksum is kept, and for saying what the change was a sample of SAMPLE numbers. Where
backward adds to a gradient, the sum is made once more. Gradients on a GPU, and those of seed 1, are
not looked at: so after `unscale_()` everything is allowed.
"""

import math
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.gradient_clip import squared_norm
from minifp.autograd.gradients import in_seed, sum_of
from minifp.autograd.tape import Tensor
from minifp.numerics.formats import float64, upcast
from minifp.numerics.policy import get_precision
from minifp.runtime.device import is_array
from minifp.scope.misuse.changed_gradients import Change, what_was_done
from minifp.scope.misuse.gradient_readings import GradientReadings, is_scaled
from minifp.scope.misuse.untrained import Name, Tell

SAMPLE = 4096
INVARIANT = {"isfinite", "isinf", "isnan", "eq", "ne", "sign"}  # the same of scaled gradients
UNSEEN = "written through .array, .data or NumPy, between backward and step"


class Delivered(NamedTuple):
    """What backward may have left: checksums (fp.grad delivers too, and leaves nothing)."""

    possible: tuple[int, ...]
    sample: np.ndarray


class ScaledGradients:
    """Looks at the gradients of an optimizer's parameters, and of other leaves."""

    def __init__(self, optimizer: Any, name: Name, tell: Tell) -> None:
        self.optimizer, self.name, self.tell = optimizer, name, tell
        self.readings = GradientReadings(optimizer, name)
        self.begin()

    def begin(self) -> None:
        """A step begins."""
        self.readings.forget()
        self.delivered: dict[int, Delivered] = {}
        self.changes: dict[int, Change] = {}
        self.in_step = False
        self.seed: Any = 1.0  # of the backward that is under way

    def on_seed(self, seed: Any) -> None:
        """A backward begins."""
        self.seed = seed

    def on_gradient(self, leaf: Tensor, gradient: Any) -> None:
        """Take note of what a leaf's gradient will be; called before it is."""
        self.readings.add_leaf(leaf)
        if type(gradient) is not np.ndarray:
            return
        before = leaf.grad
        if before is None:
            self.delivered[id(leaf)] = Delivered((checksum(gradient),), sampled(gradient))
            return
        self._compare(leaf)
        precision = leaf.precision or get_precision()
        total = sum_of(in_seed(before, self.seed), gradient, precision)
        possible = checksum(total), checksum(before.array)
        self.delivered[id(leaf)] = Delivered(possible, sampled(total))

    # ---- reading ----

    def on_kernel(self, kernel: Any, args: tuple) -> None:
        """A kernel that is given a scaled gradient, outside of the optimizer's step, reads it."""
        if not self.in_step and self.readings.can_be():
            name = kernel.name.rpartition(".")[2].removesuffix("_forward")
            for a in filter(is_array, args if name not in INVARIANT else ()):
                self.readings.read(a, name)

    def on_read(self, t: Tensor) -> None:
        """The user is given the numbers of a tensor."""
        if not self.in_step:
            self.readings.read(t.array, "NumPy or Python", t)

    def tell_of_reads(self) -> None:
        """Tell of the lines that read."""
        for line, text in self.readings.texts().items():
            self.tell("read", line, text)

    # ---- changing ----

    def _compare(self, leaf):
        """Keep what was done to a leaf's gradient since backward left it, if anything was."""
        delivered, gradient = self.delivered.get(id(leaf)), leaf.grad
        read = self.readings.of(leaf)  # one without a scale may be made of one that had it
        if delivered is None or not (is_scaled(gradient) or read):
            return
        if type(gradient.array) is not np.ndarray or checksum(gradient.array) in delivered.possible:
            return
        seed = self.readings.seed_of(gradient)
        was = read[0].seed if seed == 1 and read else seed
        norm, new = math.sqrt(squared_norm(gradient.array)), sampled(gradient.array)
        if len(new) == len(delivered.sample):
            samples = delivered.sample, new, sampled(leaf.array)
            change = Change(self.name(leaf), *samples, gradient.array.dtype, was, seed, norm)
            self.changes.setdefault(id(leaf), change)

    def on_update(self, gradients: list, looking: bool) -> None:
        """Compare what the step is about to use with what was delivered; tell what was done."""
        if looking:
            for p in self.optimizer.parameters:
                if p.grad is not None:
                    self._compare(p)
            self._tell_of_changes(block for blocks in gradients for block in blocks)
            self.tell_of_reads()

    def _tell_of_changes(self, used: Iterable):
        if self.changes:
            norm = math.sqrt(sum(block.squared_norm() for block in used))
            lines = self.readings.take(self.changes)  # these did not only read
            finding = what_was_done(list(self.changes.values()), norm)
            if finding is not None:
                where = "; ".join(lines[:3]) or UNSEEN
                self.tell(f"changed: {finding.kind}", where, finding.text(where))

    def on_step(self) -> None:
        """The step is over: its gradients are used up."""
        self.tell_of_reads()
        self.begin()


def checksum(array: np.ndarray) -> int:
    """A number that another array has with a chance of 2^-32."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def sampled(array: np.ndarray) -> np.ndarray:
    """At most SAMPLE numbers, at even distances, as a copy in float64."""
    flat = np.asarray(array).reshape(-1)
    return np.array(upcast(flat[:: max(1, -(-flat.size // SAMPLE))], float64))
