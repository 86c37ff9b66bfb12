"""Optimizer: parameter groups, their flat buffers, and one update rule for each kind."""

from dataclasses import dataclass
from itertools import groupby
from math import isfinite

import numpy as np

from minifp.errors import ArgumentError, PrecisionError, TapeError
from minifp.formats import as_dtype, float32, narrow, widen
from minifp.optim import saving
from minifp.optim.weights import Weights
from minifp.tape import CONSUMED, Tensor


@dataclass
class Block:
    """The parameters of one group that are stored in one format, as flat buffers."""

    group: dict
    weights: Weights
    state: dict  # name -> (n) array, in the optimizer state's format
    steps: list  # of each parameter: how many updates it has had

    @property
    def parameters(self):
        """The parameters, in the order in which they lie in the buffers."""
        return self.weights.parameters

    def runs(self):
        """(first, last) of neighbours that have a gradient and an equal number of steps."""
        keys = [(p.grad is not None, n) for p, n in zip(self.parameters, self.steps)]
        start = 0
        for (has_gradient, _), same in groupby(keys):
            end = start + len(list(same))
            if has_gradient:
                yield start, end
            start = end

    def take_over(self, i, other, j):
        """Let parameter i begin with the state and the step count of number j of another block."""
        self.steps[i] = other.steps[j]
        for name, array in self.state.items():
            s = other.weights.slices[j]
            array[self.weights.slices[i]] = narrow(other.state[name][s], array.dtype)

    def gradients(self, first, last):
        """The gradients of a run as one flat array, in the widest of their formats."""
        flat = [p.grad.array.reshape(-1) for p in self.parameters[first:last]]
        return flat[0] if len(flat) == 1 else np.concatenate(flat)


class Optimizer:
    """The base of update rules. A subclass names its state and defines `update`.

    params: parameters, or groups {"params": ..., "lr": ...} with settings of their own.
    Raises ArgumentError for no parameters, one given twice, or a setting that is not allowed.
    """

    state_names = ()

    def __init__(self, params, **defaults):
        params = [params] if isinstance(params, Tensor) else list(params)
        if not params:
            raise ArgumentError(f"{type(self).__name__}: no parameters to train")
        groups = params if isinstance(params[0], dict) else [{"params": params}]
        self.defaults, self.param_groups = defaults, []
        for group in groups:
            if not isinstance(group, dict) or "params" not in group:
                raise ArgumentError(
                    f"{type(self).__name__}: expected groups {{'params': ..., ...}}"
                )
            given = group["params"]
            given = [given] if isinstance(given, Tensor) else list(given)
            self.param_groups.append({**defaults, **group, "params": given})
        self._check_groups()
        self.attempts = self.steps = 0  # of step(), skipped ones included and not
        self._blocks = None

    def _check_groups(self):
        seen = set()
        for group in self.param_groups:
            unknown = set(group) - set(self.defaults) - {"params"}
            if unknown:
                raise ArgumentError(
                    f"{type(self).__name__}: no setting {', '.join(sorted(unknown))}"
                )
            self.check(group)
            for p in group["params"]:
                if not (isinstance(p, Tensor) and p.is_leaf and p.requires_grad):
                    what = (
                        f"a {type(p).__name__}" if not isinstance(p, Tensor) else "a tensor without"
                    )
                    raise ArgumentError(
                        f"{type(self).__name__}: expected leaves that require a gradient, "
                        f"got {what}"
                    )
                if id(p) in seen:
                    raise ArgumentError(f"{type(self).__name__}: a parameter is given twice")
                seen.add(id(p))

    def check(self, group):
        """Raise ArgumentError for a setting that is not allowed."""
        check_range("lr", group["lr"])

    @property
    def parameters(self):
        """All parameters, in the order of the groups."""
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def blocks(self):
        """The flat buffers; made at the first use."""
        if self._blocks is None:
            self.bind()
        return self._blocks

    def bind(self, masters=Weights, state_format="float32"):
        """Lay out the flat buffers. masters: what holds weights stored in less than float32.

        Done by MixedOptimizer, or at the first plain step. State from before is kept.
        """
        before = [] if self._blocks is None else saving.places(self)
        self._blocks = []
        for group in self.param_groups:
            for dtype in dict.fromkeys(p.dtype for p in group["params"]):
                alike = [p for p in group["params"] if p.dtype == dtype]
                kind = masters if dtype != np.promote_types(dtype, float32) else Weights
                weights = kind(alike)
                stored = as_dtype(state_format)
                if dtype == np.promote_types(dtype, float32):
                    stored = np.promote_types(stored, dtype) if dtype != float32 else stored
                state = {n: np.zeros(weights.flat.size, stored) for n in self.state_names}
                self._blocks.append(Block(group, weights, state, [0] * len(alike)))
        for (block, i), place in zip(saving.places(self), before):
            block.take_over(i, *place)

    def step(self):
        """Update every parameter that has a gradient.

        Raises PrecisionError for weights stored in less than float32, which would lose small
        updates unnoticed, and TapeError for gradients that are scaled or that a step consumed.
        """
        rounded = [p for p in self.parameters if p.dtype != np.promote_types(p.dtype, float32)]
        if rounded:
            raise PrecisionError(
                f"{type(self).__name__}.step() on {len(rounded)} parameters stored in "
                f"{rounded[0].dtype}: use fp.MixedOptimizer(optimizer), which keeps float32 "
                "masters; MixedOptimizer(optimizer, master_weights=False) updates them in place on "
                "purpose"
            )
        seed = seed_of(self.parameters)
        if seed != 1:
            raise TapeError(
                f"{type(self).__name__}.step() on gradients made with seed {seed:g}: "
                "step with the fp.MixedOptimizer that scaled them"
            )
        self.check_settings()
        self.attempts += 1
        self.apply(1.0)

    def check_settings(self):
        """Raise ArgumentError for a setting, perhaps changed since, that is not allowed."""
        for group in self.param_groups:
            self.check(group)

    def apply(self, inverse_scale):
        """Update every parameter that has a gradient, multiplied by `inverse_scale` first."""
        for block in self.blocks:
            block.weights.refresh()
            for first, last in list(block.runs()):
                s = slice(block.weights.slices[first].start, block.weights.slices[last - 1].stop)
                for i in range(first, last):
                    block.steps[i] += 1
                state = {name: array[s] for name, array in block.state.items()}
                self.update(
                    *(block.group, block.weights.flat[s], block.gradients(first, last), state),
                    *(block.steps[first], inverse_scale),
                )
                block.weights.publish(first, last)
        for p in self.parameters:
            if p.grad is not None:
                p.grad.seed = CONSUMED
        self.steps += 1

    def settings(self, group, *names):
        """These settings as Python's own numbers: NumPy's would widen the arithmetic."""
        values = [np.asarray(group[name]).tolist() for name in names]
        return dict(zip(names, values))

    def update(self, group, w, g, state, step, inverse_scale):
        """Write the updated weights and state of one run into `w` and `state`, flat arrays."""
        raise ArgumentError(f"{type(self).__name__} does not define update()")

    def zero_grad(self):
        """Drop all gradients."""
        for p in self.parameters:
            p.grad = None

    # ---- state ----

    def state_dict(self):
        """Settings, step counts, masters and state of every parameter, as plain copies."""
        return saving.state_dict(self)

    def check_state_dict(self, state_dict):
        """Raise ArgumentError, saying what does not fit, for what load_state_dict would refuse."""
        saving.check(self, state_dict)

    def load_state_dict(self, state_dict):
        """Take up a state_dict. Raises ArgumentError, with nothing changed, if it does not fit."""
        saving.check(self, state_dict)
        saving.load(self, state_dict)


def check_range(name, value, low=0.0, high=np.inf, open_above=False):
    """Raise ArgumentError unless low <= value <= high (< high if open above) and it is finite."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not (is_number and isfinite(value) and low <= value <= high) or (
        open_above and value == high
    ):
        interval = f"at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
        raise ArgumentError(f"{name}={value!r}: expected a finite number, {interval}")


def seed_of(parameters, asked_by="step()"):
    """The seed of all gradients. Raises TapeError if they have several or are used up."""
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        raise TapeError(f"{asked_by} without gradients: call backward() first")
    seeds = {g.seed for g in grads}
    if CONSUMED in seeds:
        raise TapeError(
            f"{asked_by} on gradients that a step has consumed: call zero_grad() and backward()"
        )
    if len(seeds) > 1:
        raise TapeError(f"gradients made with different seeds {sorted(seeds)}: call zero_grad()")
    return seeds.pop()


def squared_norm(gradient):
    """The sum of squares of an array, in float64.

    Not finite if and only if an element is not, or (in float64 gradients only) exceeds 1e150.
    """
    flat, total = gradient.reshape(-1), 0.0
    for start in range(0, flat.size, 65536):
        part = widen(flat[start : start + 65536], np.dtype("float64"))
        with np.errstate(all="ignore"):
            total += float(part @ part)
    return total
