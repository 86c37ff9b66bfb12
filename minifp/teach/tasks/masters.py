"""Lesson 3: a perceptron by plain gradient descent whose masters a function keeps, or minifp."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp import optim
from minifp.nn.parameter import Parameter
from minifp.numerics import policy
from minifp.ops import cross_entropy, tensor
from minifp.teach.tasks import digits

SCALE = 1024.0


def by_hand(descend: Callable[..., np.ndarray], steps: int, lr: float) -> float:
    """Train by a function such as lesson 3's descend_with_master. Returns the percentage of test
    pictures that are read correctly."""
    model, _ = digits.begun("mixed", lambda p: optim.SGD(p, lr=lr))
    parameters, batches = [*model.parameters()], digits.batches(steps)

    def put(w: np.ndarray) -> None:
        """Lay weights (n) into the model's parameters."""
        ends = np.cumsum([p.array.size for p in parameters])[:-1]
        for p, part in zip(parameters, np.split(w, ends)):
            p.array[...] = part.reshape(p.shape)

    def scaled_gradient(w: np.ndarray) -> np.ndarray:
        """S times the gradient of the next batch, float16 (n)."""
        put(w)
        model.zero_grad()
        x, t = next(batches)
        cross_entropy(model(x), t).backward(seed=SCALE)
        return np.concatenate([p.grad.numpy().ravel() for p in parameters])

    first = np.concatenate([p.numpy().ravel() for p in parameters])
    put(descend(first, scaled_gradient, steps, lr, SCALE))
    return digits.accuracy(model)


def by_minifp(precision: str, steps: int, lr: float) -> float:
    """Train by fp.MixedOptimizer in the same way."""
    scaled = f"{precision},loss_scale={SCALE:g}"
    model: Any = digits.trained(scaled, lambda p: optim.SGD(p, lr=lr), steps)
    return digits.accuracy(model)


def by_optimizer(
    w: np.ndarray,
    scaled_gradient: Callable[[np.ndarray], np.ndarray],
    steps: int,
    lr: float,
    S: float,
) -> np.ndarray:
    """What lesson 3's descend_with_master does, by an optimizer that has only the float32 copy."""
    with policy.precision("float32"):
        master = Parameter(w.astype(np.float32))
        rule = optim.SGD([master], lr=lr)
    for _ in range(steps):
        scaled = scaled_gradient(master.numpy().astype(np.float16))
        master.grad = tensor(scaled.astype(np.float32) / np.float32(S))
        rule.step()
    return master.numpy().astype(np.float16)
