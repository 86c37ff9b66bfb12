"""Lesson 10: what a step of two networks holds, and their steps."""

from collections.abc import Callable
from itertools import islice
from time import perf_counter
from typing import Any

from minifp import data, models, optim
from minifp.numerics import policy
from minifp.ops import cross_entropy
from minifp.scope.summary import summary
from minifp.scope.tracing.trace import trace
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
    whole = summary(build, shape, batch or usual, integers=integers, precisions=PRECISIONS)
    by_precision = {policy.Precision.parse(text): held for text, held in whole.bytes.items()}
    return {name: by_precision[policy.Precision.parse(name)] for name in PRECISIONS}


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


def batches() -> Any:
    """32 pieces of 64 characters at a time, and what comes next."""
    train, _ = data.shakespeare(length=64)
    return data.DataLoader(train, batch_size=32, shuffle=True, seed=0)


def seconds_in_turn(steps: int) -> dict[str, list[float]]:
    """How long each step of the LSTM takes, by precision; they take turns, batch by batch."""
    step_in = {name: lstm(name)[2] for name in PRECISIONS}
    seconds: dict[str, list[float]] = {name: [] for name in PRECISIONS}
    for x, t in islice(batches(), steps):
        for name, step in step_in.items():
            began = perf_counter()
            step(x, t).item()  # which waits for a GPU
            seconds[name].append(perf_counter() - began)
    return seconds


def kernels_of_a_step(precision: str, repeats: int) -> list[Any]:
    """The kernels of the LSTM's step on the processor, in order, with their formats, shapes and
    seconds, each the median of so many."""
    model, optimizer, _ = lstm(precision, "cpu")
    x, t = next(iter(batches()))
    optimizer.backward(cross_entropy(model(x.cpu()), t.cpu()))
    return list(trace(optimizer.backwards[0], optimizer.scale, repeats=repeats).rows)
