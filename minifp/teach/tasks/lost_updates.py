"""Lesson 2: which updates float16 weights lose, and what that does."""

from collections.abc import Iterable

import numpy as np

from minifp import optim
from minifp.ops import cross_entropy
from minifp.scope.microscope import microscope
from minifp.teach.tasks import digits

ALONE = "mixed,master_weights=off"  # float16 weights, without a float32 copy


def weights_and_updates(
    rule: digits.Rule, steps: int, watched: Iterable[int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """In float32, at each watched step: all weights before it, and what is subtracted from them,
    float64 (n) each."""
    watched, seen = [*watched], {}

    def look(step, model):
        if step in watched or step - 1 in watched:
            seen[step] = digits.flat(model)

    digits.trained("float32", rule, steps, look=look)
    return [(seen[step], seen[step] - seen[step + 1]) for step in watched]


def beside_float32(lr: float, steps: int, seed: int = 0) -> tuple[float, float, float]:
    """Percent read correctly after SGD in float32, and with float16 weights alone; and what percent
    of the updates that were wanted changed none of the latter, at every 50th step."""

    def sgd(parameters):
        return optim.SGD(parameters, lr=lr)

    base = digits.accuracy(digits.trained("float32", sgd, steps, seed))
    model, optimizer = digits.begun(ALONE, sgd, seed)
    with microscope(model, optimizer, every=50) as scope:
        for x, t in digits.batches(steps, seed):
            optimizer.minimize(cross_entropy(model(x), t))
    seen = [update for step in scope.steps for update in step.updates.values()]
    lost = sum(update.lost for update in seen) / sum(update.wanted for update in seen)
    return base, digits.accuracy(model), 100 * lost


def left_after_decay(precision: str, decay: float, steps: int, lr: float = 0.1) -> list[float]:
    """How long the weights of pixels that are black in all pictures are after SGD with a weight
    decay, and how long all weights are, in percent of their first lengths."""
    x, _ = digits.pictures()[0][:]
    black = x.reshape(len(x), -1).max(0) == 0
    lengths = []

    def look(step, model):
        if step in (0, steps):
            first = next(iter(model.parameters())).numpy().astype(np.float64)
            lengths.append([np.linalg.norm(w) for w in (first[:, black], digits.flat(model))])

    digits.trained(precision, lambda p: optim.SGD(p, lr=lr, weight_decay=decay), steps, look=look)
    return [100 * float(last / first) for first, last in zip(*lengths)]
