"""Clipping unscaled gradients by the norm of all (Pascanu et al. 2013, arXiv:1211.5063)."""

import math

import numpy as np

from minifp.errors import TapeError
from minifp.formats import float32, widen
from minifp.optim.optimizer import check_range, seed_of, squared_norm
from minifp.tape import Tensor


def clip_factor(norm, max_norm):
    """What gradients of this norm are multiplied by to have at most max_norm."""
    return min(1.0, max_norm / (norm + 1e-6))


def clip_grad_norm_(parameters, max_norm):
    """Scale all gradients down together so that their norm is at most `max_norm`; return the norm.

    What is scaled down stays in float32 (or wider), where nothing underflows. Raises TapeError,
    with nothing changed, for gradients still multiplied by a loss scale: their norm means nothing
    yet.
    """
    check_range("max_norm", max_norm)
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    seed = seed_of(parameters, "clip_grad_norm_")
    if seed != 1:
        raise TapeError(
            f"clip_grad_norm_ on gradients still multiplied by {seed:g}: "
            "call the MixedOptimizer's unscale_() first, or give it clip_norm="
        )
    parameters = [p for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(squared_norm(p.grad.array) for p in parameters))
    factor = clip_factor(norm, max_norm)
    if factor < 1:
        for p in parameters:
            multiply_gradient(p, factor)
    return norm


def multiply_gradient(p, factor):
    """Replace p.grad by factor times it, in float32 or wider, as an unscaled gradient."""
    wide = widen(p.grad.array, np.promote_types(p.grad.dtype, float32))
    with np.errstate(all="ignore"):  # Inf and NaN are values here: a step looks for them
        p.grad = Tensor(wide * wide.dtype.type(factor))
    p.grad.seed = 1.0
