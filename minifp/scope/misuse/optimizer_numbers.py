"""What an optimizer keeps in too few bits: masters made of rounded weights, second moments.

A float32 number has 13 bits of mantissa more than a float16 one. That they are all 0 has a chance
of 2^-13 for a number drawn at random, and so 2^-832 for 64 of them: a parameter whose masters are
all numbers of float16 was rounded, or is made of round numbers. The latter are told apart by their
last stored bits. Multiples of one step, such as k/8 or integers, are odd multiples of float16's ulp
in the one binade at most where the ulp is that step, and even ones in the others. Of numbers that
were rounded, half are odd in every binade: so a parameter counts only if in its two fullest binades
between 1/4 and 3/4 are. (Of 16 rounded numbers, 2 times in 100 fewer or more are odd, and so a
small parameter is missed.) Zeros and powers of two do not count, and 64 different numbers must be
left.
"""

import math
from typing import Any

import numpy as np

from minifp.numerics.formats import downcast, float16, float64, format_of, upcast
from minifp.numerics.state_format import TENSOR
from minifp.optim.state import ScaledState, State
from minifp.runtime.device import moved
from minifp.scope.borders import is_short

MANY = 64  # different numbers that a parameter must have
SPAN = 2.0**24  # of squares of gradients, of which the largest is 2^12 times the smallest
FEW = 16  # numbers in a binade, for its share of odd ones to count
SAMPLE = 4096  # masters whose last bits are looked at, at most


# ---- masters ----


def rounded_parameters(optimizer: Any, assigned: bool = False) -> list:
    """The parameters of a MixedOptimizer whose masters were made from rounded numbers.

    assigned: of those only to which something was assigned since the last step.
    """
    return [
        p
        for o in optimizer.optimizers
        for block in o.blocks
        if block.weights.is_master and block.weights.stored.dtype != block.weights.flat.dtype
        for p, masters in of_weights(block.weights, assigned)
        if were_rounded(masters, p.dtype)
    ]


def of_weights(weights: Any, assigned: bool) -> list[tuple]:
    """(parameter, masters) of each: those they have, or will have of what was assigned since."""
    pairs = []
    for p, version, masters in zip(weights.parameters, weights.versions, weights.masters):
        exact = p.exact if p.storage.version != version else None
        if exact is not None or not assigned:
            pairs.append((p, masters if exact is None else exact))
    return pairs


def were_rounded(masters: Any, dtype: np.dtype) -> bool:
    """Whether these numbers are all ones of a narrower format, and made so by rounding."""
    flat = masters.reshape(-1)
    first = moved(flat[:MANY], "cpu")
    if len(first) < MANY or not are_numbers_of(dtype, first):  # nearly always
        return False
    flat = moved(flat, "cpu")
    return are_numbers_of(dtype, flat) and look_rounded(flat[:: -(-len(flat) // SAMPLE)], dtype)


def are_numbers_of(dtype: np.dtype, x: np.ndarray) -> bool:
    """Whether storing x in this format would change nothing."""
    return bool(np.array_equal(upcast(downcast(x, dtype), x.dtype), x))


def look_rounded(x: np.ndarray, dtype: np.dtype) -> bool:
    """Whether last bits are odd as often as chance has it, in more than one binade."""
    format, x = format_of(dtype), np.abs(upcast(x, float64))
    x = x[np.isfinite(x) & (x >= format.smallest_normal)]
    x = x[np.frexp(x)[0] != 0.5]
    if len(np.unique(x)) < MANY:
        return False
    fraction, power = np.frexp(x)
    odd = np.ldexp(fraction, format.mantissa_bits + 1) % 2 == 1
    binades, sizes = np.unique(power, return_counts=True)
    fullest = np.argsort(sizes)[-2:]
    if len(fullest) < 2 or sizes[fullest].min() < FEW:
        return False
    return all(0.25 <= odd[power == binades[i]].mean() <= 0.75 for i in fullest)


def told_of_masters(parameters: list, names: str) -> str:
    """What is told of masters made from rounded numbers."""
    format, count = format_of(parameters[0].dtype), sum(p.array.size for p in parameters)
    return (
        f"the masters of {names} ({count:,} numbers) are all numbers of {format.name}: they were "
        f"created from rounded weights, such as a checkpoint in {format.name}. Everything below "
        f"half an ulp, up to {format.eps / 2:.2g} of each weight, is lost, and with it the small "
        "updates that had added up there. Save masters with the weights, with fp.save(path, "
        "model, optimizer), and load them with fp.load(path, model, optimizer)"
    )


# ---- second moments ----


def told_of_state(optimizer: Any) -> dict[str, str]:
    """By the kind of optimizer, what is told of squares of gradients that are kept as 0."""
    return {
        type(o).__name__: told_of_squares(o, block, name)
        for o in optimizer.optimizers
        for block in o.blocks
        for name in [*filter(block.state.__contains__, o.second_moments)][:1]
        if loses_squares(block.state[name])
    }


def loses_squares(state: State) -> bool:
    """Whether squares of gradients of a usual size, or 2^-12 times as large as the largest, are 0
    in this state."""
    format = format_of(state.dtype)
    if isinstance(state, ScaledState):
        return format.max < SPAN * format.smallest_subnormal
    return is_short(format)


def told_of_squares(o: Any, block: Any, name: str) -> str:
    """(1 - b) g^2 is stored, b a decay, and half of the smallest subnormal, and less, becomes 0."""
    group, state = block.group, block.state[name]
    format, eps = format_of(state.dtype), group["eps"]
    if isinstance(state, ScaledState):
        least = math.sqrt(format.smallest_subnormal / 2 / format.max)
        return (
            f"{type(o).__name__} keeps {name} in {format.name}, with scales: it is 0 where "
            f"gradients are less than 2^{math.log2(least):.1f} times the largest with the same "
            f"scale, and then the update divides by eps={eps:g} alone. Use a format with more "
            "exponent bits for it, and this one only for first moments: second_moment=float16"
        )
    b = group["betas"][1] if "betas" in group else group.get("alpha", group.get("rho", 0.0))
    tiny = format.smallest_subnormal
    least = math.sqrt(tiny / 2 / (1 - b)) if b < 1 else math.inf
    return (
        f"{type(o).__name__} keeps {name} in {format.name}: it is 0 where gradients are "
        f"below {least:.2g} (2^{math.log2(least):.1f}), and then eps={eps:g} is all that is "
        f"divided by: a gradient of {least:.2g} is made {least / eps if eps else math.inf:.2g}. "
        'Keep it in float32: fp.precision("mixed,optimizer_state=float32"), or with a scale: '
        f"optimizer_state={float16.name},optimizer_state_scale={TENSOR}"
    )
