"""The operations by PyTorch's names, argument order and defaults, to be imported as F."""

import numpy as np

from minifp.errors import ShapeError
from minifp.formats import narrow, widen
from minifp.ops import (  # noqa: F401
    avg_pool2d,
    batch_norm_statistics,
    conv2d,
    cross_entropy,
    dropout,
    embedding,
    layer_norm,
    linear,
    log_softmax,
    lstm,
    max_pool2d,
    mse_loss,
    relu,
    sigmoid,
    softmax,
    tanh,
)
from minifp.ops import batch_norm as _batch_norm
from minifp.recording import takes_tensor


@takes_tensor
def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """Normalise each channel of input (N, C) or (N, C, ...).

    In training (or without running statistics) by the batch's own mean and variance, which are
    then mixed into the running ones with weight `momentum` (the variance unbiased), unless they are
    not finite; otherwise by the running ones. Raises ShapeError for fewer than two values a channel
    in training.
    """
    if input.ndim < 2:
        raise ShapeError(f"batch_norm: input of shape {input.shape}: expected (N, C, ...)")
    for name, v in (("running_mean", running_mean), ("running_var", running_var)):
        if v is not None and v.shape != input.shape[1:2]:
            raise ShapeError(f"batch_norm: {name} of shape {v.shape} for input {input.shape}")
    constant = not training and running_mean is not None
    if constant:
        return _batch_norm(input, running_mean, running_var, weight, bias, eps, constant=True)
    count = input.array.size // max(input.shape[1], 1)
    if count < 2:
        raise ShapeError(f"batch_norm in training: {count} value a channel in shape {input.shape}")
    mean, var = batch_norm_statistics(input.array)
    y = _batch_norm(input, mean, var, weight, bias, eps, constant=False)
    if running_mean is not None:
        _mix_in(((running_mean, mean), (running_var, var * (count / (count - 1)))), momentum)
    return y


def _mix_in(pairs, momentum):
    """running <- (1 - momentum) running + momentum new, if all stay finite as they are stored."""
    mixed = []
    for running, new in pairs:
        wide = np.promote_types(running.dtype, new.dtype)
        with np.errstate(all="ignore"):
            sums = (1 - momentum) * widen(running.array, wide) + momentum * widen(new, wide)
        mixed.append(narrow(sums, running.dtype))
    if all(np.isfinite(values).all() for values in mixed):
        for (running, _), values in zip(pairs, mixed):
            running.data = values
