"""Small gradients that autocast's float16 loses, where no loss scale saves them.

Under autocast gradients of products are float16. A plain optimizer without a loss scale gets zeros,
and subnormal numbers of a bit or two, in silence, where they are small. So some of a model's first
backward passes are looked at: a sample of its gradients each, and only where many of these are
small, once or twice all of them, beside those of a second backward with a scale, on the same graph.
(Subnormal numbers with more bits do no harm: CharLSTM learns well with 57% of its gradients so.)
"""

from typing import Any
from weakref import ref

import numpy as np

from minifp.autograd.tape import Node, Tensor
from minifp.numerics.formats import as_native, float32, format_of
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda.arrays import is_on_device

LOOKED_AT = (1, 2, 3, 5, 8, 13, 20)  # of backward passes
SAMPLE = 64  # gradients of each leaf
SCALES = 2.0**16, 2.0**32, 2.0**48  # the next where all is small still
TENTH = 0.1  # of the gradients, from which on it is told
FEW = 4  # of the format's smallest number, below which 0, 1 or 2 bits are left
TRIES = 2  # backward passes that are done a second time
SINGLE = format_of(float32)


class Watch:
    """What is known of the first backward passes to a leaf."""

    def __init__(self) -> None:
        self.passes, self.tries, self.suspects = 0, 0, False

    @property
    def is_over(self) -> bool:
        """Whether nothing more is looked for."""
        return self.passes >= LOOKED_AT[-1] or self.tries == TRIES


_watches: dict[int, tuple[Any, Watch]] = {}  # by the id of the last leaf: a reference, and its own


def watch_of(order: list) -> Watch | None:
    """What watches a backward through these nodes; None where nothing is to be found."""
    if not any(_flushes(n.precision) for n in order if type(n) is Node and n.precision.operations):
        return None
    leaf = order[-1]
    if not isinstance(leaf, Tensor):
        leaf = next((node for node in reversed(order) if isinstance(node, Tensor)), None)
    if leaf is None or is_on_device(leaf.array):
        return None
    key = id(leaf)
    known = _watches.get(key)
    if known is None or known[0]() is not leaf:
        known = _watches[key] = ref(leaf, lambda _: _watches.pop(key, None)), Watch()
    watch = known[1]
    if watch.is_over:
        return None
    watch.passes += 1
    return watch


def _flushes(precision):
    """Whether operations are cast to a format that has not float32's small numbers."""
    known = precision.resolved.get(_flushes)
    if known is None:
        least = [format_of(f).smallest_subnormal for f in precision.autocast_formats]
        known = precision.resolved[_flushes] = FEW * max(least, default=0.0)
    return known > SINGLE.smallest_normal


def look(watch: Watch, order: list, leaves: list, scaled: dict | None) -> None:
    """Look at the gradients of the leaves, (leaf, array) each. scaled: those of the second
    backward, if there was one."""
    least = max(precision.resolved[_flushes] for precision in _precisions(order))
    pairs = [(leaf, as_native(g)) for leaf, g in leaves if g.size]
    if scaled is not None:
        small = sum(_lost(g, scaled[leaf], least) for leaf, g in pairs if leaf in scaled)
        share = small / sum(g.size for _, g in pairs)
        if not TENTH / 2 < share <= TENTH:  # else it is tried once more
            watch.tries = TRIES
        if share > TENTH:
            _tell(share, _precisions(order)[0].autocast_low)
    elif watch.passes in LOOKED_AT:
        samples = [g.reshape(-1)[:: max(1, g.size // SAMPLE)] for _, g in pairs]
        sample = np.concatenate(samples)
        watch.suspects = bool(np.count_nonzero(np.abs(sample) < least) > TENTH * sample.size)


def are_large(gradients: dict) -> bool:
    """Whether some are far from what is lost."""
    return any(np.abs(as_native(g)).max(initial=0) > 2.0**-8 for g in gradients.values())


def _precisions(order):
    return [
        n.precision
        for n in order
        if type(n) is Node and n.precision.operations is not None and _flushes(n.precision)
    ]


def _lost(gradient, scaled, least):
    """How many are 0 or nearly, and would not be with a loss scale."""
    scaled = np.abs(as_native(scaled).astype(np.float32))
    return np.count_nonzero((np.abs(gradient) < least) & ~(scaled < least))


def _tell(share, low):
    warn_once(
        "small gradients are lost",
        f"backward() under autocast, without a loss scale: {share:.0%} of the gradients are 0 in "
        f"{low}, or subnormal with at most two bits; a loss scale would keep them. Use "
        "fp.GradScaler: scaler.scale(loss).backward(), scaler.step(optimizer), scaler.update(); "
        "or "
        "fp.MixedOptimizer(optimizer)",
    )
