"""Optimizer: parameter groups, their flat buffers, and one update rule for each kind."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from minifp.checks import check_flag, check_range
from minifp.errors import ArgumentError, PrecisionError, TapeError
from minifp.formats import as_dtype, float32
from minifp.gradient_clip import seed_of
from minifp.optim import saving
from minifp.optim.block import Block
from minifp.optim.weights import Weights
from minifp.tape import CONSUMED, Tensor

GivenParameters: TypeAlias = (
    Tensor | Iterable[Tensor] | Iterable[dict[str, Any]]
)  # or groups of them


class Optimizer:
    """The base of update rules. A subclass names its state and defines `update`.

    params: parameters, or groups {"params": ..., "lr": ...} with settings of their own.
    state_names: of arrays as large as the weights. numbers: of what is one number for a parameter,
    with its first value. not_negative, flags: settings that are numbers of at least 0, and that are
    True or False. alone: whether each parameter is updated by itself.
    Raises ArgumentError for no parameters, one given twice, or a setting that is not allowed.
    """

    state_names: tuple[str, ...] = ()
    numbers: dict[str, float] = {}
    alone = False
    not_negative: tuple[str, ...] = ()
    flags: tuple[str, ...] = ("maximize",)
    param_groups: list[dict[str, Any]]
    scheduled: dict[int, tuple[float, float]]
    schedulers: list
    _blocks: Any  # a list of Block, or None before the first use

    def __init__(self, params: GivenParameters, **defaults: Any) -> None:
        if isinstance(params, (dict, str)) or not hasattr(params, "__iter__"):
            raise ArgumentError(
                f"{type(self).__name__}: params is a {type(params).__name__}, expected parameters "
                "or a list of groups"
            )
        given: list[Any] = [params] if isinstance(params, Tensor) else list(params)
        if not given:
            raise ArgumentError(f"{type(self).__name__}: no parameters to train")
        self.defaults, self.param_groups = defaults, []
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.param_groups.append(self.new_group(group))
        self.attempts = self.steps = 0  # of step(), skipped ones included and not
        self._blocks, self._held = None, (Weights, "float32")
        self.scheduled, self.schedulers = {}, []  # kept for lr_scheduler, which says what they are

    # ---- groups ----

    def new_group(self, given: dict[str, Any]) -> dict[str, Any]:
        """A group with all its settings. Raises ArgumentError for one that cannot be added."""
        kind = type(self).__name__
        if not isinstance(given, dict) or "params" not in given:
            raise ArgumentError(f"{kind}: expected groups {{'params': ..., ...}}")
        unknown = set(given) - set(self.defaults) - {"params"}
        if unknown:
            raise ArgumentError(f"{kind}: no setting {', '.join(sorted(map(str, unknown)))}")
        params = given["params"]
        if isinstance(params, (dict, str)) or not hasattr(params, "__iter__"):
            raise ArgumentError(f"{kind}: a group whose params is a {type(params).__name__}")
        params = [params] if isinstance(params, Tensor) else list(params)
        seen = {id(p) for p in self.parameters}
        for p in params:
            # A module's parameter may be frozen, now or later; another tensor is given by mistake.
            if not (isinstance(p, Tensor) and p.is_leaf and (p.requires_grad or p.precision)):
                what = f"a {type(p).__name__}" if not isinstance(p, Tensor) else "a tensor without"
                raise ArgumentError(f"{kind}: expected leaves that require a gradient, got {what}")
            if id(p) in seen:
                raise ArgumentError(f"{kind}: a parameter is given twice")
            seen.add(id(p))
        group = {**self.defaults, **given, "params": params}
        self.check(group)
        return group

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Train the parameters of one more group, {"params": ..., "lr": ..., ...}.

        Settings that are not given are the defaults. Raises ArgumentError, with nothing changed,
        for a parameter that is trained already, or a setting that is not allowed.
        """
        group = self.new_group(param_group)
        self.param_groups.append(group)
        if self._blocks is not None:
            self._blocks += self._laid_out(group)

    def check(self, group: dict[str, Any]) -> None:
        """Raise ArgumentError for a setting that is not allowed."""
        for name in ("lr", *self.not_negative):
            check_range(name, group[name])
        for name in self.flags:
            check_flag(name, group.get(name, False))
        if "betas" in group:
            if not isinstance(group["betas"], (tuple, list)) or len(group["betas"]) != 2:
                raise ArgumentError(f"betas={group['betas']!r}: expected two numbers")
            for beta in group["betas"]:
                check_range("a beta", beta, high=1.0, open_above=True)

    @property
    def parameters(self) -> list[Tensor]:
        """All parameters, in the order of the groups."""
        return [p for group in self.param_groups for p in group["params"]]

    # ---- flat buffers ----

    @property
    def blocks(self) -> list[Block]:
        """The flat buffers; made at the first use. Settings decide what state they have until
        the first step of their group."""
        if self._blocks is None:
            self.bind()
        for block in self._blocks:
            if not any(block.steps):
                self._add_state(block)
        return self._blocks

    def bind(self, masters: type[Weights] = Weights, state_format: str = "float32") -> None:
        """Lay out the flat buffers. masters: what holds weights stored in less than float32.

        Done by MixedOptimizer, or at the first plain step. State from before is kept.
        """
        before: list = [] if self._blocks is None else saving.places(self)
        self._held = masters, state_format
        self._blocks = [block for group in self.param_groups for block in self._laid_out(group)]
        for (block, i), place in zip(saving.places(self), before):
            block.take_over(i, *place)

    def _laid_out(self, group):
        """The blocks of one group, one for each format of its parameters."""
        masters, state_format = self._held
        for dtype in dict.fromkeys(p.dtype for p in group["params"]):
            alike = [p for p in group["params"] if p.dtype == dtype]
            wide = np.promote_types(dtype, float32)
            stored = as_dtype(state_format)
            if dtype == wide != float32:
                stored = np.promote_types(stored, dtype)
            weights = Weights(alike) if dtype == wide else masters(alike)
            numbers = {name: [first] * len(alike) for name, first in self.numbers.items()}
            yield Block(group, weights, stored, numbers, [0] * len(alike))

    def needed(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The names of the state that the settings of a group call for."""
        return self.state_names

    def initial(self, name: str, group: dict[str, Any]) -> float:
        """What a state is filled with."""
        return 0.0

    def _add_state(self, block):
        for name in self.needed(block.group):
            block.add_state(name, self.initial(name, block.group))

    # ---- steps ----

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        closure: computes the loss and its gradients first; what it returns is returned.
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
        loss = None if closure is None else closure()
        seed = seed_of(self.parameters)
        if seed != 1:
            raise TapeError(
                f"{type(self).__name__}.step() on gradients made with seed {seed:g}: "
                "step with the fp.MixedOptimizer that scaled them"
            )
        self.check_ready()
        self.attempts += 1
        self.apply(1.0)
        return loss

    def check_ready(self) -> None:
        """Raise, before anything is changed, for what a step could not work with.

        ArgumentError: a setting, perhaps changed since, that is not allowed, or that calls for
        state which was not kept from the first step on. PrecisionError: a parameter that was given
        another format since the optimizer was made.
        """
        for group in self.param_groups:
            self.check(group)
        for block in self.blocks:
            block.weights.check_formats()
            missing = [name for name in self.needed(block.group) if name not in block.state]
            if missing:
                raise ArgumentError(
                    f"{type(self).__name__}: settings that were changed after the first step call "
                    f"for {', '.join(missing)}, which was not kept: give them from the beginning"
                )

    def apply(self, inverse_scale: float) -> None:
        """Update every parameter that has a gradient, multiplied by `inverse_scale` first."""
        for block in self.blocks:
            block.weights.refresh()
            scale = -inverse_scale if block.group.get("maximize") else inverse_scale
            for first, last in list(block.runs(self.alone)):
                s = block.span(first, last)
                for i in range(first, last):
                    block.steps[i] += 1
                state = {name: array[s] for name, array in block.state.items()}
                state.update((name, values[first]) for name, values in block.numbers.items())
                self.update(
                    *(block.group, block.weights.flat[s], block.gradients(first, last), state),
                    *(block.steps[first], scale),
                )
                for name, values in block.numbers.items():
                    values[first:last] = [state[name]] * (last - first)
                block.weights.publish(first, last)
        for p in self.parameters:
            if p.grad is not None:
                p.grad.seed = CONSUMED
        self.steps += 1

    def settings(self, group: dict[str, Any], *names: str) -> dict[str, Any]:
        """These settings as Python's own numbers: NumPy's would widen the arithmetic."""
        values = [np.asarray(group[name]).tolist() for name in names]
        return dict(zip(names, values))

    def update(
        self, group: dict[str, Any], w: np.ndarray, g: np.ndarray, state: dict[str, Any], step: int,
        inverse_scale: float,
    ) -> None:  # fmt: skip
        """Write the updated weights and state of one run into `w` and `state`.

        w, g: (n). state: arrays (n), written in place, and numbers, replaced in the dict.
        inverse_scale: what g is multiplied by; negative to maximize.
        """
        raise ArgumentError(f"{type(self).__name__} does not define update()")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients. Raises ArgumentError for set_to_none=False: zeros are not kept."""
        if set_to_none is not True:
            raise ArgumentError(
                f"zero_grad: set_to_none={set_to_none!r}: gradients are dropped (.grad is None), "
                "not filled with zeros"
            )
        for p in self.parameters:
            p.grad = None

    # ---- state ----

    def state_dict(self) -> dict[str, Any]:
        """Settings, step counts, masters and state of every parameter, as plain copies."""
        return saving.state_dict(self)

    def check_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raise ArgumentError, saying what does not fit, for what load_state_dict would refuse."""
        saving.check(self, state_dict)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up a state_dict. Raises ArgumentError, with nothing changed, if it does not fit."""
        saving.check(self, state_dict)
        saving.load(self, state_dict)
