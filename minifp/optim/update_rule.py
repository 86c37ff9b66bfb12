"""`@update_rule`: kernels that return updated weights and state.

A rule is a formula of each element, in which nothing is fused: its bits are the same everywhere.
What settings alone compute, such as 1 - b1^t, is computed once, in Python's own floats.
"""

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from minifp.numerics.kernels import Kernel
from minifp.numerics.rules import Rule
from minifp.runtime.cpu import can_compile


class UpdateRule(Kernel):
    """A reference of an update, of weights and gradients first, under a precision rule."""

    @cached_property
    def derived(self) -> Any:
        """The compiled kernel, an Update (see update.py); None where nothing is compiled."""
        if not can_compile():
            return None
        return import_module("minifp.optim.update").Update(self.reference)

    @property
    def derived_on_device(self) -> Any:
        """The same: it is for any device."""
        return self.derived


def update_rule(*out: str) -> Callable[[Callable[..., Any]], UpdateRule]:
    """Make `reference(w, g, *states, inverse_scale, **settings)` an UpdateRule, whose results, the
    weights and the states, have these formats."""
    return lambda reference: UpdateRule(reference, Rule("map", out))


def with_moments(w, g, m, v, lr, betas, weight_decay, decoupled):
    """(w, g, m, v) of Adam and its kin, after the weight decay, of w if decoupled, or else of g:

    m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2
    """
    b1, b2 = betas
    if decoupled:
        w = w * (1 - lr * weight_decay)
    else:
        g = with_decay(g, w, weight_decay)
    return w, g, b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * (g * g)


def with_decay(g: Any, w: Any, weight_decay: Any) -> Any:
    """The gradient with weight_decay w added. Without decay as it is, also where w is Inf or NaN.

    In arithmetic, not by `if`: where a step is captured, settings may change after it is compiled.
    """
    return either(weight_decay, g + weight_decay * w, g)


def either(condition: Any, x: Any, y: Any) -> Any:
    """x or y, as a number says. CuPy takes no number of Python's for a condition."""
    is_plain = type(condition) in (bool, int, float)
    return np.where(np.bool_(condition) if is_plain else condition, x, y)
