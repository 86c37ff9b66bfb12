"""Gradients that are still multiplied by a loss scale, met by what knows nothing of it.

Such a one knows by what it was multiplied (`Tensor.seed`). What only chooses or moves its numbers
hands that on. Whoever computes with them, or takes them out of minifp, is told once; the result is
marked, and refused as a gradient, for whether it is multiplied still nobody can tell. What is
written into one in place is meant without the loss scale, and converted.
"""

from collections.abc import Iterable
from typing import Any

from minifp.autograd.gradients import multiplied
from minifp.autograd.seeds import Chosen, Unknown
from minifp.autograd.tape import Tensor, observers
from minifp.errors import TapeError
from minifp.numerics.autocast import KIND_OF
from minifp.runtime.callers import warn_once

MOVING = ("cast", "move")  # of no kind of autocast's
INSTEAD = (
    "Divide gradients by it first: call optimizer.unscale_() of a MixedOptimizer, or "
    "scaler.unscale_(optimizer) of a GradScaler; under amp.scale_loss, read them after its block"
)


def is_watched() -> bool:
    """Whether somebody is told of numbers that are read, as a microscope is."""
    return any(hasattr(observer, "on_read") for observer in observers)


def is_scaled(t: Any) -> bool:
    """Whether a tensor is a gradient multiplied by a loss scale (and not by a seed of backward's
    caller)."""
    return t.seed != 1 and type(t.seed) is not Chosen


def warn_of_read(t: Tensor) -> None:
    """Tell once that the numbers of a scaled gradient are taken as they are."""
    if is_scaled(t) and type(t.seed) is not Unknown:  # of which was told when it was computed
        _warn("numbers of a gradient were read that are")


def hand_on(name: str, gradient: Tensor, args: Iterable[Any], results: Iterable[Tensor]) -> None:
    """Mark the results of an operation on a scaled gradient, and tell of it unless it is one that
    only moves numbers, or that divides them by the loss scale."""
    moves = KIND_OF.get(name) == "exact" or name in MOVING
    if not moves and (type(gradient.seed) is Chosen or _divides(name, gradient, args)):
        return
    if not (moves or type(gradient.seed) is Unknown):
        _warn(f"{name} of gradients that are")
    for result in results:
        result.seed = gradient.seed if moves else Unknown()


def without_scale(t: Any) -> Any:
    """A tensor as it is meant: without the loss scale, in float32. Raises TapeError where it was
    computed from scaled gradients, of which that cannot be told; others are as they are."""
    if not isinstance(t, Tensor) or not is_scaled(t):
        return t
    if type(t.seed) is Unknown:
        raise TapeError(Unknown.refusal("what is written into a gradient"))
    return Tensor(multiplied(t.array, 1 / t.seed))


def in_seed_of(gradient: Tensor, value: Tensor) -> Any:
    """The numbers of `value` multiplied as those of a gradient are, in whose place they go."""
    if type(gradient.seed) is Chosen or type(value.seed) is Chosen:
        return value.array
    return multiplied(without_scale(value).array, float(gradient.seed))


def warn_of_unscaling(gradient: Tensor, name: str, args: Any) -> None:
    """Tell of one who divides a scaled gradient by the loss scale in place, which the step does."""
    if _divides(name[:-1], gradient, args):
        warn_once(
            "unscaled by hand",
            f"{name} divides a gradient by the loss scale {float(gradient.seed):g}, and the step "
            "divides by it again: updates would be that many times too small. Call "
            "optimizer.unscale_() instead: the step takes that into account",
        )


def _divides(name, gradient, args):
    """Whether a product or a quotient with a number takes the loss scale out."""
    numbers = [a for a in args if isinstance(a, (int, float)) and a]
    if name not in ("mul", "div") or len(numbers) != 1 or type(gradient.seed) is Unknown:
        return False
    divisor = numbers[0] if name == "div" else 1 / numbers[0]
    return abs(divisor / float(gradient.seed) - 1) < 1e-6


def _warn(what):
    if is_watched():  # by a microscope, which tells more
        return
    warn_once("scaled numbers", f"{what} still multiplied by the loss scale. {INSTEAD}")
