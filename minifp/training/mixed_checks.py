"""What a MixedOptimizer refuses: arguments, groups of parameters, and states that do not fit."""

from collections.abc import Iterable, Sequence
from typing import Any

from minifp.autograd.backward import toposort
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag, check_range
from minifp.errors import ArgumentError, PrecisionError, TapeError
from minifp.numerics.policy import Precision
from minifp.numerics.precision_parts import whole_of
from minifp.optim import saving
from minifp.optim.optimizer import Optimizer
from minifp.optim.weights import check_apart
from minifp.runtime.callers import warn_once
from minifp.training.loss_scale import NoLossScale, of_another_kind

STATE = {"optimizers", "loss_scale"}


def optimizers_in(optimizer: Any) -> list[Optimizer]:
    """One optimizer or several, as a list. Raises ArgumentError for what are none, and for a
    parameter of two of them."""
    optimizers = list(optimizer) if hasattr(optimizer, "__iter__") else [optimizer]
    if not optimizers or not all(isinstance(o, Optimizer) for o in optimizers):
        raise ArgumentError("MixedOptimizer: expected an Optimizer, or a list of them")
    check_distinct([p for o in optimizers for p in o.parameters])
    if len(optimizers) > 1 and not all(o.param_groups for o in optimizers):
        raise ArgumentError(
            "MixedOptimizer: one of several optimizers has no parameters, and a loss does not "
            "tell which ones it should train: pass them, as in Adam(model.parameters())"
        )
    return optimizers


def parameters_behind(loss: Tensor) -> list[Tensor]:
    """The parameters of which a loss was computed, in the order of their use. Raises TapeError for
    none."""
    node = loss.gradient_node
    order = [] if node is None else [*toposort([node])]
    leaves = [node for node in reversed(order) if isinstance(node, Tensor)]
    parameters = [p for p in leaves if p.precision is not None]
    if not parameters:
        raise TapeError(
            "MixedOptimizer.minimize(loss): the optimizer has no parameters, and the loss depends "
            "on none: did the model compute it, outside of no_grad?"
        )
    return parameters


def check_distinct(parameters: Sequence[Tensor]) -> None:
    """Raise ArgumentError for a parameter that is there twice, or two on one memory."""
    if len({id(p) for p in parameters}) < len(parameters):
        raise ArgumentError("MixedOptimizer: two optimizers have the same parameter")
    check_apart(parameters)


def check_settings(skip: Any, clip_norm: Any, dial: Any, diagnose: Any) -> None:
    """Raise ArgumentError for a setting that is not allowed."""
    if skip not in ("each", "together"):
        raise ArgumentError(f"skip={skip!r}: expected 'each' or 'together'")
    if clip_norm is not None:
        check_range("clip_norm", clip_norm)
    check_flag("diagnose", diagnose)
    if not isinstance(dial, int) or not 0 <= dial <= 64:
        raise ArgumentError(f"dial={dial!r}: expected an integer from 0 to 64")


def check_index(index: Any, count: int) -> int:
    """Which of `count` optimizers is to train a new group. Raises ArgumentError."""
    if index is None and count == 1:
        return 0
    if index is None or index not in range(count):
        raise ArgumentError(
            f"MixedOptimizer.add_param_group: index={index!r}: expected which of the {count} "
            "optimizers"
        )
    return index


def check_alike(parameters: Iterable[Tensor], precision: Precision) -> None:
    """Raise PrecisionError for a parameter that was made under another precision."""
    for p in parameters:
        made_in = None if p.precision is None else whole_of(p.precision)
        if made_in is not None and str(made_in) != str(precision):
            raise PrecisionError(
                f"MixedOptimizer: a parameter made under {made_in}, the others under "
                f"{precision}: use one MixedOptimizer for each precision"
            )


def take_up_scale(loss_scale: Any, state: dict[str, Any]) -> None:
    """Let a loss scale go on from a checked state; or, after training with one of another kind, as
    in another precision, as it is, with a warning where both scale."""
    other = of_another_kind(state, loss_scale)
    if other is None:
        loss_scale.load_state_dict(state)
    elif not isinstance(loss_scale, NoLossScale) and not isinstance(other, NoLossScale):
        warn_once(
            "loss scale of another kind",
            f"the state is of training with a {type(other).__name__}: this "
            f"{type(loss_scale).__name__} keeps its own scale, {loss_scale.value:g}; to continue "
            "with the saved one, pass the same kind of loss_scale=",
        )


def check_state(state: Any, optimizers: Sequence[Optimizer], loss_scale: Any) -> None:
    """Raise ArgumentError, saying what does not fit, for the state of other optimizers."""
    if not isinstance(state, dict) or set(state) != STATE:
        is_dict = isinstance(state, dict)
        names = sorted(state, key=str) if is_dict else type(state).__name__
        raise ArgumentError(f"MixedOptimizer: state of {names}, expected {sorted(STATE)}")
    states = state["optimizers"]
    if not isinstance(states, (list, tuple)) or len(states) != len(optimizers):
        expected = f"expected a list of states, {len(optimizers)} of optimizers"
        raise ArgumentError(f"MixedOptimizer: {expected}")
    scale = of_another_kind(state["loss_scale"], loss_scale) or loss_scale
    scale.check_state_dict(state["loss_scale"])
    any_masters = any(map(saving.has_masters, states))  # else of a precision without
    for o, state_of_one in zip(optimizers, states):
        saving.check(o, state_of_one, any_masters, takes_masters=True)
