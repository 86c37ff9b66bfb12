"""Lesson 8: LeNet on raw pixels of digits, which it normalises itself."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from minifp import data, models, nn, optim
from minifp.autograd.grad_mode import no_grad
from minifp.numerics import policy
from minifp.ops import cross_entropy, tensor
from minifp.runtime.random import manual_seed
from minifp.teach.tasks.nine_places import pictures
from minifp.training.mixed import MixedOptimizer

LeNet = partial(models.LeNet, classes=10, size=8)


def behind_a_norm() -> Any:
    """LeNet that normalises its pictures itself."""
    return nn.Sequential(nn.BatchNorm2d(1), LeNet())


def batches(size: int, scale: float, epochs: int) -> Iterator[Any]:
    """Batches of pixels, from 0 to 16, times `scale`."""
    x, t = pictures()[0].arrays
    pairs = data.TensorDataset(x * np.float32(scale), t)
    loader = data.DataLoader(pairs, batch_size=size, shuffle=True, seed=0)
    for _ in range(epochs):
        yield from loader


def begun(build: Callable[[], Any], precision: str) -> tuple[Any, Any]:
    """A model and its MixedOptimizer, with Adam."""
    manual_seed(0)
    with policy.precision(precision):
        model = build()
        rule = optim.Adam(model.parameters(), lr=5e-3)
        return model, MixedOptimizer(rule, diagnose=False)


def trained(
    build: Callable[[], Any], precision: str, batches: Iterable[Any], scale: float
) -> tuple[list[float], float]:
    """Train a model; its losses, and its accuracy on pictures that were held out, in percent."""
    model, optimizer = begun(build, precision)
    losses = []
    for x, t in batches:
        loss = cross_entropy(model(x), t)
        optimizer.minimize(loss)
        losses.append(loss.item())
    model.eval()
    x, t = pictures()[1].arrays
    with no_grad():
        said = model(tensor(x * np.float32(scale))).numpy().argmax(1)
    return losses, 100 * float(np.mean(said == t))


def first_gradient(precision: str) -> np.ndarray:
    """Of all of LeNet's weights (n), of one batch, float64 and unscaled."""
    model, optimizer = begun(LeNet, precision)
    x, t = next(batches(256, 1 / 16, 1))
    optimizer.backward(cross_entropy(model(x), t))
    optimizer.unscale_()
    return np.concatenate([p.grad.numpy().ravel().astype(np.float64) for p in model.parameters()])
