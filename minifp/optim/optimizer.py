"""Optimizer: parameter groups, their flat buffers, and one update rule for each kind."""

from collections import deque
from collections.abc import Callable
from operator import is_, setitem
from typing import Any, cast

import numpy as np

from minifp.autograd.gradients import seeds_of, warn_of_consumed
from minifp.autograd.loss_seed import training_begins
from minifp.autograd.memory import clear_gradients
from minifp.autograd.tape import Tensor, drop_gradients
from minifp.checks import check_flag, check_range
from minifp.errors import ArgumentError, PrecisionError, PrecisionWarning, TapeError
from minifp.nn.idle_parts import warn_of_idle_parts
from minifp.numerics import kernels
from minifp.numerics.formats import float32, format_of, is_compiled, is_float, wider
from minifp.numerics.kernels import Kernel
from minifp.numerics.policy import active
from minifp.numerics.rules import resolve
from minifp.numerics.state_format import SINGLE, StateFormat, length_of
from minifp.optim import groups, own_step, saving
from minifp.optim.block import Block, Gradients
from minifp.optim.groups import FROM_LOSS, GivenParameters
from minifp.optim.narrow_weights import Draw
from minifp.optim.of_pytorch import as_ours
from minifp.optim.state import Layout
from minifp.optim.update_rule import UpdateRule
from minifp.optim.weights import Weights, check_apart
from minifp.runtime.callers import warn_once
from minifp.runtime.interrupts import uninterrupted


class Optimizer:
    """The base of update rules. A subclass names its state, and its `rule` or its own `update`; or
    it defines `step(closure)` and gives its defaults in a dict, as in PyTorch (docs/operations.md).

    params: parameters, or groups {"params": ..., "lr": ...} with settings of their own, and with
    what a program keeps with them ("name", "lr_scale"), which no rule reads and state_dict has.
    rule: the kernel that returns the updated weights and state: rule(w, g, *state, inverse_scale,
    **self.keywords(...)). state_names: of arrays as large as the weights; second_moments: of those
    that are means or sums of squares. numbers: of what is one number for a parameter, with its
    first value. not_negative, flags: settings that are numbers of at least 0, and that are True or
    False. alone: whether each parameter is updated by itself.
    Without params there are none, until a MixedOptimizer's minimize finds them from the loss.
    Raises ArgumentError for no parameters, one given twice, or a setting that is not allowed.
    """

    # Decides on plain steps: None, or one with prepare(optimizer), called first, and
    # apply(optimizer, gradients), which updates or skips, and sets last_result.
    guard: Any = None
    last_result: Any = None
    rule: Kernel | None = None
    state_names: tuple[str, ...] = ()
    second_moments: tuple[str, ...] = ()
    numbers: dict[str, float] = {}
    alone = False
    not_negative: tuple[str, ...] = ()
    flags: tuple[str, ...] = ("maximize",)
    param_groups: list[dict[str, Any]]
    number = 0  # among the optimizers of one step
    scheduled: dict[int, tuple[float, float]]
    schedulers: list
    _blocks: Any = None  # a list of Block, or None before the first use
    own_step: Any = None  # the step that a subclass defines itself: see own_step.py
    is_stepping = False  # whether that is running
    counted = 0, 0  # steps, and attempts, with those that were skipped
    settle: Callable[[], None] | None = None  # brings them up to date from a GPU

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "step" in vars(cls):
            cls.own_step = cls.step
            setattr(cls, "step", own_step.around(cls.own_step))  # noqa: B010

    def __init__(
        self,
        params: GivenParameters = FROM_LOSS,
        defaults: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(defaults, (dict, type(None))):
            raise ArgumentError(
                f"{type(self).__name__}: defaults is a {type(defaults).__name__}, expected a "
                "dict of settings, or settings by name"
            )
        defaults = {**(defaults or {}), **settings}
        several = groups.groups_in(type(self).__name__, params)
        training_begins()
        self.defaults, self.param_groups = defaults, []
        for group in several:
            self.param_groups.append(self.new_group(group))
        self.counted, self.settle = (0, 0), None
        self._blocks, self._held = None, (Weights, SINGLE)
        self._is_new = True  # until the first step
        self.scheduled, self.schedulers = {}, []  # kept for lr_scheduler, which says what they are

    # ---- groups ----

    def new_group(self, given: dict[str, Any]) -> dict[str, Any]:
        """A group with all its settings. Raises ArgumentError for one that cannot be added."""
        return groups.new_group(self, given)

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
        if self.keeps_its_state:
            return
        for name in ("lr", *self.not_negative):
            if name not in group:
                raise ArgumentError(f"{type(self).__name__}: no {name}: give it in `defaults`")
            check_range(name, group[name])
        for name in self.flags:
            check_flag(name, group.get(name, False))
        if "betas" in group:
            if not isinstance(group["betas"], (tuple, list)) or len(group["betas"]) != 2:
                raise ArgumentError(f"betas={group['betas']!r}: expected two numbers")
            for beta in group["betas"]:
                check_range("a beta", beta, high=1.0, open_above=True)

    @property
    def keeps_its_state(self) -> bool:
        """Whether it is one of your own, which defines no more than a `step`."""
        return (
            self.own_step is not None
            and self.rule is None
            and (type(self).update is Optimizer.update)
        )

    @property
    def parameters(self) -> list[Tensor]:
        """All parameters, in the order of the groups."""
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def has_masters(self) -> bool:
        """Whether weights that are stored in less than float32 have masters."""
        return self._held[0].is_master

    # ---- counts ----

    @property
    def steps(self) -> int:
        """How many steps were made; on a GPU, where steps are decided on, this waits for them."""
        if self.settle is not None:
            self.settle()
        return self.counted[0]

    @property
    def attempts(self) -> int:
        """How many times step() was called: with those that were skipped."""
        if self.settle is not None:
            self.settle()
        return self.counted[1]

    def count_attempt(self) -> None:
        """Take note that a step is tried."""
        if self.settle is not None:
            self.settle()
        self.counted = self.counted[0], self.counted[1] + 1

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

    def memory(self) -> dict[str, int]:
        """Bytes held, by kind: weights, masters, optimizer_state, gradients."""
        held = [block.weights for block in self.blocks]
        gradients = [p.grad.array for p in self.parameters if p.grad is not None]
        return {
            "weights": sum(w.stored.nbytes for w in held),
            "masters": sum(w.flat.nbytes for w in held if w.is_master),
            "optimizer_state": sum(a.nbytes for b in self.blocks for a in b.all_state()),
            "gradients": sum(a.nbytes for a in gradients),
        }

    def bind(self, masters: type[Weights] = Weights, state_format: StateFormat = SINGLE) -> None:
        """Lay out the flat buffers. masters: what holds weights stored in less than float32.
        state_format: in what state is stored.

        Done by MixedOptimizer, or at the first plain step. State from before is kept.
        """
        own_step.check_wide(self)
        before: list = [] if self._blocks is None else saving.places(self)
        self._held = masters, state_format
        self._blocks = []
        for group in self.param_groups:
            self._blocks += self._laid_out(group)
        for (block, i), place in zip(saving.places(self), before):
            block.take_over(i, *place)

    def _laid_out(self, group):
        """The blocks of one group, one for each format of its parameters."""
        masters, (first, second, scale) = self._held
        dtypes = dict.fromkeys(p.dtype for p in group["params"])
        for number, dtype in enumerate(dtypes, len(self._blocks)):
            alike = [p for p in group["params"] if p.dtype == dtype]
            wide = wider(dtype, float32)
            formats = {n: second if n in self.second_moments else first for n in self.state_names}
            if dtype == wide != float32:
                formats = {name: wider(stored, dtype) for name, stored in formats.items()}
            weights = Weights(alike) if dtype == wide else masters(alike)
            numbers = {name: [first] * len(alike) for name, first in self.numbers.items()}
            layout = None if scale is None else Layout(weights, length_of(scale))
            yield Block(group, weights, formats, numbers, [0] * len(alike), number, layout)

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
        if not self.param_groups:
            raise ArgumentError(
                f"{type(self).__name__}() has no parameters: pass it model.parameters(); only "
                "fp.MixedOptimizer(optimizer).minimize(loss) finds them, from the loss"
            )
        if self.guard is None or self.is_stepping:
            self._check_wide()
        else:
            self.guard.prepare(self)
        loss = None if closure is None else closure()
        self.check_gradients()
        self.check_ready()
        gradients = self.gradients()
        with uninterrupted():
            if self.guard is None or self.is_stepping:
                self.count_attempt()
                self.apply(1.0, gradients)
            else:
                self.guard.apply(self, gradients)
        return loss

    def check_gradients(self) -> None:
        """Raise TapeError for gradients that are still multiplied by a loss scale; warn of those
        that a step has used."""
        present = [g for p in self.parameters if (g := p.grad) is not None]
        for seed in seeds_of(present):
            if seed != 1:
                raise TapeError(
                    f"{type(self).__name__}.step() on gradients made with seed {seed:g}: step "
                    "with the fp.MixedOptimizer or GradScaler that scaled them, or after the "
                    "amp.scale_loss block (without delay_unscale)"
                )
        warn_of_consumed(self, present)

    def _check_wide(self):
        if self._blocks and all(block.weights.is_wide for block in self._blocks):
            return
        rounded = [p for p in self.parameters if p.array.dtype != wider(p.array.dtype, float32)]
        if rounded:
            raise PrecisionError(
                f"{type(self).__name__}.step() on {len(rounded)} parameters stored in "
                f"{rounded[0].dtype}: use fp.MixedOptimizer(optimizer), which keeps float32 "
                "masters; MixedOptimizer(optimizer, master_weights=False) updates them in place on "
                "purpose"
            )

    def have_moved(self) -> bool:
        """Whether some parameter was given other memory since the last step."""
        return any(block.weights.have_moved() for block in self.blocks)

    def check_ready(self) -> None:
        """Raise, before anything is changed, for what a step could not work with.

        ArgumentError: a setting, perhaps changed since, that is not allowed, or that calls for
        state which was not kept from the first step on. PrecisionError: a parameter that was given
        another format since the optimizer was made.
        """
        if self._is_new:
            warn_of_idle_parts(self.parameters)
            self._is_new = False
        blocks = self.blocks
        for block in blocks:
            values, known = [*block.group.values()], block.checked
            # The same objects have been checked, unless they can change.
            if len(values) != len(known) or not all(map(is_, values, known)):
                self._check_settings(block, values)
        if any(block.weights.have_moved() for block in blocks):
            check_apart(self.parameters)
            for block in blocks:
                block.weights.check_formats()

    def _check_settings(self, block, values):
        self.check(block.group)
        block.needed = self.needed(block.group)
        missing = [name for name in block.needed if name not in block.state]
        if missing:
            raise ArgumentError(
                f"{type(self).__name__}: settings changed after the first step need "
                f"{', '.join(missing)}, which was not recorded: set them from the beginning"
            )
        fixed = not any(isinstance(block.group[name], list) for name in self.defaults)
        block.checked = values if fixed else []

    def gradients(self) -> list[Gradients]:
        """The gradients of each block. Raises ShapeError for one that does not fit."""
        return [block.gradients() for block in self.blocks]

    def apply(self, inverse_scale: float, gradients: list[Gradients]) -> None:
        """Update every parameter that has a gradient, multiplied by `inverse_scale` first.

        gradients: what `gradients()` has just returned.
        """
        if self.own_step is not None and not self.is_stepping:
            own_step.run(self, inverse_scale)
            return
        counts: list = []
        for block, of_block in zip(self._blocks, gradients):
            block.weights.take_up_assigned()
            scale = -inverse_scale if block.group.get("maximize") else inverse_scale
            for first, last in block.runs(of_block, self.alone):
                run = block.begin_step(first, last)
                self._update_run(block, run, of_block, scale)
                counts += block.counts_of(run)
            of_block.consume()
            if block.weights.is_narrow and block.weights.are_beyond():
                self._warn_of_overflow(block.weights)
        steps, attempts = self.counted  # settled, where an attempt was counted
        set_together([*counts, (vars(self), "counted", (steps + 1, attempts))])

    def _warn_of_overflow(self, weights):
        format, lost = format_of(weights.stored.dtype), weights.beyond()
        if lost:
            name, number = lost[0]
            more = f" and of {len(lost) - 1} more parameters" if len(lost) > 1 else ""
            warn_once(
                "weight beyond its format",
                f"step(): a weight of {name}{more} is {number:g} now, beyond {format.name}, whose "
                f"largest number is {format.max:g}: the stored weight, used for computing, is Inf. "
                f'Give its module its own precision, as in "mixed;NAME={float32.name}", train in '
                '"autocast", or find out why it grows (weight decay, learning rate)',
                owner=self,
                category=PrecisionWarning,
            )

    def draw(self, block: Block, step: int) -> Draw:
        """The random numbers of a step of a block's weights."""
        return Draw(f"{self.number}.{block.number}", step)

    def _update_run(self, block, run, gradients, scale):
        """Update one run of parameters, and what is stored of them: by the rule's compiled kernel
        in one pass over memory, or else one thing after the other."""
        compiled = self._compiled_rule(block, gradients.arrays[run.first].dtype)
        publish = block.weights.publish if compiled is None else block.weights.written
        try:
            for piece in block.pieces(run, whole=self.alone):
                if compiled is None:
                    self._update_by_reference(block, piece, gradients, scale)
                else:
                    self._update_compiled(compiled, block, piece, gradients, scale)
        finally:  # what is stored follows, also where something is raised, here too
            try:
                publish(run.first, run.last)
            except BaseException:
                publish(run.first, run.last)
                raise

    def _update_by_reference(self, block, piece, gradients, scale):
        weights, (first, last, part, step, state) = block.weights, piece
        w, g = weights.opened(part), gradients.flat(first, last, part)
        self.update(block.group, w, g, state, step, scale)
        weights.close(part, w, self.draw(block, step))

    def _update_compiled(self, compiled, block, piece, gradients, scale):
        weights, (first, last, part, step, state) = block.weights, piece
        w = weights.flat[part]
        arrays = [state[name] if name in block.needed else None for name in self.state_names]
        copy = weights.stored[part] if weights.is_master else None
        g = (gradients.scattered if block.is_on_host else gradients.flat)(first, last, part)
        rest = None if weights.compensation is None else weights.compensation[part]
        drawn = self.draw(block, step).numbers(part) if weights.is_stochastic else ()
        keywords = self.keywords(block.group, state, step)
        compiled.in_place(w, copy, g, arrays, scale, keywords, rest, drawn)

    def _compiled_rule(self, block, format):
        """The compiled kernel, if it computes what the rule would with gradients of this format, or
        None: also while somebody observes kernels, who would not see it."""
        rule, precision = self.rule, active.get().value
        if rule is None or type(self).update is not Optimizer.update or kernels.observers:
            return None
        if precision.by_references:
            return None
        weights = block.weights
        key = rule, weights.flat.dtype, format, *block.opened_formats, weights.stored.dtype
        if key not in precision.resolved:
            kinds = tuple([(dtype, False) for dtype in key[1:-1]])
            compute = resolve(rule.rule, rule.names[: len(kinds)], kinds, precision).compute
            known = all(
                is_float(dtype) and dtype.isnative and is_compiled(dtype) for dtype in key[1:]
            )
            is_single = known and compute == float32
            is_known = is_single and isinstance(rule, UpdateRule)
            precision.resolved[key] = rule.compiled if is_known else None
        return precision.resolved[key]

    def keywords(self, group: dict[str, Any], state: dict[str, Any], step: int) -> dict[str, Any]:
        """The keywords of the rule in one step of one run: of the settings of the group and `step`
        those that it names. May replace numbers in `state`."""
        known, rule = {**group, "step": step}, cast(Kernel, self.rule)
        return plain_settings(known, *[name for name in rule.keywords if name in known])

    def settings(self, group: dict[str, Any], *names: str) -> dict[str, Any]:
        """These settings as Python's own numbers: NumPy's would widen the arithmetic."""
        return plain_settings(group, *names)

    def update(
        self,
        group: dict[str, Any],
        w: np.ndarray,
        g: np.ndarray,
        state: dict[str, Any],
        step: int,
        inverse_scale: float,
    ) -> None:
        """Write the updated weights and state of one run into `w` and `state`, as the rule says.

        w, g: (n). state: arrays (n), written in place, and numbers, replaced in the dict.
        inverse_scale: what g is multiplied by; negative to maximize.
        """
        if self.rule is None:
            raise ArgumentError(f"{type(self).__name__} does not define update()")
        needed = self.needed(group)
        arrays = [state[name] if name in needed else None for name in self.state_names]
        keywords = self.keywords(group, state, step)
        self.rule(w, g, *arrays, inverse_scale, to=(w, *arrays), **keywords)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients; with set_to_none=False, fill those that there are with zeros: then
        a step moves their weights on by momentum and weight decay."""
        if set_to_none is True:
            return drop_gradients(self.parameters)
        clear_gradients(self.parameters, set_to_none)

    # ---- state ----

    @property
    def state(self) -> Any:
        """What is kept of each parameter: optimizer.state[p]["exp_avg"], to be read and set. One
        with a `step` of its own keeps there what it likes."""
        if self.keeps_its_state:
            return self.__dict__.setdefault("state", own_step.empty())
        kept = [saving.StateOfParameter(*place) for place in saving.places(self)]
        return dict(zip(self.parameters, kept))

    @state.setter
    def state(self, state: Any) -> None:
        if not self.keeps_its_state:
            raise ArgumentError(f"{type(self).__name__}.state is set by load_state_dict")
        self.__dict__["state"] = state

    def state_dict(self) -> dict[str, Any]:
        """Settings, step counts, masters and state of every parameter, as plain copies."""
        return saving.state_dict(self)

    def check_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raise ArgumentError, saying what does not fit, for what load_state_dict would refuse."""
        state_dict = as_ours(self, state_dict)
        saving.check(self, state_dict, saving.has_masters(state_dict))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up a state_dict, of another precision or of PyTorch's optimizer too: what it holds
        is converted. Raises ArgumentError, with nothing changed, if it does not fit."""
        state_dict = as_ours(self, state_dict)
        if self.guard is not None and saving.has_masters(state_dict):
            self.guard.prepare(self)  # as its first step does
        self.check_state_dict(state_dict)
        saving.load(self, state_dict)
        for block in self._blocks or ():
            block.checked = []


def set_together(changes: list[tuple[Any, Any, Any]]) -> None:
    """holder[key] = value for each (holder, key, value): in one call, within which Python handles
    no signal and no exception from another thread."""
    deque(map(setitem, *zip(*changes)), maxlen=0)


def plain_settings(group: dict[str, Any], *names: str) -> dict[str, Any]:
    """See Optimizer.settings."""
    pairs = [(name, group[name]) for name in names]
    return {name: v if type(v) in (float, int, bool) else _plain(v) for name, v in pairs}


def _plain(value):
    if type(value) in (tuple, list):
        return tuple([_plain(part) for part in value])
    return value if type(value) in (float, int, bool) else np.asarray(value).tolist()
