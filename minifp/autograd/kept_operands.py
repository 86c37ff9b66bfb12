"""What the tape keeps of what was multiplied, under saved=operands: the codes that entered.

A product is linear in each of its operands, so all that backward reads of one is what entered the
product, not the number that was stored. So where kernels of an operation read an argument as an
operand and in no other way, its node keeps the operand's codes, one byte a number in FP8
(numerics/operand_codes.py), and backward multiplies what they say: the same numbers, bit for bit,
as if the argument had been kept and rounded again.

The argument itself is kept, as under saved=activations, where codes would be there beside it:

    a leaf          a weight or a batch, which the tape holds anyway, for its gradient or to do the
                    operation again; and views of a leaf that has a gradient
    an array        on whose memory another operation has saved something before, as a ReLU its y
    what is read    by a kernel of the operation that does not multiply it

and where there are no codes (Inf in E4M3). Operations that multiply one array share its codes.
Codes are a copy: writing into the argument between forward and backward then changes no gradient,
so that it is not refused.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from minifp.autograd.storage import Storage
from minifp.autograd.tape import Node, Tensor
from minifp.errors import PrecisionError
from minifp.numerics.formats import is_float
from minifp.numerics.operand_codes import OperandCodes, coded, place_of
from minifp.numerics.operands import CURRENT, STATE, Entering, Rounding, amax_of, entering
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import address, is_array


class InContext(Entering):
    """A way in which operands enter while a function runs."""

    def run(self, fn: Callable, *args: Any, **settings: Any) -> Any:
        """What a function returns whose kernels are called in this way."""
        with entering_by(self):
            return fn(*args, **settings)


@contextmanager
def entering_by(way: Entering) -> Iterator[None]:
    """Let operands enter in this way in the `with` block."""
    token = entering.set(way)
    try:
        yield
    finally:
        entering.reset(token)


class Keeping(InContext):
    """The forward pass of one operation, which finds out of which arguments codes are kept.

    op: its name. storages: of the arguments that nobody else is known to hold, by place. codes: by
    place, None of what is not kept so. largest: magnitudes that were found, by place.
    """

    def __init__(self, op: str, args: Any) -> None:
        alone = [a for a in args if isinstance(a, Tensor) and is_held_by_none(a)]
        self.op = op
        self.storages: dict[tuple, Storage] = {place_of(t.array): t.storage for t in alone}
        self.codes: dict[tuple, OperandCodes | None] = {}
        self.largest: dict[tuple, float] = {}

    def amax_of(self, x: Any) -> float:
        """The largest magnitude of an operand, found once."""
        place = place_of(x)
        if place not in self.storages:  # whose memory may soon be another's
            return amax_of(x)
        if place not in self.largest:
            self.largest[place] = amax_of(x)
        return self.largest[place]

    def rounded(self, x: Any, to: Rounding, summed: tuple[int, ...], amax: Any) -> Any:
        """An operand as it enters: as its codes say, if it has some."""
        place = place_of(x)
        made = self._coded(x, to, amax) if place in self.storages else None
        if made is None:
            self.codes[place] = None
            return super().rounded(x, to, summed, amax)
        known = self.codes.setdefault(place, made)
        if known is not None and known.codes is not made.codes:  # entered with two scales
            self.codes[place] = None
        return made.decoded()

    def reads(self, kernel: Any, x: Any) -> None:
        """Of what a kernel reads and does not multiply no codes are kept."""
        if STATE in kernel.wants:
            warn_of_sequence(self.op)
        if is_array(x):
            self.codes[place_of(x)] = None

    def passes(self, kernel: Any, args: Any, roundings: tuple) -> None:
        """As for numbers, with codes that nobody has written."""
        for x, to in zip(args, roundings):
            if to is None:
                self.reads(kernel, x)
            elif place_of(x) in self.storages:
                self.codes.setdefault(place_of(x), self._shared(x, to, None, partial(blank, x, to)))

    def kept(self, saved: Any) -> Any:
        """What the node keeps of what an operation has saved."""
        return mapped(self._kept, saved)

    def held_by(self, node: Node) -> None:
        """Let the memory that a node saves as it is know of it, unless another one has before."""
        for storage in [storage for storage, _ in node.watched if not storage.is_kept]:
            storage.keeper = ref(node)

    def _kept(self, a):
        codes = self.codes.get(place_of(a)) if is_array(a) else None
        return a if codes is None else codes._replace(codes=codes.codes.reshape(a.shape))

    def _coded(self, x, to, amax):
        largest = None if is_on_device(x) else self.amax_of(x)
        amax = largest if to.scale == CURRENT else amax
        return self._shared(x, to, amax, partial(coded, x, to, amax, largest))

    def _shared(self, x, to, amax, make):
        """The codes of an operand: those of an earlier operation where they are the same.

        Of another view of the same numbers they are others: what enters has its shape and strides.
        """
        storage = self.storages[place_of(x)]
        view = address(x), x.dtype, x.shape, x.strides
        key = view, storage.version, to._replace(summed=()), amax
        if storage.codes is not None and storage.codes[0] == key:
            _, codes, others = storage.codes
            if codes() is not None:
                return others._replace(codes=codes())
        made = make()
        if made is not None:
            storage.codes = key, ref(made.codes), made._replace(codes=None)
        return made


def blank(x: np.ndarray, to: Rounding) -> OperandCodes:
    """Codes that nobody has written, where only their shape is asked for."""
    amax = None if to.scale is None else np.empty(())
    return OperandCodes(np.empty(x.shape, to.format.stored), amax, None, to, to.enters_in(x.dtype))


def is_held_by_none(t: Tensor) -> bool:
    """Whether the memory of an argument is let go unless its numbers are saved."""
    is_leaf = t.node is None or any(s.is_leaf and s.requires_grad for s in t.storage.sharers())
    is_full = t.array.size > 0 and is_float(t.array.dtype)
    return is_full and not is_leaf and not t.storage.is_kept


class Reading(InContext):
    """The backward pass of a node. saved: what it reads, operands decoded; known: their codes, by
    place."""

    def __init__(self, node: Node) -> None:
        self.node, self.known = node, dict[tuple, OperandCodes]()
        self.saved = mapped(self._decoded, node.saved)

    def _decoded(self, a):
        if not isinstance(a, OperandCodes):
            return a
        only_shape = self.node.precision.shapes_only
        x = np.empty(a.codes.shape, a.dtype) if only_shape else a.decoded()
        self.known[place_of(x)] = a
        return x

    def amax_of(self, x: Any) -> float:
        """The largest magnitude of an operand, before it was rounded."""
        codes = self.known.get(place_of(x))
        return amax_of(x) if codes is None else codes.largest_before

    def rounded(self, x: Any, to: Rounding, summed: tuple[int, ...], amax: Any) -> Any:
        """An operand as it enters: one that was saved as it is."""
        codes = self.known.get(place_of(x))
        if codes is None:
            return super().rounded(x, to, summed, amax)
        if codes.to.format != to.format:
            self._refuse(f"rounds it to {to.format.name}")
        return x

    def reads(self, kernel: Any, x: Any) -> None:
        """Refuse what was saved for products alone."""
        if is_array(x) and place_of(x) in self.known:
            self._refuse(f"reads it in {kernel.name}, which does not multiply it")

    def _refuse(self, how):
        raise PrecisionError(
            f"backward of {self.node.op} under saved=operands: an argument that its forward "
            f"multiplied was saved as it entered the product, and backward {how}: expected "
            "saved=activations, or a backward that multiplies what forward multiplies"
        )


def mapped(fn: Callable[[Any], Any], saved: Any) -> Any:
    """fn of each thing that was saved, also of those in tuples and lists."""
    if isinstance(saved, (tuple, list)) and not isinstance(saved, OperandCodes):
        make = getattr(saved, "_make", type(saved))  # of named tuples
        return make([mapped(fn, item) for item in saved])
    return fn(saved)


def warn_of_sequence(op: str) -> None:
    """Tell, once for each operation, what of a sequence is not kept in codes."""
    warn_once(
        f"saved operands of {op}",
        f"{op} under saved=operands: only its input is saved as operands. The states between its "
        "steps are saved as activations: other formulas read them too, and their scales inside "
        "the sequence differ from those in the gradients of the weights",
    )
