"""A perceptron that learns to read pictures of digits, 8x8 pixels each."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, islice, repeat
from typing import Any

import numpy as np

from minifp import data, models
from minifp.ops import cross_entropy
from minifp.teach.tasks import training
from minifp.teach.tasks.training import Rule

SIZES = 64, 128, 64, 10
BATCH = 32


@cache
def pictures() -> tuple[Any, Any]:
    """Pictures to train with, and to test with."""
    return data.digits()


def batches(steps: int, seed: int = 0) -> Iterator[Any]:
    """Pictures and their digits, shuffled by the seed, as many times as there are steps."""
    loader = data.DataLoader(pictures()[0], batch_size=BATCH, shuffle=True, seed=seed)
    return islice(chain.from_iterable(repeat(loader)), steps)


def begun(precision: str, rule: Rule, seed: int = 0, sizes: tuple = SIZES) -> tuple[Any, Any]:
    """A perceptron with the first weights of a seed, and its MixedOptimizer."""
    return training.begun(lambda: models.MLP(*sizes), precision, rule, seed)


def trained(
    precision: str,
    rule: Rule,
    steps: int,
    seed: int = 0,
    look: Callable[[int, Any], None] | None = None,
    sizes: tuple = SIZES,
) -> Any:
    """A perceptron after so many steps. look(step, model): before each step, and after the last."""
    model, optimizer = begun(precision, rule, seed, sizes)
    look = look or (lambda step, model: None)
    for step, (x, t) in enumerate(batches(steps, seed)):
        look(step, model)
        optimizer.minimize(cross_entropy(model(x), t))
    look(steps, model)
    return model


def accuracy(model: Any) -> float:
    """Percent of the test pictures that are read correctly."""
    return training.percent_right(model, *pictures()[1][:])


def flat(model: Any) -> np.ndarray:
    """All weights of a model, float64 (n)."""
    return np.concatenate([p.numpy().astype(np.float64).ravel() for p in model.parameters()])
