"""Optimizers of your own that define `step(closure)`, as PyTorch's do: docs/operations.md.

Such a step reads `p.grad` and changes the parameters itself, in the arithmetic of operations on
tensors. What minifp's own steps look after is looked after around it: gradients that are still
multiplied by a loss scale, weights that would lose small updates, the counts by which schedules go,
and the guard of automatic mixed precision. A MixedOptimizer divides gradients by the scale before.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from minifp.autograd.gradient_clip import multiply_gradient
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, PrecisionError
from minifp.numerics.formats import float32, wider
from minifp.runtime.device import moved


def around(step: Callable[..., Any]) -> Callable[..., Any]:
    """The `step` that a subclass defines, with what is checked before and counted after it."""

    @wraps(step)
    def checked(optimizer: Any, closure: Any = None) -> Any:
        if optimizer.is_stepping:  # a step that a step calls, of the class that it is made from
            return step(optimizer, closure)
        check_wide(optimizer)
        if closure is not None:
            given = looked_after(optimizer, closure)
        else:
            given = ()
            optimizer.check_gradients()
        if optimizer.guard is None or given:
            optimizer.count_attempt()
            return run(optimizer, 1.0, *given)
        optimizer.guard.apply(optimizer, optimizer.gradients())
        return None

    return checked


def looked_after(optimizer: Any, closure: Callable[[], Any]) -> tuple[Callable[[], Any]]:
    """The arguments of a step with a closure, after which gradients are checked. Where a guard
    finds Inf or NaN in them, it is called again, with the smaller scale."""

    def checked() -> Any:
        loss = closure()
        optimizer.check_gradients()
        while optimizer.guard is not None and not optimizer.guard.takes(optimizer.gradients()):
            loss = closure()
        return loss

    return (checked,)


def run(optimizer: Any, inverse_scale: float, *args: Any) -> Any:
    """Do the step itself, on gradients that are multiplied by `inverse_scale` first."""
    before = optimizer.counted
    for p in optimizer.parameters:
        if p.grad is not None and inverse_scale != 1:
            multiply_gradient(p, inverse_scale)
    optimizer.is_stepping = True
    try:
        returned = optimizer.own_step(*args)
    finally:
        optimizer.is_stepping = False
    for p in optimizer.parameters:
        if p.grad is not None:
            p.grad.consumed = p.grad.storage.version
    optimizer.counted = before[0] + 1, before[1]
    return returned


def check_wide(optimizer: Any) -> None:
    """Raise PrecisionError for weights that are stored in less than float32."""
    narrow = [p.dtype for p in optimizer.parameters if p.dtype != wider(p.dtype, float32)]
    if narrow and optimizer.own_step is not None:
        raise PrecisionError(
            f"{type(optimizer).__name__} on {len(narrow)} parameters stored in {narrow[0]}: its "
            "step() would round small updates away, and keep its state in as few bits. Create the "
            "model outside of a mixed precision and run it under fp.autocast, create it in "
            '"autocast", or define a rule in the class, which gets float32 masters: '
            "docs/operations.md"
        )


# ---- state ---------------------------------------------------------------------------------------


def empty() -> Any:
    """The state of such an optimizer before its first step: by parameter, what it likes to keep."""
    return defaultdict(dict)


def state_dict(optimizer: Any) -> dict[int, dict[str, Any]]:
    """What it keeps of each parameter, by number: tensors as arrays, in copies."""
    numbers = {id(p): n for n, p in enumerate(optimizer.parameters)}
    others = [key for key in optimizer.state if id(key) not in numbers]
    if others:
        raise ArgumentError(
            f"{type(optimizer).__name__}: state of {others[0]!r}, which is not a parameter of "
            "any group"
        )
    return {
        numbers[id(p)]: {name: saved(value) for name, value in kept.items()}
        for p, kept in optimizer.state.items()
    }


def saved(value: Any) -> Any:
    """A value as a checkpoint holds it."""
    return np.array(moved(value.array, "cpu")) if isinstance(value, Tensor) else value


def check_state(optimizer: Any, state: Any) -> None:
    """Raise ArgumentError for the state of other parameters."""
    kind, parameters = type(optimizer).__name__, optimizer.parameters
    fits = isinstance(state, dict) and set(state) <= set(range(len(parameters)))
    if not fits or not all(isinstance(kept, dict) for kept in state.values()):
        raise ArgumentError(
            f"{kind}: expected a dict of state for some of parameters 0 to {len(parameters) - 1}"
        )
    for n, kept in state.items():
        for name, value in kept.items():
            if isinstance(value, np.ndarray) and value.shape not in ((), parameters[n].shape):
                raise ArgumentError(
                    f"{kind}: state {name} of parameter {n} has shape {value.shape}, expected "
                    f"{parameters[n].shape}"
                )


def load(optimizer: Any, state_dict: dict[str, Any]) -> None:
    """Take up the settings and the state that were found to fit."""
    for group, given in zip(optimizer.param_groups, state_dict["param_groups"]):
        group.update({k: v for k, v in given.items() if k != "params"})
    optimizer.state = empty()
    for n, kept in state_dict["state"].items():
        p = optimizer.parameters[n]
        optimizer.state[p] = {name: loaded(value, p) for name, value in kept.items()}


def loaded(value: Any, p: Tensor) -> Any:
    """A value of a checkpoint: an array as a tensor, where the parameter is."""
    if not isinstance(value, np.ndarray):
        return value
    return Tensor(moved(value.copy(), p.device))
