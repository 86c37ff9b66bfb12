"""Lesson 9: nine networks and training loops with one suspect each, in four formats of it."""

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from minifp import data, models, nn, optim
from minifp.errors import MisuseWarning, TrainingError
from minifp.numerics import policy
from minifp.ops import cross_entropy, exp, log, softmax
from minifp.runtime.random import manual_seed
from minifp.scope.tracing.trace import trace
from minifp.teach.tasks import training
from minifp.training.mixed import MixedOptimizer

COLUMNS = ("float32", "bfloat16", "float16", "float16 sums")
SUMS = "reduce=float16,accumulate=float16"
LAMBDA = 1e-5
perceptron = partial(models.MLP, 64, 64, 10)


@cache
def pictures() -> tuple[Any, Any]:
    """Pictures of digits with raw pixels, from 0 to 16: to train with, and to test with."""
    return data.digits(normalize=False)


# ---- networks ------------------------------------------------------------------------------------


class Behind(nn.Module):
    """A perceptron behind a function of its pixels (N, 64)."""

    def __init__(self, before: Callable[[Any], Any]) -> None:
        self.before, self.net = before, perceptron()

    def forward(self, x: Any) -> Any:
        return self.net(self.before(x.flatten(1)))


class Weighed(nn.Module):
    """A perceptron that weighs its pixels by a softmax."""

    def __init__(self) -> None:
        self.attention, self.net = nn.Linear(64, 64), perceptron()

    def forward(self, x: Any) -> Any:
        x = x.flatten(1)
        return self.net(64 * x * softmax(4 * self.attention(x), dim=1))


# ---- steps ---------------------------------------------------------------------------------------


def usual_step(optimizer: Any, model: Any, loss: Any) -> None:
    """Loss scale and all by minifp."""
    optimizer.minimize(loss)


def penalty(model: Any) -> Any:
    """λ times the sum of all squared weights, as a part of the loss."""
    return LAMBDA * sum((p * p).sum() for p in model.parameters())


def decayed_step(optimizer: Any, model: Any, loss: Any) -> None:
    """A step with weight decay in the loss."""
    optimizer.minimize(loss + penalty(model))


def clipping_step(S: float, clip_first: bool) -> Callable[[Any, Any, Any], None]:
    """A step with a constant loss scale S, which clips gradients to a norm of 1."""

    def step(optimizer, model, loss):
        (loss * S).backward()
        parameters = list(model.parameters())
        if clip_first:
            optim.clip_grad_norm_(parameters, 1.0)  # the mistake: these are S times the gradients
        for p in parameters:
            p.grad = p.grad / S
        if not clip_first:
            optim.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


# ---- training ------------------------------------------------------------------------------------


def adam(model: Any, eps: float = 1e-8) -> Any:
    """Adam in mixed precision."""
    rule = optim.Adam(model.parameters(), lr=3e-3, eps=eps)
    return MixedOptimizer(rule, diagnose=False)


def sgd(model: Any) -> Any:
    """Plain SGD."""
    return optim.SGD(model.parameters(), lr=0.5)


def trained(
    precision: str,
    epochs: int,
    build: Callable[[], Any] = perceptron,
    pixels: float = 1,
    optimizer: Callable[[Any], Any] = adam,
    step: Callable[[Any, Any, Any], None] = usual_step,
) -> float:
    """The accuracy of a network on pictures that were held out, in percent.

    pixels: the largest one, where raw ones go to 16. A run that gives up keeps what it has learned.
    """
    manual_seed(0)
    scale = np.float32(pixels / 16)
    (x, t), (test_x, test_t) = (one.arrays for one in pictures())
    with policy.precision(precision):
        model = build()
        chosen = optimizer(model)
        try:
            for images, digits in training.in_batches(x * scale, t, 32, epochs):
                step(chosen, model, cross_entropy(model(images), digits))
        except TrainingError:  # 50 steps in a row were skipped
            pass
        model.eval()
        return training.percent_right(model, test_x * scale, test_t)


# ---- rows: of each a function of the column, and of the epochs, to an accuracy -------------------


def row_of(operation: str, **network: Any) -> Callable[[str, int], float]:
    """One operation of a network in each format: autocast with one line of its table changed."""

    def row(column, epochs):
        sums = f"{SUMS}," if column == "float16 sums" else ""
        format = column.removesuffix(" sums")
        return trained(f"autocast,{sums}{operation}={format}", epochs, **network)

    return row


def adam_row(column: str, epochs: int) -> float:
    """Both of Adam's moments in each format."""
    sums, state = (f",{SUMS}", "float16") if column == "float16 sums" else ("", column)
    return trained(f"mixed{sums},optimizer_state={state}", epochs)


def decay_row(column: str, epochs: int) -> float:
    """Decay in the loss, without a loss scale."""
    half = {"float16": "mixed,loss_scale=off", "float16 sums": f"mixed,loss_scale=off,{SUMS}"}
    return trained(half.get(column, column), epochs, step=decayed_step)


def clip_row(column: str, epochs: int, clip_first: bool = True, optimizer: Any = sgd) -> float:
    """Clipping before or after unscaling, with S = 1024 where float16 needs one."""
    texts = dict(zip(COLUMNS, ("float32", "autocast-bfloat16", "autocast", f"autocast,{SUMS}")))
    S = 1.0 if column in ("float32", "bfloat16") else 1024.0
    step = clipping_step(S, clip_first)
    with warnings.catch_warnings():  # minifp does not know of S, which a loop by hand has
        warnings.simplefilter("ignore", MisuseWarning)
        return trained(texts[column], epochs, optimizer=optimizer, step=step)


def normalised() -> Any:
    """A perceptron behind batch normalisation."""
    return nn.Sequential(nn.BatchNorm2d(1), perceptron())


def kernels_of_a_step(precision: str) -> list[Any]:
    """The kernels of a perceptron's step on 32 pictures, in order, with their formats."""
    with policy.precision(precision):
        model = perceptron()
        optimizer = MixedOptimizer(optim.Adam(model.parameters()))
    x, t = next(iter(data.DataLoader(pictures()[0], batch_size=32)))
    optimizer.backward(cross_entropy(model(x), t))
    return list(trace(optimizer.backwards[0], optimizer.scale, repeats=1).rows)


ROWS: dict[str, Callable[[str, int], float]] = {
    "exp": row_of("exp", build=lambda: Behind(lambda x: log(1 + exp(x))), pixels=16),
    "softmax": row_of("softmax", build=Weighed),
    "batch norm": row_of("batch_norm", build=normalised, pixels=16),
    "norm": row_of(
        "norm", build=lambda: Behind(lambda x: 8 * x / x.norm(dim=1, keepdim=True)), pixels=255
    ),
    "loss": row_of("cross_entropy"),
    "pow": row_of("pow", build=lambda: Behind(lambda x: x**4 / 20_000), pixels=16),
    "Adam": adam_row,
    "decay": decay_row,
    "clip order": clip_row,
}


def without_decay(precision: str, strength: float) -> float:
    """The share of weights for which the gradient of the penalty is zero."""
    manual_seed(0)
    with policy.precision(precision):
        model = perceptron()
        optimizer = adam(model)
        optimizer.backward(penalty(model) * (strength / LAMBDA))
    optimizer.unscale_()
    return float(np.mean(training.gradients_of(model) == 0))
