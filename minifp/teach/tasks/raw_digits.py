"""Lesson 8: LeNet on raw pixels of digits, which it normalises itself."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from minifp import models, nn, optim
from minifp.ops import cross_entropy
from minifp.teach.tasks import training
from minifp.teach.tasks.nine_places import pictures

LeNet = partial(models.LeNet, classes=10, size=8)


def behind_a_norm() -> Any:
    """LeNet that normalises its pictures itself."""
    return nn.Sequential(nn.BatchNorm2d(1), LeNet())


def batches(size: int, scale: float, epochs: int) -> Iterator[Any]:
    """Batches of pixels, from 0 to 16, times `scale`."""
    x, t = pictures()[0].arrays
    return training.in_batches(x * np.float32(scale), t, size, epochs)


def begun(build: Callable[[], Any], precision: str) -> tuple[Any, Any]:
    """A model and its MixedOptimizer, with Adam."""
    return training.begun(build, precision, partial(optim.Adam, lr=5e-3), diagnose=False)


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
    return losses, training.percent_right(model, x * np.float32(scale), t)


def first_gradient(precision: str) -> np.ndarray:
    """Of all of LeNet's weights (n), of one batch, float64 and unscaled."""
    model, optimizer = begun(LeNet, precision)
    x, t = next(batches(256, 1 / 16, 1))
    optimizer.backward(cross_entropy(model(x), t))
    optimizer.unscale_()
    return training.gradients_of(model)
