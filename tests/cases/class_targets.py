"""Losses whose targets are classes, or probabilities of classes."""

import numpy as np
from bounds import below_largest, magnitude
from hypothesis import strategies as st

from cases.case import drawn
from cases.losses import REDUCTION, random_weights, with_constants

TARGETS = np.array([0, 2, 1, -100, 2, 0, 1])
WIDE = {"low": -8.0, "high": 8.0}


def class_targets(shape, settings):
    """Classes below 3, some of them ignored, for scores of this shape."""
    beside = shape[:1] + shape[2:] if len(shape) > 1 else ()
    t = np.resize(TARGETS, beside) % shape[min(len(shape) - 1, 1)]
    ignored = np.resize(TARGETS, beside) < 0
    return np.where(ignored & (len(shape) > 1), settings.get("ignore_index", -100), t)


def of_classes(name, shape, weighted=False, **settings):
    target, w = class_targets(shape, settings), random_weights(shape[min(len(shape) - 1, 1)])
    return with_constants(
        name,
        lambda f, c, z: getattr(f, name)(z, c(target), c(w) if weighted else None, **settings),
        *(shape,),
        **WIDE,
    )


def of_soft_classes(shape, weighted=False, **settings):
    w = random_weights(shape[min(len(shape) - 1, 1)])
    return with_constants(
        "cross_entropy probabilities",
        lambda f, c, z, q: f.cross_entropy(z, q, c(w) if weighted else None, **settings),
        *(shape, shape),
    )


CASES = [
    *(of_classes(n, (7, 3), reduction=r) for n in ("cross_entropy", "nll_loss")
      for r in ("mean", "sum", "none")),
    *(of_classes(n, (2, 3, 4), True) for n in ("cross_entropy", "nll_loss")),
    *(of_classes(n, (2, 3, 2, 3), True, reduction="none") for n in ("cross_entropy", "nll_loss")),
    *(of_classes(n, (7, 3), True, ignore_index=1) for n in ("cross_entropy", "nll_loss")),
    *(of_classes(n, (3,)) for n in ("cross_entropy", "nll_loss")),
    *(of_classes(n, (3,), reduction="none") for n in ("cross_entropy", "nll_loss")),
    of_classes("cross_entropy", (0, 3), reduction="sum"),
    *(of_classes("cross_entropy", (7, 3), label_smoothing=0.25, reduction=r)
      for r in ("mean", "sum", "none")),
    of_classes("cross_entropy", (2, 3, 4), True, label_smoothing=1.0),
    *(of_soft_classes((4, 3), reduction=r) for r in ("mean", "sum", "none")),
    of_soft_classes((2, 3, 4), True, label_smoothing=0.25),
    of_soft_classes((2, 3, 2), True, label_smoothing=0.5, reduction="none"),
    of_soft_classes((3,), reduction="none"),
]  # fmt: skip


@drawn("cross_entropy", "nll_loss")
def draw_of_classes(draw, name):
    sizes = st.integers(1, 4)
    shape = (draw(sizes), draw(sizes), *draw(st.lists(sizes, max_size=2)))
    if draw(st.integers(0, 4)) == 0:
        shape = shape[1:2]
    weighted, settings = draw(st.booleans()), {"reduction": draw(REDUCTION)}
    if name == "cross_entropy":
        settings["label_smoothing"] = draw(st.sampled_from([0.0, 0.125, 1.0]))
        if draw(st.booleans()):
            return of_soft_classes(shape, weighted, **settings)
    settings["ignore_index"] = draw(st.sampled_from([-100, -1, 0, 2, 99]))
    return of_classes(name, shape, weighted, **settings)


def class_axis(z):
    return min(z.ndim - 1, 1)


def surprise(z):
    """a = -log softmax(z), and M of it: a is log s + d, d what z lies below the largest."""
    axis = class_axis(z)
    d = below_largest(z, axis)
    a = np.log(np.exp(-d).sum(axis, keepdims=True)) + d
    return a, 2 * a + 2 * d.max(axis, keepdims=True, initial=0) + 1


def weights_of(t, w, ignore_index, z):
    kept = t != ignore_index
    w = np.ones(z.shape[class_axis(z)]) if w is None else np.abs(w)
    rows = np.where(kept, w[np.where(kept, t, 0)], 0)
    return kept, rows, w.reshape(-1, *(1,) * (z.ndim - 1 - class_axis(z)))


def hard_losses(z, t, w, ignore_index, smoothing):
    axis, (_, m) = class_axis(z), surprise(z)
    kept, rows, w = weights_of(t, w, ignore_index, z)
    chosen = np.take_along_axis(m, np.expand_dims(np.where(kept, t, 0), axis), axis).squeeze(axis)
    of_all = smoothing / z.shape[axis] * (m * w).sum(axis)
    return np.where(kept, (1 - smoothing) * rows * chosen + of_all, 0)


def divisor(t, w, ignore_index, reduction, z):
    total = weights_of(t, w, ignore_index, z)[1].sum()
    return total if reduction == "mean" and total else 1


@magnitude
def cross_entropy_each(z, t, w, *, exact, ignore_index, smoothing):
    return hard_losses(z, t, w, ignore_index, smoothing)


@magnitude
def cross_entropy_total(z, t, w, *, exact, ignore_index, smoothing, reduction):
    losses = hard_losses(z, t, w, ignore_index, smoothing)
    return 2 * losses.sum() / divisor(t, w, ignore_index, reduction, z)


def softmax_magnitude(z):
    """M of softmax(z)."""
    axis, d = class_axis(z), below_largest(z, class_axis(z))
    e = np.exp(-d)
    return e / e.sum(axis, keepdims=True) * (1 + 2 * d.max(axis, keepdims=True, initial=0))


@magnitude
def cross_entropy_dz(dl, z, t, w, *, exact, ignore_index, smoothing, reduction):
    axis, p = class_axis(z), softmax_magnitude(z)
    kept, rows, each = weights_of(t, w, ignore_index, z)
    hot = np.zeros_like(z)
    np.put_along_axis(hot, np.expand_dims(np.where(kept, t, 0), axis), 1, axis)
    dz = (1 - smoothing) * np.expand_dims(rows, axis) * (p + hot)
    dz = dz + smoothing / z.shape[axis] * (2 * p * each.sum() + each)
    dl = np.where(kept, np.abs(dl), 0) / divisor(t, w, ignore_index, reduction, z)
    return 2 * dz * np.expand_dims(dl, axis)


def soft_weights(z, q, w, smoothing):
    """|v|, made of sums of absolute values."""
    axis = class_axis(z)
    v = (1 - smoothing) * np.abs(q) + smoothing / z.shape[axis]
    return v if w is None else v * np.abs(w).reshape(-1, *(1,) * (z.ndim - 1 - axis))


def soft_gradient(dl, z, reduction):
    axis = class_axis(z)
    if reduction == "none":
        return np.expand_dims(np.abs(dl), axis)
    return np.abs(dl) / (z.size // z.shape[axis] if reduction == "mean" else 1)


@magnitude
def soft_cross_entropy_each(z, q, w, *, exact, smoothing):
    return (soft_weights(z, q, w, smoothing) * surprise(z)[1]).sum(class_axis(z))


@magnitude
def soft_cross_entropy_total(z, q, w, *, exact, smoothing, reduction):
    losses = (soft_weights(z, q, w, smoothing) * surprise(z)[1]).sum()
    return 2 * losses / (z.size // z.shape[class_axis(z)] if reduction == "mean" else 1)


@magnitude
def soft_cross_entropy_dz(dl, z, q, w, *, exact, smoothing, reduction):
    v = soft_weights(z, q, w, smoothing)
    dz = 2 * softmax_magnitude(z) * v.sum(class_axis(z), keepdims=True) + v
    return dz * soft_gradient(dl, z, reduction)


@magnitude
def soft_cross_entropy_dq(dl, z, q, w, *, exact, smoothing, reduction):
    w = np.ones(z.shape[class_axis(z)]) if w is None else np.abs(w)
    w = w.reshape(-1, *(1,) * (z.ndim - 1 - class_axis(z)))
    return (1 - smoothing) * w * surprise(z)[1] * soft_gradient(dl, z, reduction)


@magnitude
def nll_loss_total(x, t, w, *, exact, ignore_index, reduction):
    axis = class_axis(x)
    kept, rows, _ = weights_of(t, w, ignore_index, x)
    chosen = np.take_along_axis(np.abs(x), np.expand_dims(np.where(kept, t, 0), axis), axis)
    total = (np.where(kept, chosen.squeeze(axis), 0) * rows).sum()
    return 2 * total / divisor(t, w, ignore_index, reduction, x)
