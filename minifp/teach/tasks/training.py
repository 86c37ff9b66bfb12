"""What tasks have in common: a model and its optimizer, batches, and what was learned."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minifp import data
from minifp.autograd.grad_mode import no_grad
from minifp.numerics import policy
from minifp.ops import tensor
from minifp.runtime.random import manual_seed
from minifp.training.mixed import MixedOptimizer

Rule = Callable[[Any], Any]  # parameters -> an optimizer


def begun(
    build: Callable[[], Any], precision: str, rule: Rule, seed: int = 0, **settings: Any
) -> tuple[Any, Any]:
    """A model with the first weights of a seed, and its MixedOptimizer with these settings."""
    manual_seed(seed)
    with policy.precision(precision):
        model = build()
        return model, MixedOptimizer(rule(model.parameters()), **settings)


def in_batches(x: np.ndarray, t: np.ndarray, size: int, epochs: int) -> Iterator[Any]:
    """All batches of all epochs, shuffled."""
    loader = data.DataLoader(data.TensorDataset(x, t), batch_size=size, shuffle=True, seed=0)
    for _ in range(epochs):
        yield from loader


def percent_right(model: Any, x: np.ndarray, t: np.ndarray) -> float:
    """How many examples have their largest output at their class t."""
    with no_grad():
        return 100 * float(np.mean(model(tensor(x)).numpy().argmax(1) == t))


def gradients_of(model: Any) -> np.ndarray:
    """Of all weights, float64 (n)."""
    return np.concatenate([p.grad.numpy().ravel().astype(np.float64) for p in model.parameters()])
