"""The state of an optimizer as plain copies, and taking one up again: wholly, or not at all."""

import numpy as np

from minifp.errors import ArgumentError

COUNTERS = ("steps", "attempts")


def state_dict(optimizer):
    """Settings, step counts, masters and state of every parameter, as plain copies."""
    state = {}
    for n, (block, i) in enumerate(places(optimizer)):
        s, shape = block.weights.slices[i], block.parameters[i].shape
        state[n] = {"step": block.steps[i]}
        if block.weights.is_master:
            state[n]["master"] = block.weights.flat[s].reshape(shape).copy()
        for name, array in block.state.items():
            state[n][name] = array[s].reshape(shape).copy()
    groups, start = [], 0
    for group in optimizer.param_groups:
        end = start + len(group["params"])
        groups.append({**group, "params": list(range(start, end))})
        start = end
    counters = {name: getattr(optimizer, name) for name in COUNTERS}
    return {"state": state, "param_groups": groups, **counters}


def load(optimizer, state_dict):
    """Take up a state_dict that `check` let pass."""
    for mine, given in zip(optimizer.param_groups, state_dict["param_groups"]):
        mine.update({k: v for k, v in given.items() if k != "params"})
    for n, (block, i) in enumerate(places(optimizer)):
        found = state_dict["state"][n]
        block.steps[i] = found["step"]
        for name, array in block.state.items():
            array[block.weights.slices[i]] = np.asarray(found[name]).reshape(-1)
        if block.weights.is_master:
            block.weights.assign(i, found["master"])
    for name in COUNTERS:
        setattr(optimizer, name, state_dict[name])


def check(optimizer, state_dict):
    """Raise ArgumentError, naming the first thing that does not fit, if `load` would fail."""
    kind, entries = type(optimizer).__name__, {"state", "param_groups", *COUNTERS}
    if set(state_dict) != entries:
        raise ArgumentError(f"{kind}: state of {sorted(state_dict)}, expected {sorted(entries)}")
    for name in COUNTERS:
        _check_count(f"{kind}: {name}", state_dict[name])
    _check_groups(kind, optimizer, state_dict["param_groups"])
    state, expected = state_dict["state"], places(optimizer)
    if set(state) != set(range(len(expected))):
        raise ArgumentError(
            f"{kind}: state of parameters {sorted(state, key=str)}, "
            f"expected 0 to {len(expected) - 1}"
        )
    for n, (block, i) in enumerate(expected):
        _check_parameter(f"{kind}: state of parameter {n}", state[n], block, i)


def places(optimizer):
    """(block, index in it) of each parameter, in the order of the groups; assignments taken up."""
    for block in optimizer.blocks:
        block.weights.refresh()
    found = {id(p): (b, i) for b in optimizer.blocks for i, p in enumerate(b.parameters)}
    return [found[id(p)] for p in optimizer.parameters]


def _check_groups(kind, optimizer, groups):
    sizes = [len(g["params"]) for g in optimizer.param_groups]
    given = [len(g.get("params", ())) for g in groups]
    if given != sizes:
        raise ArgumentError(f"{kind}: state of groups of {given} parameters, expected {sizes}")
    for mine, group in zip(optimizer.param_groups, groups):
        if set(group) != set(mine):
            raise ArgumentError(
                f"{kind}: a group with settings {sorted(group)}, expected {sorted(mine)}"
            )
        optimizer.check(group)


def _check_parameter(what, found, block, i):
    names = {*block.state, *(["master"] if block.weights.is_master else [])}
    if set(found) != {"step", *names}:
        raise ArgumentError(f"{what} has {sorted(found)}, expected {sorted(['step', *names])}")
    _check_count(f"{what}: step", found["step"])
    for name in names:
        array, shape = np.asarray(found[name]), block.parameters[i].shape
        if array.shape != shape or array.dtype.kind not in "fiu":
            raise ArgumentError(
                f"{what}: {name} has {array.dtype} {array.shape}, expected numbers of shape {shape}"
            )


def _check_count(what, value):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ArgumentError(f"{what} is {value!r}: expected a count")
