"""Gradients: summed where they meet, and what is known of those that leaves have.

Gradients that meet at one value are summed in float32 and rounded once. Added up in float16, 3,000
gradients of 1 would stop at 2,048, where 1 is half an ulp. Mostly there are two, as where a
residual connection ends: those wait, and are added when their sum is asked for, which compiled is
one pass that leaves no float32 array behind.
"""

import math

import numpy as np

from minifp.autograd.tape import PARTLY, Tensor
from minifp.errors import TapeError
from minifp.numerics import policy
from minifp.numerics.compiled import compilable
from minifp.numerics.formats import downcast, float32, upcast, wider
from minifp.runtime.callers import warn_once
from minifp.runtime.device import as_array


class GradientSum:
    """Gradients that meet at one value: summed in float32 and rounded once, at the last reader."""

    __slots__ = ("first", "second", "precision")

    def __init__(self, gradient):
        self.first, self.second, self.precision = gradient, None, None

    def add(self, gradient, precision):
        """Add one; none of them is written to, as they may belong to somebody else."""
        self.first = self.total
        self.second, self.precision = gradient, precision
        return self

    @property
    def total(self):
        """The sum, not rounded."""
        if self.second is not None:
            self.first, self.second = sum_of(self.first, self.second, self.precision), None
        return self.first

    def rounded(self, dtype):
        """The sum, in the format in which it is stored."""
        if self.second is not None:
            return sum_of(self.first, self.second, self.precision, dtype)
        return self.first if self.first.dtype == dtype else downcast(self.first, dtype)


def sum_of(x, y, precision, dtype=None):
    """x + y, arrays of one shape, in the format in which gradients meet under a precision; then
    rounded to dtype, if there is one."""
    format = precision.meeting_formats[x.dtype]
    to = format if dtype is None else dtype
    if format == float32 and max(y.dtype.itemsize, to.itemsize) <= float32.itemsize:
        return sum_of_gradients(x, y, to=(to,))
    with np.errstate(all="ignore"):
        total = as_array(np.add(upcast(x, format), upcast(y, format)))
    return total if dtype is None else downcast(total, dtype)


@compilable
def sum_of_gradients(x, y, *, to):
    """x + y, arrays of one shape, added in float32 and rounded once. to: (the result's dtype,)."""
    with np.errstate(all="ignore"):
        return downcast(as_array(upcast(x, float32) + upcast(y, float32)), to[0])


# ---- of leaves ----------------------------------------------------------------------------------


def added(leaf, gradient, seed, unseeded=False):
    """A leaf's gradient with this one added; from the second on, in float32, and in its seed.

    unseeded: whether it is of a backward past any loss scale."""
    held = leaf._grad
    if held is None:
        return as_gradient(gradient, seed)
    before = held.array if held.seed is seed else in_seed(held, seed)
    total = Tensor(sum_of(before, gradient, leaf.precision or policy.active.get().value))
    total.seed, total.unseeded = seed, unseeded or is_unseeded(held)
    if held.consumed is not None and is_partly_consumed(held):
        total.consumed = PARTLY
    return total


def as_gradient(array, seed):
    """A gradient of this seed."""
    gradient = Tensor(array)
    gradient.seed = seed
    return gradient


def seeds_of(gradients, asked_by="step()"):
    """The seeds of gradients, each once. Raises TapeError for none, and where a step has consumed
    all of them.
    """
    if not gradients:
        raise TapeError(f"{asked_by} without gradients: call backward() first")
    if all(g.consumed is not None and is_consumed(g) for g in gradients):
        raise TapeError(
            f"{asked_by} on gradients that a step has already used: call zero_grad() and backward()"
        )
    return list(dict.fromkeys([g.seed for g in gradients]))


def is_consumed(gradient):
    """Whether a step has used a gradient as it is now: what is written to it later is new."""
    return gradient.consumed == gradient.storage.version


def is_partly_consumed(gradient):
    """Whether a step has used a gradient, or what backward has added to since."""
    return is_consumed(gradient) or (gradient.consumed == PARTLY and not gradient.storage.zeroed)


def is_unseeded(gradient):
    """Whether a backward of seed 1 is in a gradient."""
    return gradient.unseeded and not gradient.storage.zeroed


def in_one_seed(owner):
    """The seed of all gradients of a MixedOptimizer's parameters: those of another are brought to
    it. Warns, once each, of gradients that a step has used, and of those past the loss scale.
    Raises as `seeds_of` does.
    """
    parameters = owner.parameters
    gradients = [g for p in parameters if (g := p.grad) is not None]
    seeds = seeds_of(gradients)
    warn_of_consumed(owner, gradients)
    if any(g.unseeded for g in gradients):
        warn_of_bypass(owner, gradients)
    for p in parameters if len(seeds) > 1 else ():
        if p.grad is not None and p.grad.seed != seeds[0]:
            p.grad = successor(p.grad, in_seed(p.grad, seeds[0]), seeds[0])
    return seeds[0]


def warn_of_bypass(owner, gradients):
    """Say once that backwards were not those of a MixedOptimizer whose seed is not 1."""
    if math.ldexp(owner.scale, -owner.dial) == 1 or not any(map(is_unseeded, gradients)):
        return
    parameters = enumerate(owner.parameters)
    names = [name_of(p, i) for i, p in parameters if p.grad is not None and is_unseeded(p.grad)]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    dial = f", with the exponent dial 2^-{owner.dial}," if owner.dial else ""
    warn_once(
        "bypass",
        f"step(): the gradient of {names[0]}{more} was made by loss.backward(), which bypasses the "
        f"loss scale S = {owner.scale:g}{dial}: gradients too small for their format became 0. "
        "Write optimizer.backward(loss) instead. (If you multiplied the loss by S yourself, the "
        "step used gradients that are S times too large.)",
        owner=owner,
    )


def name_of(p, i):
    """What a parameter, number i of all, is called."""
    return getattr(p, "name", None) or f"parameter {i} {p.shape}"


def warn_of_consumed(owner, gradients):
    """Say once that a step of `owner` uses what one before has used. gradients: Tensors."""
    if any(map(is_partly_consumed, [g for g in gradients if g.consumed is not None])):
        warn_once(
            "consumed",
            "step() used gradients that an earlier step had already used, in whole or in part: "
            "backward adds to existing gradients. Call zero_grad() after each step, or before "
            "backward",
            owner=owner,
        )


def successor(gradient, array, seed=1.0):
    """The gradient that takes the place of another, with other numbers: as much of it is used."""
    new = mark_alike(gradient, Tensor(array))
    new.seed = seed
    return new


def mark_alike(gradient, new):
    """Let a tensor with numbers of its own be marked as the gradient is; return it."""
    new.seed, new.unseeded = gradient.seed, is_unseeded(gradient)
    if is_consumed(gradient):
        new.consumed = new.storage.version
    elif is_partly_consumed(gradient):
        new.consumed = PARTLY
    return new


def in_seed(gradient, seed):
    """The numbers of a gradient as a backward of this seed makes them: of another in float32."""
    if gradient.seed is seed or gradient.seed == seed:
        return gradient.array
    return multiplied(gradient.array, float(seed) / float(gradient.seed))


@compilable
def multiplied(array, factor):
    """factor times an array, in float32 or wider."""
    wide = widened(array)
    with np.errstate(all="ignore"):  # Inf and NaN are values here: a step looks for them
        return wide * wide.dtype.type(factor)


def widened(array):
    """An array in float32 or wider."""
    return upcast(array, wider(array.dtype, float32))
