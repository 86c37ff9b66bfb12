"""A model that is measured: what it is built of, and the batches it gets. NumPy only."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BATCHES = 4  # different ones, in turn


@dataclass(frozen=True)
class Model:
    """A training step. architecture: a class in minifp.models, called with `arguments`.

    shape: of a batch of pictures (N, ...), or of character codes (B, T) where `codes` (how many
    different ones) is given. The targets are classes, or codes. task: another one, by its name in
    ours_tasks.py and theirs_tasks.py; draw: what draws its batches then, of the shape, from a
    random generator. optimizer: its name and settings. keywords: further arguments, by name.
    is_trained: whether a step is one of training; otherwise it is inference, forward alone. drops:
    whether it drops or samples at random, so that first losses are alike only roughly. tiny: what
    is other in a size for trying the tools.
    """

    name: str
    title: str
    architecture: str
    arguments: tuple[Any, ...]
    shape: tuple[int, ...]
    optimizer: tuple[str, dict[str, float]]
    codes: int = 0
    tiny: dict[str, Any] = field(default_factory=dict)
    keywords: dict[str, Any] = field(default_factory=dict)
    is_trained: bool = True
    drops: bool = False
    task: str = ""
    draw: Callable[[np.random.Generator, tuple[int, ...]], tuple] | None = None

    inner = 1

    @property
    def pictures(self):
        """Whether batches have pixels, which can lie before channels or behind them."""
        return len(self.shape) == 4

    def batches(self):
        """The batches, (x, t) or what the task has, on which all implementations are trained."""
        random = np.random.default_rng(0)
        for _ in range(BATCHES):
            if self.draw is not None:
                yield self.draw(random, self.shape)
            elif self.codes:
                text = random.integers(0, self.codes, (self.shape[0], self.shape[1] + 1))
                yield text[:, :-1], text[:, 1:]
            else:
                x = random.normal(0, 1, self.shape).astype(np.float32)
                yield x, random.integers(0, 10, self.shape[0])


ADAM, SGD = ("Adam", {"lr": 1e-4}), ("SGD", {"lr": 0.01, "momentum": 0.9})
