"""The state of an optimizer as plain copies, and taking one up again: wholly, or not at all."""

from collections.abc import Iterator, MutableMapping
from math import isfinite
from typing import Any

import numpy as np

from minifp.autograd.memory import write
from minifp.checks import check_count
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError
from minifp.numerics.formats import as_native
from minifp.optim import own_step
from minifp.optim.state import check_scaled, saved_numbers
from minifp.runtime.cuda.arrays import is_on_device, to_host
from minifp.runtime.device import moved

COUNTERS = ("steps", "attempts")
MASTER = "master"  # the entry of a weight that has one, as training/masters.py calls it


def state_dict(optimizer):
    """Settings, step counts, masters or compensation, and state of every parameter, as copies."""
    state = own_step.state_dict(optimizer) if optimizer.keeps_its_state else states(optimizer)
    groups, start = [], 0
    for group in optimizer.param_groups:
        end = start + len(group["params"])
        settings = {k: np.asarray(v).tolist() for k, v in group.items() if k != "params"}
        groups.append({**settings, "params": list(range(start, end))})
        start = end
    counters = dict(zip(COUNTERS, (optimizer.steps, optimizer.attempts)))
    return {"state": state, "param_groups": groups, **counters}


def states(optimizer):
    """The state of each parameter, by number."""
    state = {}
    for n, (block, i) in enumerate(places(optimizer)):
        s, shape = block.weights.slices[i], block.parameters[i].shape
        state[n] = {"step": block.steps[i]}
        state[n].update((name, values[i]) for name, values in block.numbers.items())
        for name, array in block.weights.kept.items():
            state[n][name] = to_cpu(array[s].reshape(shape))
        state[n].update((name, kept.saved(i)) for name, kept in block.state.items())
    return state


def load(optimizer, state_dict):
    """Take up a state_dict that `check` let pass."""
    if optimizer.keeps_its_state:
        own_step.load(optimizer, state_dict)
        optimizer.counted = tuple(int(state_dict[name]) for name in COUNTERS)
        return
    expected = places(optimizer)
    for mine, given in zip(optimizer.param_groups, state_dict["param_groups"]):
        mine.update({k: v for k, v in given.items() if k != "params"})
    for block in optimizer.blocks:
        block.state.clear()
    for n, (block, i) in enumerate(expected):
        found = state_dict["state"][n]
        block.steps[i] = int(found["step"])
        for name, values in block.numbers.items():
            values[i] = float(found[name])
        for name in _state_names(optimizer, found):
            block.add_state(name, 0.0)
            block.state[name].assign(i, saved_numbers(found[name]))
        if block.weights.kept.keys() <= found.keys():
            block.weights.take_up(i, found)
        elif MASTER in found:
            write(block.parameters[i], np.asarray(found[MASTER]))
            block.weights.refresh()
    optimizer.counted = tuple(int(state_dict[name]) for name in COUNTERS)


def has_masters(state_dict):
    """Whether some parameter has a master in the state of an optimizer."""
    state = state_dict.get("state") if isinstance(state_dict, dict) else None
    held = state.values() if isinstance(state, dict) else ()
    return any(isinstance(found, dict) and MASTER in found for found in held)


def without_masters(state_dict):
    """The state of an optimizer without masters, which then begin from the weights."""
    if not has_masters(state_dict):
        return state_dict
    state = {
        n: {name: value for name, value in found.items() if name != MASTER}
        for n, found in state_dict["state"].items()
    }
    return {**state_dict, "state": state}


def check(optimizer, state_dict, has_masters, takes_masters=False):
    """Raise ArgumentError, naming the first thing that does not fit, if `load` would fail.

    What was trained in another precision fits: where there are no masters at all (has_masters is
    False), they begin from the weights that are here; where weights here have none, a master that
    is there becomes the weight (takes_masters).
    """
    kind, entries = type(optimizer).__name__, {"state", "param_groups", *COUNTERS}
    if not isinstance(state_dict, dict) or set(state_dict) != entries:
        raise ArgumentError(f"{kind}: state of {_told(state_dict)}, expected {sorted(entries)}")
    for name in COUNTERS:
        check_count(f"{kind}: {name}", state_dict[name], least=0)
    _check_groups(kind, optimizer, state_dict["param_groups"])
    if optimizer.keeps_its_state:
        own_step.check_state(optimizer, state_dict["state"])
        return
    state, expected = state_dict["state"], places(optimizer)
    if not isinstance(state, dict) or set(state) != set(range(len(expected))):
        raise ArgumentError(
            f"{kind}: state of parameters {_told(state)}, expected 0 to {len(expected) - 1}"
        )
    for given in state_dict["param_groups"]:
        first = None
        for n in given["params"]:
            what = f"{kind}: state of parameter {n}"
            place, masters = expected[n], (has_masters, takes_masters)
            names = _check_parameter(what, optimizer, given, state[n], place, masters)
            first = names if first is None else first
            if names != first:
                raise ArgumentError(f"{what} has {sorted(names)}, others of its group not")


class StateOfParameter(MutableMapping[str, Any]):
    """What an optimizer keeps of one parameter, by name: `step`, and numbers in arrays.

    Numbers are read as they are meant, in a format that NumPy has and divided by their scales, in
    copies; what is set is rounded to the format in which it is stored. Raises KeyError for a name
    that is not kept, and ArgumentError for numbers that do not fit, or what cannot be set.
    """

    def __init__(self, block: Any, i: int) -> None:
        self.block, self.i = block, i

    def __iter__(self) -> Iterator[str]:
        return iter(["step", *self.block.numbers, *self.block.state])

    def __len__(self) -> int:
        return len([*self])

    def __getitem__(self, name: str) -> Any:
        if name == "step":
            return self.block.steps[self.i]
        if name in self.block.numbers:
            return self.block.numbers[name][self.i]
        shape = self.block.parameters[self.i].shape
        numbers = moved(self.block.state[name].numbers(self.i), "cpu")
        return np.array(as_native(numbers)).reshape(shape)

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self.block.state:
            self[name]  # KeyError, if there is none
            raise ArgumentError(f"{name} cannot be set alone: load_state_dict sets all state")
        array, shape = np.asarray(value), self.block.parameters[self.i].shape
        _check_array(f"state {name}", array, shape)
        self.block.state[name].assign(self.i, array.reshape(-1))

    def __delitem__(self, name: str) -> None:
        raise ArgumentError(f"state {name} cannot be deleted: set it to zeros")


def to_cpu(array):
    """A copy in the host's memory."""
    return to_host(array) if is_on_device(array) else array.copy()


def places(optimizer):
    """(block, index in it) of each parameter, in the order of the groups; assignments taken up."""
    if optimizer.settle is not None:
        optimizer.settle()
    blocks = optimizer.blocks
    for block in blocks:
        block.weights.refresh()
    found = {id(p): (b, i) for b in blocks for i, p in enumerate(b.parameters)}
    return [found[id(p)] for p in optimizer.parameters]


def _told(given):
    return sorted(given, key=str) if isinstance(given, dict) else f"a {type(given).__name__}"


def _check_groups(kind, optimizer, groups):
    if not isinstance(groups, list) or not all(isinstance(g, dict) for g in groups):
        raise ArgumentError(f"{kind}: param_groups is not a list of groups")
    start, expected = 0, []
    for mine in optimizer.param_groups:
        expected.append(list(range(start, start + len(mine["params"]))))
        start += len(mine["params"])
    given = [group.get("params") for group in groups]
    if given != expected:
        raise ArgumentError(f"{kind}: state of groups of parameters {given}, expected {expected}")
    for mine, group in zip(optimizer.param_groups, groups):
        if (set(group) ^ set(mine)) - {"initial_lr"}:  # which a schedule adds
            raise ArgumentError(
                f"{kind}: a group with settings {_told(group)}, expected {sorted(mine)}"
            )
        optimizer.check(group)


def _state_names(optimizer, found):
    return {name for name in optimizer.state_names if name in found}


def _check_parameter(what, optimizer, group, found, place, masters):
    """The names of its state: what the settings of its group, as given, call for, or more."""
    names = {*optimizer.needed(group)}
    if isinstance(found, dict):
        names |= _state_names(optimizer, found)
    (block, i), (has_masters, takes_masters) = place, masters
    kept = {*block.weights.kept}
    if takes_masters and isinstance(found, dict) and MASTER in found and not kept:
        kept = {MASTER}
    elif MASTER in kept and not has_masters:
        kept = set()
    arrays = {*names, *kept}
    expected = {"step", *arrays, *block.numbers}
    if not isinstance(found, dict) or set(found) != expected:
        raise ArgumentError(f"{what} has {_told(found)}, expected {sorted(expected)}")
    check_count(f"{what}: step", found["step"], least=0)
    for name in block.numbers:
        if not isinstance(found[name], float) or not isfinite(found[name]):
            raise ArgumentError(f"{what}: {name} is {found[name]!r}, expected a number")
    for name in arrays:
        given, shape = found[name], block.parameters[i].shape
        if name in names and isinstance(given, dict):
            check_scaled(f"{what}: {name}", given, shape)
            continue
        _check_array(f"{what}: {name}", np.asarray(given), shape)
    return names


def _check_array(what, array, shape):
    if array.shape != shape or array.dtype.kind not in "fiuV":
        raise ArgumentError(
            f"{what} has {name_of(array.dtype)} {array.shape}, expected numbers of shape {shape}"
        )
