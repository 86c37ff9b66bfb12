"""Calls of the loss of sequences without an alignment, of sequences and labels of any lengths.

Each function draws one call: (arguments, keywords, format of the result).
"""

import numpy as np

from minifp.numerics.formats import float32


def sequences(d):
    """(x, labels, steps, lengths) and the settings: labels too long to fit are among them."""
    T, N, C = d.size(1, 40), d.size(1, 5), d.size(2, 40)
    if d.large:
        T, N = d.size(100, 200), d.size(10, 20)
    blank = d.size(0, C - 1)
    steps, lengths = d.random.integers(0, T + 1, N), d.random.integers(0, 20, N)
    inside = np.arange(lengths.max()) < lengths[:, None]
    labels = np.where(inside, (blank + d.random.integers(1, C, inside.shape)) % C, blank)
    settings = {"blank": blank, "zero_infinity": bool(d.choice(True, False))}
    return (d.array(T, N, C), labels, steps, lengths), settings


def ctc_loss_each(d):
    args, settings = sequences(d)
    return args, settings, (d.dtype,)


def ctc_loss_total(d):
    args, settings = sequences(d)
    return args, {**settings, "reduction": d.choice("mean", "sum")}, (float32,)


def ctc_loss_dx(d):
    args, settings = sequences(d)
    reduction = d.choice("mean", "sum", "none")
    shape = (len(args[1]),) if reduction == "none" else ()
    dl = d.array(*shape, dtype=float32)
    return (dl, *args), {**settings, "reduction": reduction}, (d.dtype,)


CALLS = {f.__name__: f for f in (ctc_loss_each, ctc_loss_total, ctc_loss_dx)}
