"""The state_dict of PyTorch's optimizers as ours: it has the same names, and no counts of steps."""

from typing import Any

import numpy as np

from minifp.optim.saving import COUNTERS, places

UNREAD = {"foreach", "fused", "capturable", "differentiable"}  # which decide no number


def as_ours(optimizer: Any, given: Any) -> Any:
    """PyTorch's as ours, and any other as it is: whether it fits is for `saving.check` to say.

    A parameter without a state has made no step. Of settings that only PyTorch has, those are left
    out that ask for nothing; of one that only we have, ours stays.
    """
    if not isinstance(given, dict) or {*given} != {"state", "param_groups"}:
        return given
    state, groups = given["state"], given["param_groups"]
    if not isinstance(state, dict) or not isinstance(groups, list):
        return given
    if optimizer.keeps_its_state:
        return {**given, **dict.fromkeys(COUNTERS, 0)}
    ours = [group_of(*pair) for pair in zip(groups, optimizer.param_groups)]
    of_each = [group for group in ours for _ in group["params"]]
    states = {
        n: state_of(optimizer, state.get(n), group, *place)
        for n, (group, place) in enumerate(zip(of_each, places(optimizer)))
    }
    most = max((held["step"] for held in states.values()), default=0)
    return {"state": states, "param_groups": ours, **dict.fromkeys(COUNTERS, most)}


def group_of(given: dict[str, Any], mine: dict[str, Any]) -> dict[str, Any]:
    """The settings of a group."""
    read = {
        name: value
        for name, value in given.items()
        if name in mine or not (name in UNREAD or value in (None, False))
    }
    return {**mine, **read, "lr": float(given.get("lr", mine["lr"]))}


def state_of(optimizer: Any, given: Any, group: dict[str, Any], block: Any, i: int) -> dict:
    """The state of a parameter. PyTorch's SGD counts no steps: where it has a state, one."""
    given = {name: value for name, value in (given or {}).items() if value is not None}
    numbers = {name: float(given.pop(name, first)) for name, first in optimizer.numbers.items()}
    step, shape = int(given.pop("step", bool(given))), block.parameters[i].shape
    first = {} if given else {n: optimizer.initial(n, group) for n in optimizer.needed(group)}
    arrays = {n: np.asarray(v) for n, v in given.items()}
    arrays |= {n: np.full(shape, v, np.float32) for n, v in first.items()}
    return {"step": step, **numbers, **arrays}
