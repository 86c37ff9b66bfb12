"""Lesson 7: pictures of digits as a camera of 12 bits gives them, and what trains on them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minifp import data, nn, optim
from minifp.autograd.grad_mode import no_grad
from minifp.numerics import policy
from minifp.ops import tensor
from minifp.runtime.random import manual_seed
from minifp.teach.tasks import digits
from minifp.training.loss_scale import StaticLossScale
from minifp.training.mixed import MixedOptimizer


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
    manual_seed(0)
    with policy.precision("mixed"):
        model = kind()
        rule = optim.Adam(model.parameters(), lr=1e-3)
        return model, MixedOptimizer(rule, loss_scale=loss_scale, **more)


def batches(pixels: np.ndarray, epochs: int) -> Iterator[Any]:
    """All batches of all epochs. pixels: of the pictures to train with."""
    _, t = digits.pictures()[0].arrays
    pairs = data.TensorDataset(pixels.astype(np.float32), t)
    loader = data.DataLoader(pairs, batch_size=32, shuffle=True, seed=0)
    for _ in range(epochs):
        yield from loader


def accuracy(model: Any, pixels: np.ndarray) -> float:
    """Percent of the test pictures, whose pixels these are, that are read correctly."""
    _, t = digits.pictures()[1].arrays
    with no_grad():
        said = model(tensor(pixels.astype(np.float32))).numpy().argmax(1)
    return 100 * float(np.mean(said == t))
