"""An LSTM that reads Shakespeare, and predicts the next character: lessons 4, 6 and 7."""

from collections.abc import Iterator
from functools import cache, partial
from itertools import islice
from typing import Any

from minifp import data, models, optim
from minifp.autograd.grad_mode import no_grad
from minifp.ops import cross_entropy
from minifp.scope.microscope import microscope
from minifp.teach.tasks import training


@cache
def texts() -> tuple[Any, Any]:
    """Pieces of 32 characters: to train with, and to test with."""
    return data.shakespeare(length=32)


def batches(steps: int, seed: int = 0) -> Iterator[Any]:
    """At most so many batches of 32 pieces, and of what comes next, shuffled by the seed."""
    loader = data.DataLoader(texts()[0], batch_size=32, shuffle=True, seed=seed)
    return islice(loader, steps)


def begun(precision: str, units: int, seed: int = 0, **settings: Any) -> tuple[Any, Any]:
    """A model with so many units and the first weights of a seed, and its MixedOptimizer, with Adam
    and these settings."""
    build = partial(models.CharLSTM, len(texts()[0].vocabulary), hidden=units)
    return training.begun(build, precision, partial(optim.Adam, lr=2e-3), seed, **settings)


def watched(
    precision: str, units: int, seed: int, dial: int, steps: int, every: int
) -> tuple[list[float], Any]:
    """Train under the microscope, which looks at one step in `every`, after each of which the model
    is judged. Returns these losses, and what the microscope saw."""
    model, optimizer = begun(precision, units, seed, dial=dial)
    losses = []
    with microscope(model, optimizer, every=every) as scope:
        for step, (x, t) in enumerate(batches(steps, seed)):
            optimizer.minimize(cross_entropy(model(x), t))
            if step % every == 0:
                losses.append(judge(model))
    return losses, scope


@cache
def held_out() -> tuple[Any, Any]:
    """256 pieces of the test text, and what comes next."""
    x, t = next(iter(data.DataLoader(texts()[1], batch_size=256, shuffle=True, seed=0)))
    return x, t


def judge(model: Any) -> float:
    """The loss on text that was held out, in nats for a character."""
    x, t = held_out()
    with no_grad():
        return float(cross_entropy(model(x), t).item())
