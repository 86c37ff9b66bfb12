"""Lesson 10: what a step of two networks holds, and their steps."""

from collections.abc import Callable
from typing import Any

from minifp import models, optim
from minifp.numerics import policy
from minifp.ops import cross_entropy
from minifp.scope.summary import summary
from minifp.training.graphs import capture
from minifp.training.mixed import MixedOptimizer

PRECISIONS = "float32", "mixed"
# Each with the shape of an example, the usual batch, and whether its inputs are whole numbers.
NETWORKS: dict[str, tuple[Callable[[], Any], tuple[int, ...], int, bool]] = {
    "LeNet": (lambda: models.LeNet(classes=10, size=8), (1, 8, 8), 256, False),
    "LSTM": (lambda: models.CharLSTM(65, hidden=256), (64,), 32, True),
}


def bytes_of(name: str, batch: int | None = None) -> dict[str, dict[str, int]]:
    """What a step of a network holds at its peak, by precision and kind; with the usual batch,
    unless another is named. Nothing is computed."""
    build, shape, usual, integers = NETWORKS[name]
    told = summary(build, shape, batch or usual, integers=integers, precisions=PRECISIONS)
    found = {policy.Precision.parse(text): held for text, held in told.bytes.items()}
    return {name: found[policy.Precision.parse(name)] for name in PRECISIONS}


def parameters_of(name: str) -> int:
    """How many weights a network has."""
    return sum(p.array.size for p in NETWORKS[name][0]().parameters())


def lstm(precision: str, device: str | None = None) -> tuple[Any, Any, Callable[[Any, Any], Any]]:
    """The LSTM, its optimizer, and their step, which on a GPU is one CUDA graph."""
    with policy.precision(precision):
        model = models.CharLSTM(65, hidden=256).to(device)
    optimizer = MixedOptimizer(optim.Adam(model.parameters(), lr=5e-3))

    def step(x, t):
        loss = cross_entropy(model(x), t)
        optimizer.minimize(loss)
        return loss.detach()

    return model, optimizer, capture(step)
