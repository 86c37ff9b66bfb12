"""A perceptron that learns to read pictures of digits, 8x8 pixels each."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from minifp import data, models
from minifp.autograd.grad_mode import no_grad
from minifp.numerics import policy
from minifp.ops import cross_entropy
from minifp.runtime.random import manual_seed
from minifp.training.mixed import MixedOptimizer

SIZES = 64, 128, 64, 10
BATCH = 32

Rule = Callable[[Any], Any]  # parameters -> an optimizer


@cache
def pictures() -> tuple[Any, Any]:
    """Pictures to train with, and to test with."""
    return data.digits()


def batches(steps: int, seed: int = 0) -> Iterator[Any]:
    """Pictures and their digits, shuffled by the seed, as many times as there are steps."""
    loader = data.DataLoader(pictures()[0], batch_size=BATCH, shuffle=True, seed=seed)
    made = 0
    while made < steps:
        for batch in loader:
            if made == steps:
                return
            made += 1
            yield batch


def begun(precision: str, rule: Rule, seed: int = 0, sizes: tuple = SIZES) -> tuple[Any, Any]:
    """A perceptron with the first weights of a seed, and its MixedOptimizer."""
    manual_seed(seed)
    with policy.precision(precision):
        model = models.MLP(*sizes)
        return model, MixedOptimizer(rule(model.parameters()))


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
    x, t = pictures()[1][:]
    with no_grad():
        return 100 * float(np.mean(model(x).numpy().argmax(1) == t))


def flat(model: Any) -> np.ndarray:
    """All weights of a model, float64 (n)."""
    return np.concatenate([p.numpy().astype(np.float64).ravel() for p in model.parameters()])
