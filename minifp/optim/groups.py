"""Parameter groups: what an optimizer is given to train, read and checked."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, TypeAlias

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, PrecisionError
from minifp.nn.parameter import UninitializedParameter
from minifp.optim.weights import check_apart, check_whole

# Parameters, or groups of them.
GivenParameters: TypeAlias = Tensor | Iterable[Tensor] | Iterable[dict[str, Any]]
FROM_LOSS: Any = []  # no parameters yet: see MixedOptimizer.minimize
# Settings of other rules: in a group of one that has them not they would do nothing.
OTHERS = {"alpha", "amsgrad", "betas", "centered", "dampening", "decoupled_weight_decay", "eps"}
OTHERS |= {"learning_rate", "lr_decay", "momentum", "nesterov", "rho", "weight_decay"}


def groups_in(kind: str, params: Any) -> list[dict[str, Any]]:
    """The groups, as they are given, of an optimizer of this kind, from them or from parameters.

    Raises ArgumentError for what is neither, and for no parameters.
    """
    if isinstance(params, (dict, str)) or not hasattr(params, "__iter__"):
        raise ArgumentError(
            f"{kind}: params is a {type(params).__name__}, expected parameters or a list of groups"
        )
    several: list[Any] = [params] if isinstance(params, Tensor) else list(params)
    if not several and params is not FROM_LOSS:
        raise ArgumentError(f"{kind}: no parameters to train")
    return several if not several or isinstance(several[0], dict) else [{"params": several}]


def new_group(optimizer: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A group with all its settings. Raises ArgumentError for one that cannot be added."""
    kind = type(optimizer).__name__
    if not isinstance(given, dict) or "params" not in given:
        raise ArgumentError(f"{kind}: expected groups {{'params': ..., ...}}")
    for key in given.keys() - optimizer.defaults.keys() - {"params"}:
        _check_own(kind, key, optimizer.defaults)
    params = given["params"]
    if isinstance(params, (dict, str)) or not hasattr(params, "__iter__"):
        raise ArgumentError(f"{kind}: a group whose params is a {type(params).__name__}")
    params = [params] if isinstance(params, Tensor) else list(params)
    _check_parameters(kind, params, {id(p) for p in optimizer.parameters})
    check_apart([*optimizer.parameters, *params])
    group = {**optimizer.defaults, **given, "params": params}
    optimizer.check(group)
    return group


def _check_parameters(kind, params, seen):
    """Raise for what cannot be trained, or is already: seen, by their ids."""
    for p in params:
        # A module's parameter may be frozen, now or later; another tensor is given by mistake.
        if not (isinstance(p, Tensor) and p.is_leaf and (p.requires_grad or p.precision)):
            what = f"a {type(p).__name__}" if not isinstance(p, Tensor) else "a tensor without"
            raise ArgumentError(f"{kind}: expected leaves that require a gradient, got {what}")
        if p.precision is not None and p.precision.awaits:
            raise PrecisionError(
                f'{kind}: parameters made in precision "{p.precision}", which has parts for '
                "modules by path: call fp.assign_precision(model) before you create the "
                "optimizer (create a parameter outside of any module in a precision without "
                "parts)"
            )
        if isinstance(p, UninitializedParameter):
            raise ArgumentError(
                f"{kind}: a parameter of a lazy layer, whose shape is not known yet: call the "
                "model once on an input before you create the optimizer"
            )
        if id(p) in seen:
            raise ArgumentError(f"{kind}: the same parameter twice")
        check_whole(p, f"{kind}: a leaf")
        seen.add(id(p))


def _check_own(kind, key, settings):
    """Raise ArgumentError for a key of a group which is meant for a setting, but is none."""
    near = get_close_matches(str(key), settings, 1, 0.75)
    if key in OTHERS or near or not isinstance(key, str):
        meant = f"; the nearest: {near[0]}" if near else ""
        raise ArgumentError(f"{kind}: no setting {key}{meant}")
