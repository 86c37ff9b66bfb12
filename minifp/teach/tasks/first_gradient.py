"""The gradient of a model at its first weights, as a precision stores it."""

import numpy as np

from minifp import data
from minifp.lab.tasks import load_task
from minifp.numerics import policy
from minifp.ops import cross_entropy
from minifp.runtime.random import manual_seed
from minifp.teach.tasks.training import gradients_of
from minifp.training.mixed import MixedOptimizer


def first_gradient(task: str, precision: str, dial: int = 0) -> np.ndarray:
    """Of all weights (n), of the first batch of a task, in float64 and without the loss scale and
    the exponent dial."""
    chosen = load_task(task)
    manual_seed(0)
    with policy.precision(precision):
        model = chosen.model()
        rule = chosen.optimizer(model.parameters())
    optimizer = MixedOptimizer(rule, dial=dial, diagnose=False)
    train, _ = data.digits()
    loader = data.DataLoader(train, batch_size=chosen.batch_size, shuffle=True, seed=0)
    x, t = next(iter(loader))
    optimizer.backward(cross_entropy(model(x), t))
    optimizer.unscale_()
    return gradients_of(model)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Of the angle between two vectors (n): 1 where they point in one direction."""
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
