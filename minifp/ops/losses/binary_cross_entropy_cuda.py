"""Kernels of binary_cross_entropy.py for a GPU."""

from minifp.ops.losses.loss_cuda import kernels_of
from minifp.runtime.cpu.math import exp32, log1p_32, log32, sigmoid32

# ---- logits -------------------------------------------------------------------------------------


def softplus(x):
    return (x if x > 0 else 0.0) + log1p_32(exp32(-abs(x)))


def of_logits(x, t, w, p):
    return ((1 - t) * softplus(x) + t * p * softplus(-x)) * w


def of_logits_dx(x, t, w, p, dl, share):
    return ((1 - t) * sigmoid32(x) - t * p * sigmoid32(-x)) * w * (dl * share)


def of_logits_dt(x, t, w, p, dl, share):
    return (-x if p == 1 else p * softplus(-x) - softplus(x)) * w * (dl * share)


# ---- probabilities ------------------------------------------------------------------------------


def at_least(x, least):
    return least if x < least else x  # NaN stays


def of_probabilities(x, t, w, p):
    return (-t * at_least(log32(x), -100.0) - (1 - t) * at_least(log1p_32(-x), -100.0)) * w


def of_probabilities_dx(x, t, w, p, dl, share):
    return (x - t) / at_least(x * (1 - x), 1e-12) * w * (dl * share)


def of_probabilities_dt(x, t, w, p, dl, share):
    return (at_least(log1p_32(-x), -100.0) - at_least(log32(x), -100.0)) * w * (dl * share)


(
    binary_cross_entropy_with_logits_each,
    binary_cross_entropy_with_logits_total,
    binary_cross_entropy_with_logits_dx,
    binary_cross_entropy_with_logits_dt,
) = kernels_of(of_logits, of_logits_dx, of_logits_dt)
(
    binary_cross_entropy_each,
    binary_cross_entropy_total,
    binary_cross_entropy_dx,
    binary_cross_entropy_dt,
) = kernels_of(of_probabilities, of_probabilities_dx, of_probabilities_dt)
