"""Lesson 7: pictures of digits as a camera of 12 bits gives them, and what trains on them."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from minifp import nn, optim
from minifp.teach.tasks import digits, training
from minifp.training.loss_scale import StaticLossScale


def readings(images: np.ndarray) -> np.ndarray:
    """Pixels as the camera gives them, 0 to 4,095."""
    low, high = images.min(), images.max()
    return np.round(4095 * (images - low) / (high - low))


class SquaredReLU(nn.Module):
    """A perceptron whose hidden units are squared."""

    def __init__(self) -> None:
        self.hidden, self.out = nn.Linear(64, 128), nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        h = self.hidden(x.flatten(1)).relu()
        return self.out(h * h)


class NoFloor(StaticLossScale):
    """Halved at each overflow, however small it is already."""

    def update(self, finite, largest=None):
        super().update(finite)
        self.value = self.value if finite else self.value / 2


def built(kind: Callable[[], Any], loss_scale: Any, **more: Any) -> tuple[Any, Any]:
    """A model in mixed precision, and its optimizer."""
    rule = partial(optim.Adam, lr=1e-3)
    return training.begun(kind, "mixed", rule, loss_scale=loss_scale, **more)


def batches(pixels: np.ndarray, epochs: int) -> Iterator[Any]:
    """All batches of all epochs. pixels: of the pictures to train with."""
    _, t = digits.pictures()[0].arrays
    return training.in_batches(pixels.astype(np.float32), t, 32, epochs)


def accuracy(model: Any, pixels: np.ndarray) -> float:
    """Percent of the test pictures, whose pixels these are, that are read correctly."""
    _, t = digits.pictures()[1].arrays
    return training.percent_right(model, pixels.astype(np.float32), t)
