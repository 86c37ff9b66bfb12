"""What gradients are multiplied by in a backward, and where that is taken out again.

It is the seed that backward is called with; times the factor of a loss that was scaled by an
operation (see minifp/ops/losses/scaled_loss.py); or that of a process in which every backward is
scaled, as TensorFlow's graph rewrite does.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from weakref import WeakSet

from minifp.autograd.gradients import multiplied
from minifp.autograd.tape import Node, Tensor
from minifp.errors import TapeError
from minifp.runtime.callers import warn_once

scaled: WeakSet[Node] = WeakSet()  # the nodes of scaled losses that are there
# One that seeds every backward which has no seed of its own: its `begin(order, losses)` returns the
# seed; `give_way(to)` ends that.
automatic: list[Any] = []
# Called where training may begin, for who wants to know: a module or an optimizer is made, and the
# first backward after that.
beginnings: list[Callable[[], None]] = []
_begins = [True]


def training_begins(is_made: bool = True) -> None:
    """Tell those who want to know. is_made: whether a module or an optimizer is."""
    _begins[0] = is_made
    for look in beginnings:
        look()


class Seeds(NamedTuple):
    """first: what backward begins with. whole: what gradients are multiplied by. of_leaves: what
    those are that backward leaves behind, in `.grad` or returned: `whole`, or 1. by_loss: whether
    an operation has scaled the loss, perhaps by 1. are_taken_out: whether gradients that are left
    behind have been divided by the seed."""

    first: Any
    whole: Any
    of_leaves: Any
    by_loss: bool = False
    are_taken_out: bool = False

    def taken_out(self, gradient: Any) -> Any:
        """A gradient as it is left behind: divided, in float32, where that is done."""
        return multiplied(gradient, 1 / self.whole) if self.are_taken_out else gradient


UNSEEDED = Seeds(1.0, 1.0, 1.0)


def seeds_in(order: list, seed: Any, losses: Iterable[Tensor]) -> Seeds:
    """The seeds of a backward from `losses` through these nodes, called with `seed`.

    Raises TapeError for losses that were scaled by different factors, or one that was scaled twice.
    """
    nodes = [node for node in order if node in scaled] if scaled else ()
    if nodes:
        ends = [loss.gradient_node for loss in losses]
        whole = seed * _factor(order, nodes, ends)
        return Seeds(seed, whole, whole, by_loss=True)
    if _begins[0]:
        training_begins(False)
    if automatic and isinstance(seed, float) and seed == 1:
        whole = automatic[-1].begin(order, losses)
        return Seeds(whole, whole, 1.0, are_taken_out=True)
    return Seeds(seed, seed, seed)


def _factor(order, nodes, ends):
    """What the nodes of scaled losses, and nothing but these, multiply by, between ends and leaves.
    Raises as seeds_in does; warns of leaves that are reached past all of them."""
    factors = {node.params["scale"] for node in nodes}
    if len(factors) > 1:
        raise TapeError(
            "backward through losses scaled by "
            f"{' and '.join(f'{s:g}' for s in sorted(factors))}: their gradients would be mixed "
            "up; scale all losses by the same GradScaler"
        )
    (factor,) = factors
    if nodes != ends:  # a scaled loss alone cannot go wrong
        _check_scaled_once(order, set(nodes), ends, factor)
    return factor


def _check_scaled_once(order, nodes, ends, factor):
    behind: set = set()  # what is reached through a scaled loss
    past = set(ends)  # what is reached through none
    for node in order:
        if node in nodes and node in behind:
            raise TapeError(
                f"backward through a loss that was scaled twice, by {factor:g} and {factor:g}: "
                "scale each loss once"
            )
        for parent, _ in node.parents:
            if node in nodes or node in behind:
                behind.add(parent)
            if node in past and node not in nodes:
                past.add(parent)
    if any(node in past and isinstance(node, Tensor) for node in order):
        warn_once(
            "partly scaled",
            f"backward through a sum of a part scaled by {factor:g} and an unscaled part: the "
            f"gradients of the unscaled part are {factor:g} times too small. Scale the whole sum, "
            "as in scaler.scale(loss + penalty)",
        )
