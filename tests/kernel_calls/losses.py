"""Calls of losses element by element.

By kernel: what draws its input and target, and its settings.
"""

import numpy as np

from minifp.numerics.formats import float32


def difference(d):
    shape = d.shape("rows", 0)
    return d.array(*shape), d.array(*shape), None, None


def logits(d):
    x, *_ = difference(d)
    w, p = (d.choice(None, d.array(*x.shape, low=0)) for _ in range(2))
    return x, d.array(*x.shape, low=0), w, p


def probabilities(d):
    x, t, w, _ = logits(d)
    return np.asarray(d.array(*x.shape, low=0) / 2, d.dtype), t, w, None


def divergence(d):
    """x or t is stretched along the first axis."""
    x, t, *_ = difference(d)
    t = d.choice(t, d.array(*x.shape, low=0))
    if x.ndim and len(x):
        x, t = d.choice((x, t), (x[:1], t), (x, t[:1]))
    return x, t, None, None


def certain_logits(d):
    """Targets are from 0 to 1, among them both."""
    x, *_ = difference(d)
    return x, np.asarray(np.clip(d.array(*x.shape, low=-1), 0, 1), d.dtype), None, None


def each(draw, settings):
    return lambda d: (draw(d), settings, (d.dtype,))


def total(draw, settings):
    return lambda d: (draw(d), {"divisor": 3} | settings, (float32,))


def gradient(draw, settings, place):
    def call(d):
        pair = draw(d)
        whole = max((a.shape for a in pair[:2]), key=lambda shape: shape[:1])
        dl = d.array(*d.choice((), whole), dtype=float32)
        return (dl, *pair), {"divisor": 3, "shape": pair[place].shape} | settings, (d.dtype,)

    return call


LOSSES = {
    **{"mse_loss": (difference, {}), "l1_loss": (difference, {})},
    **{"smooth_l1_loss": (difference, {"beta": 1.5}), "huber_loss": (difference, {"delta": 0.7})},
    "binary_cross_entropy_with_logits": (logits, {}),
    "binary_cross_entropy": (probabilities, {}),
    "sigmoid_focal_loss": (certain_logits, {"alpha": 0.25, "gamma": 2.0}),
    "sigmoid_focal_loss of a power": (certain_logits, {"alpha": -1.0, "gamma": 0.7}),
    "kl_div": (divergence, {"log_target": False}),
    "kl_div of logs": (divergence, {"log_target": True}),
}


def named(loss, kernel):
    """The name of a loss's kernel, before whatever else its row says."""
    name, *rest = loss.split(" ", 1)
    return " ".join([f"{name}_{kernel}", *rest])


CALLS = {
    **{named(name, "each"): each(*row) for name, row in LOSSES.items()},
    **{named(name, "total"): total(*row) for name, row in LOSSES.items()},
    **{named(name, "dx"): gradient(*row, 0) for name, row in LOSSES.items()},
    **{named(name, "dt"): gradient(*row, 1) for name, row in LOSSES.items()},
}
