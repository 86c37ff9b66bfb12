"""Compiled update rules: from gradient to working copy in one loop, on any device."""

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from minifp.derive.trace import Formula, signature_of
from minifp.numerics.dispatch import pointwise
from minifp.numerics.formats import format_of
from minifp.runtime.cpu import threads
from minifp.runtime.cpu.kernels import pool, updates
from minifp.runtime.cpu.kernels.pointwise import RUN, UNCOUNTED
from minifp.runtime.cuda.arrays import is_on_device

NANOSECONDS = 1.0  # an element


class Update:
    """The compiled kernel of an update rule, derived from its reference: see Kernel.compiled."""

    def __init__(self, reference: Callable[..., Any]) -> None:
        self.kernel = pointwise(reference, is_fused=False)
        self.__name__ = reference.__name__
        self.formulas = self.kernel.formulas
        # (formula, kernel), of which the first that fits: by the kinds of arguments and settings,
        # and how weights are stored.
        self.kernels: dict[tuple, list] = {}

    @cached_property
    def on_device(self) -> Any:
        """The same rule on a GPU: see block_cuda.py."""
        return import_module("minifp.optim.block_cuda").Rule(self)

    def formula(self, arrays: Any, inverse_scale: Any, settings: dict[str, Any]) -> Formula:
        """The formula of a call. arrays: what has the formats of w, g and the states; None for a
        state that is not kept."""
        settings[self.formulas.arguments[-1]] = inverse_scale
        kinds = [type(None) if a is None else a.dtype for a in arrays]
        formula = self.formulas((*kinds, float), settings)
        if formula is None:
            raise TypeError(f"{self.formulas.name} is no formula: {self.formulas.refused}")
        return formula

    def in_place(
        self, w, copy, gradients, states, inverse_scale, settings, compensation=None, draw=()
    ) -> None:
        """Update w and states (None for one that is not kept), all (n), with Scattered gradients.

        copy: (n), into which w is rounded, or None. compensation: (n), what is kept of rounding w,
        or None. draw: the numbers from which those are drawn that w is rounded by, none to the
        nearest. On a GPU all are device arrays, and gradients one flat one.
        """
        if type(w) is not np.ndarray:
            formula = self.formula((w, gradients, *states), float(inverse_scale), settings)
            arrays = w, copy, gradients, states
            return self.on_device.update_in_place(formula, *arrays, settings, compensation, draw)
        settings[self.formulas.arguments[-1]] = float(inverse_scale)
        arrays = w, gradients, *states, copy, compensation
        formats = [None if a is None else a.dtype for a in arrays]
        key = *formats, draw == (), *signature_of(settings)
        fitting = [known for known in self.kernels.get(key, ()) if known[0].fits(settings)]
        if fitting:
            formula, kernel = fitting[0]
        else:
            formula = self.formula((w, gradients, *states), float(inverse_scale), settings)
            how = compensation is not None, format_of(w.dtype) if draw else None
            kernel = updates.kernel_for(formula, [w, *states], copy, *how)
            self.kernels.setdefault(key, []).append((formula, kernel))
        arrays = [a for a in (w, *states, copy, compensation) if a is not None]
        run(kernel, gradients, arrays, (*formula.told(settings), *draw))

    def __call__(self, *args: Any, to: Any, **settings: Any) -> Any:
        """New weights and states, in the formats `to`."""
        if is_on_device(args[0]) and type(to) is tuple and len(to) > 1:
            return self.on_device.updated(args, to, settings)
        return self.kernel(*args, to=to, **settings)


def run(kernel: Any, gradients: Any, arrays: list, numbers: tuple) -> None:
    """Update arrays, all (n), with Scattered gradients: weights, states, and a copy or what
    compensates, if the kernel has one. numbers: of the call, and of random numbers."""
    n = arrays[0].size
    rest = (n, gradients.starts, gradients.addresses, *arrays, *numbers)
    if n * NANOSECONDS > pool.WORTH_A_THREAD and threads.number > 1:
        chunks, length = pool.spans(n, RUN)
        pool.POOL.run(kernel, chunks, (length, *rest))
    elif n:  # a kernel looks for the gradient of its first element
        kernel(UNCOUNTED, 1, pool.NOTHING, n, *rest)
