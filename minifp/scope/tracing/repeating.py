"""What doing a recorded step again has in common, whatever for: names, places, gradients that meet.

Nodes are always those of the step itself, also where a copy of its graph is walked.
"""

import inspect
from typing import Any

from minifp.autograd.gradients import GradientSum
from minifp.autograd.tape import Node, Tensor
from minifp.errors import DeviceError, TapeError
from minifp.numerics.policy import Precision
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import is_array
from minifp.training.diagnosis import Recorded

WEIGHT = "weight"  # in the place of an operation, of a leaf


def check_recorded(what: str, recorded: Recorded) -> None:
    """Raise TapeError for a step that was forgotten, DeviceError for one on a GPU."""
    for node in recorded.order:
        if isinstance(node, Tensor):
            values: tuple = (node.array,)
        elif node.call is None:
            raise TapeError(
                f"{what}: what {node.op} was called with is already released: ask between "
                "optimizer.backward(loss) and optimizer.step()"
            )
        else:
            values = node.call[1]
        if any(is_array(a) and is_on_device(a) for a in values):
            raise DeviceError(
                f"{what}: the step ran on a GPU, but steps can be repeated on the CPU only: train "
                "one step with the model and its batch on device='cpu'"
            )


def operation_of(node: Any) -> str:
    """The name of an operation, WEIGHT for a leaf."""
    return node.op if isinstance(node, Node) else WEIGHT


def module_of(node: Any) -> str:
    """The path of the module that called an operation; the name of a parameter."""
    if isinstance(node, Node):
        return node.module
    return getattr(node, "name", None) or ""


def arguments_named(node: Node) -> list[str]:
    """What an operation calls its positional arguments, one for each of them."""
    parameters = inspect.signature(node.call[0]).parameters.values()
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "argument")
    return names + [f"{rest}{i}" for i in range(len(node.parents) - len(names))]


class Arrivals:
    """Gradients on their way: by node and output, all that arrive, and who sent them."""

    def __init__(self) -> None:
        self.waiting: dict[Any, dict[int, list]] = {}

    def add(self, node: Any, index: int, gradient: Any, precision: Precision) -> None:
        """One has arrived. precision: that of the operation that sent it."""
        self.waiting.setdefault(node, {}).setdefault(index, []).append((gradient, precision))

    def send(self, node: Node, gradients: tuple, precision: Precision) -> None:
        """Add those that an operation sends to what it read."""
        for (parent, index), gradient in zip(node.parents, gradients):
            if parent is not None:
                self.add(parent, index, gradient, precision)

    def take(self, node: Any) -> dict[int, list]:
        """All that has arrived at a node, by output: lists for `summed`."""
        return self.waiting.pop(node, {})


def summed(addends: list, format: Any) -> Any:
    """The sum of gradients that meet, rounded once, as autograd/backward.py makes it."""
    (first, _), *others = addends
    total = GradientSum(first)
    for gradient, precision in others:
        total.add(gradient, precision)
    return total.rounded(format)
