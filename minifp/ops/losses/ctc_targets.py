"""Targets of connectionist temporal classification as one padded array, checked."""

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.runtime.device import is_array_like, moved


def as_array(values):
    """The array of a tensor, on the CPU, or the array itself."""
    array = values.array if isinstance(values, Tensor) else values
    return moved(array, "cpu") if is_array_like(array) else array


def as_labels(log_probs, targets, input_lengths, target_lengths, blank):
    """(labels (N, L) padded with blanks, steps (N), lengths (N)), as arrays of indices.

    log_probs: (T, N, C) or (T, C). Raises DTypeError for anything but integers, ShapeError where
    shapes do not fit, ArgumentError for lengths, labels and a blank outside of their range.
    """
    (T, *batch, C), N = log_probs.shape, log_probs.shape[1] if log_probs.ndim == 3 else 1
    if blank >= C:
        raise ArgumentError(f"ctc_loss: blank={blank}: expected a class, 0 to {C - 1}")
    steps = as_lengths("ctc_loss: input_lengths", input_lengths, N, T)
    if not is_array_like(targets):
        raise DTypeError(f"ctc_loss: targets is a {type(targets).__name__}: expected a tensor")
    given = _as_indices("ctc_loss: targets", as_array(targets))
    fits = given.ndim == 1 or (given.ndim == 2 and batch and len(given) == N)
    if not fits:
        raise ShapeError(
            f"ctc_loss: targets of shape {given.shape} for log_probs of shape {log_probs.shape}: "
            "expected (N, S) or (sum of target_lengths)"
        )
    lengths = as_lengths("ctc_loss: target_lengths", target_lengths, N, given.shape[-1])
    if given.ndim == 1 and lengths.sum() != given.size:
        raise ShapeError(
            f"ctc_loss: targets of shape {given.shape}, target_lengths {lengths.tolist()}: "
            f"expected {lengths.sum()} targets"
        )
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
    labels = np.full(inside.shape, blank)
    labels[inside] = given if given.ndim == 1 else given[:, : inside.shape[1]][inside]
    wrong = inside & ((labels < 0) | (labels >= C) | (labels == blank))
    if wrong.any():
        n, s = np.argwhere(wrong)[0]
        raise ArgumentError(
            f"ctc_loss: label {labels[n, s]} at {s} of target {n}: expected classes 0 to {C - 1} "
            f"other than the blank, {blank}"
        )
    return labels, steps, lengths


def _as_indices(name, values):
    if values.dtype.kind not in "iu":
        raise DTypeError(f"{name} of {values.dtype}: expected integers")
    return np.asarray(values, np.intp)


def as_lengths(name, lengths, count, largest):
    """(count) integers from 0 to `largest`, of a tensor, array or list, or one number. Raises
    DTypeError, ShapeError or ArgumentError, which `name` begins."""
    try:
        values = np.asarray(as_array(lengths))
    except ValueError:
        raise DTypeError(f"{name}={lengths!r}: expected integers") from None
    values = _as_indices(name, values) if values.size else np.zeros(values.shape, np.intp)
    if values.shape != (count,) and (values.ndim or count != 1):
        raise ShapeError(f"{name} of shape {values.shape}: expected ({count},)")
    if values.size and not (0 <= values.min() and values.max() <= largest):
        raise ArgumentError(f"{name} {values.tolist()}: expected 0 to {largest}")
    return values.reshape(count)
