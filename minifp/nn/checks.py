"""Checks of layers' arguments."""

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.windows import LARGEST
from minifp.runtime.device import moved


def positive(**sizes):
    """Raise ArgumentError, naming it, for one that is not a positive integer below 2^31."""
    for name, n in sizes.items():
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
            raise ArgumentError(f"{name}={n!r}: expected a positive integer")
        if n > LARGEST:
            raise ArgumentError(f"{name}={n!r}: expected a positive integer, at most {LARGEST}")


def probability(layer, **values):
    """Raise ArgumentError, naming layer and argument, for one that is not between 0 and 1."""
    for name, p in values.items():
        if not (isinstance(p, (int, float)) and 0 <= p <= 1):
            raise ArgumentError(f"{layer}: {name}={p!r}: expected a probability between 0 and 1")


def class_numbers(layer, input, target, classes):
    """The targets (N) of rows (N, ...), on the host. Raises an error that names the layer for what
    are no class numbers from 0 to classes - 1, one for each row."""
    found = np.asarray(moved(target.array, "cpu") if isinstance(target, Tensor) else target)
    if found.dtype.kind not in "iu":
        raise DTypeError(f"{layer}: target of {found.dtype}: expected integers, the class numbers")
    if found.shape != input.shape[:-1]:
        raise ShapeError(
            f"{layer}: target of shape {found.shape} for input of shape {input.shape}: expected "
            f"{input.shape[:-1]}"
        )
    if found.size and not 0 <= found.min() <= found.max() < classes:
        raise ArgumentError(
            f"{layer}: targets from {found.min()} to {found.max()}: expected 0 to {classes - 1}"
        )
    return found


def rows_of_features(layer, input, features, dims=(2,)):
    """Raise an error that names the layer unless input is a tensor (N, features), or (features)
    where one dimension is among dims."""
    if not isinstance(input, Tensor):
        raise DTypeError(f"{layer}: input is a {type(input).__name__}: expected a tensor")
    if input.ndim not in dims or input.shape[-1] != features:
        raise ShapeError(
            f"{layer}: input of shape {input.shape}: expected (N, {features})"
            + (f" or ({features},)" if 1 in dims else "")
        )
