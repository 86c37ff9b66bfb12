"""Targets that are class numbers: checked, and as rows and weights inside of kernels.

Scores have their classes along axis 1, or 0 if there is no batch: (N, C), (N, C, d1, ...) or (C);
targets have no such axis. Rows whose target is `ignore_index` weigh 0.
"""

import numpy as np

from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.arguments import check_constants, check_parameters, check_tensors
from minifp.ops.normalization.batch_norm import as_array
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import is_array_like


def class_axis(ndim):
    """The axis of classes of scores."""
    return min(ndim - 1, 1)


def along_classes(w, ndim):
    """A weight of each class, (C), as (C, 1, ...): beside scores."""
    return w.reshape(-1, *(1,) * (ndim - 1 - class_axis(ndim)))


def rows_and_weights(t, w, ignore_index):
    """The class of each row, 0 for ignored ones, and what each row weighs, as 0s and 1s or of w."""
    kept = t != ignore_index
    rows = np.where(kept, t, 0)
    return rows, kept if w is None else np.where(kept, w[rows], 0)


def weight_in_all(weights, reduction, sum):
    """By what the sum of losses is divided: in a mean by the weight of all rows."""
    if reduction != "mean":
        return 1
    return np.count_nonzero(weights) if weights.dtype.kind == "b" else sum(weights)


def pick(x, rows):
    """Of each row the score of its class."""
    axis = class_axis(x.ndim)
    return np.take_along_axis(x, np.expand_dims(rows, axis), axis).squeeze(axis)


def in_class(values, rows, like):
    """Scores of 0 except in the class of each row, where `values` are."""
    axis, x = class_axis(like.ndim), np.zeros_like(like)
    np.put_along_axis(x, np.expand_dims(rows, axis), np.expand_dims(values, axis), axis)
    return x


# ---- checks -------------------------------------------------------------------------------------


def check_scores(function, input, weight, ignore_index):
    """Raise for scores without classes, for a weight that is no constant of shape (C), and for an
    ignore_index that is no integer.
    """
    check_tensors(function, input=input)
    if not (shape := input.shape) or shape[class_axis(len(shape))] == 0:
        raise ShapeError(
            f"{function}: input of shape {shape}: expected (N, C, ...) or (C), with C > 0"
        )
    if weight is not None:
        check_parameters(function, (shape[class_axis(len(shape))],), shape, weight=weight)
        check_constants(function, weight=weight)
    if not isinstance(ignore_index, (int, np.integer)):
        raise DTypeError(f"{function}: ignore_index={ignore_index!r}: expected an integer")


def as_classes(function, input, target, ignore_index):
    """The targets, a list as an array. Raises DTypeError for anything but an array of integers,
    ShapeError for a shape that is not input's without its classes, ArgumentError for no class.

    On a GPU the classes are not looked at, as one would have to wait for them: there the loss and
    the gradient of a row whose target is no class are NaN.
    """
    try:
        target = target if is_array_like(target) else np.asarray(target)
    except ValueError as error:
        raise DTypeError(f"{function}: target is not an array: {error}") from None
    t, axis = as_array(target), class_axis(input.ndim)
    if t.dtype.kind not in "iu":
        raise DTypeError(f"{function}: targets of {t.dtype}: expected integers, the class numbers")
    if t.shape != input.shape[:axis] + input.shape[axis + 1 :]:
        raise ShapeError(
            f"{function}: input of shape {input.shape} with target of shape {t.shape}: "
            "expected (N, C, ...) and (N, ...), or (C) and ()"
        )
    if is_on_device(t):
        return target
    outside = t.view(t.dtype.str.replace("i", "u")) >= input.shape[axis]  # negative ones are large
    if np.count_nonzero(outside) and np.any(outside := outside & (t != ignore_index)):
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        raise ArgumentError(
            f"{function}: target {t[where]} at {where}: expected classes "
            f"0 to {input.shape[axis] - 1} for input of shape {input.shape}"
        )
    return target
