"""The losses of a script: the values that `backward()` is called on, in order."""

from typing import Any

import numpy as np

from minifp.autograd.loss_seed import scaled
from minifp.autograd.tape import Tensor


class Ended(SystemExit):
    """Ends a script after the steps that were asked for. Scripts that catch Exception let it go."""


class Losses:
    """values: each loss, without a loss scale; the mean of what has several elements. steps: after
    how many to end the script, when the next one is there; None for never."""

    def __init__(self, steps: int | None = None) -> None:
        self.steps = steps
        self.values: list[float] = []

    def watch(self) -> None:
        """Look at each `backward()` from now on."""
        backward: Any = Tensor.backward

        def watched(tensor: Tensor, *args: Any, **settings: Any) -> Any:
            if self.steps is not None and len(self.values) >= self.steps:
                raise Ended(0)
            self.values.append(value_of(tensor))
            return backward(tensor, *args, **settings)

        setattr(Tensor, "backward", watched)  # noqa: B010


def value_of(loss: Tensor) -> float:
    """A loss without the factor by which a GradScaler has multiplied it."""
    node = loss.node
    factor = node.params["scale"] if node is not None and node in scaled else 1.0
    return float(np.mean(loss.detach().numpy(), dtype=np.float64)) / float(factor)
