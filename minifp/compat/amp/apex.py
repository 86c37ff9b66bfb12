"""Apex's amp: optimization levels O0 to O5 for models and plain optimizers that are there already.

A level is a table of properties; `initialize` prints it, as Apex does. What they turn into: O0 is
the precision "float32", O1 "autocast", O2 "mixed", and O3 float16 throughout, without masters and
without a loss scale; O4 is "autocast-bfloat16", O5 "bfloat16". Scales are adapted when `scale_loss`
ends; a step after an overflow is skipped, and leaves gradients where they are.
(apex/amp/frontend.py, handle.py and scaler.py.)
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any

from minifp.autograd import loss_seed
from minifp.autograd.gradients import is_unseeded, name_of
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice, check_count, check_flag
from minifp.compat.amp.apex_levels import (
    TABLE,
    WHAT,
    check_overrides,
    check_wide,
    convert,
    loss_scale_of,
    truth_of,
)
from minifp.compat.amp.grad_scaler import ENDLESS, unscale
from minifp.errors import ArgumentError, DTypeError, TapeError, TrainingError
from minifp.nn.module import Module
from minifp.numerics.formats import as_dtype
from minifp.ops.losses.scaled_loss import scaled_loss
from minifp.optim.optimizer import Optimizer
from minifp.optim.weights import Weights
from minifp.runtime.callers import warn_once
from minifp.training.loss_scale import SMALLEST, DynamicLossScale, StaticLossScale, as_loss_scale
from minifp.training.masters import MasterWeights


class _State:
    """What `initialize` leaves for `scale_loss`: one loss scale for each loss."""

    def __init__(self, scales: list[StaticLossScale], verbosity: int) -> None:
        self.scales, self.verbosity = scales, verbosity


_state: _State | None = None


class Guard:
    """Of one optimizer that `initialize` was given: see Optimizer.step.

    scales: those of the losses. overflowed: whether a scale_loss since the last step found Inf or
    NaN.
    """

    def __init__(self, scales: Sequence[StaticLossScale] = ()) -> None:
        self.scales, self.overflowed = scales, False

    def prepare(self, optimizer: Optimizer) -> None:
        """Nothing: masters were made by `initialize`."""

    def apply(self, optimizer: Optimizer, gradients: list) -> None:
        """Update, or after an overflow change nothing. Warns once of gradients without a scale."""
        if any(scale.value != 1 for scale in self.scales):
            self._check_scaled(optimizer)
        optimizer.count_attempt()
        if not self.overflowed:
            optimizer.apply(1.0, gradients)
        self.overflowed = False

    def _check_scaled(self, optimizer):
        for i, p in enumerate(optimizer.parameters):
            if p.grad is not None and is_unseeded(p.grad):
                warn_once(
                    "bypass",
                    f"step(): the gradient of {name_of(p, i)} came from loss.backward(), which "
                    "bypasses the loss scale: small gradients become 0. Write `with "
                    "amp.scale_loss(loss, optimizer) as scaled: scaled.backward()`",
                    owner=self,
                )
                return


def initialize(
    models: Module | Iterable[Module],
    optimizers: Optimizer | Iterable[Optimizer] | None = None,
    enabled: bool = True,
    opt_level: str = "O1",
    *,
    cast_model_type: Any = None,
    keep_batchnorm_fp32: bool | str | None = None,
    master_weights: bool | None = None,
    loss_scale: float | str | None = None,
    cast_model_outputs: Any = None,
    num_losses: int = 1,
    verbosity: int = 1,
    min_loss_scale: float | None = None,
    max_loss_scale: float = 2.0**24,
) -> Any:
    """Bring models and their plain optimizers to an optimization level; returns them, as given.

    models, optimizers: one or a list of each; optimizers that have made no step. enabled: False
    changes nothing, and `scale_loss` does nothing. opt_level: "O0" to "O5", a table of properties,
    which is printed. cast_model_type, keep_batchnorm_fp32, master_weights, loss_scale: other values
    than the level's ("dynamic" or a number for the last). cast_model_outputs: the format of what
    models return, where they are cast (float32). num_losses: how many loss scales are kept.
    verbosity: 0 prints nothing. min_loss_scale, max_loss_scale: bounds of dynamic scales.
    Raises ArgumentError, with nothing changed, for what does not fit together, and for models that
    are in float16 already.
    """
    global _state
    all_models, of_all = several("models", models, Module), several_optimizers(optimizers)
    check_flag("amp.initialize: enabled", enabled)
    check_choice("opt_level (the letter O, and a digit)", opt_level, tuple(TABLE))
    check_count("num_losses", num_losses)
    say = print if verbosity else _nothing
    if not enabled:
        _state = _State([], verbosity)
        return models if optimizers is None else (models, optimizers)
    properties = TABLE[opt_level]
    say(f"Selected optimization level {opt_level}:  {WHAT[opt_level]}\n")
    say(f"Defaults for this optimization level are:\n{properties}")
    overrides = {
        "cast_model_type": None if cast_model_type is None else as_dtype(cast_model_type),
        "keep_batchnorm_fp32": truth_of(keep_batchnorm_fp32),
        "master_weights": master_weights,
        "loss_scale": loss_scale_of(loss_scale),
    }
    overrides = {name: value for name, value in overrides.items() if value is not None}
    check_overrides(opt_level, overrides)
    properties = replace(properties, **overrides)
    say("Processing user overrides (additional kwargs that are not None)...")
    say(f"After processing overrides, optimization options are:\n{properties}")
    scale: Any = properties.loss_scale
    if scale == "dynamic":
        lowest = SMALLEST if min_loss_scale is None else min_loss_scale
        scale = DynamicLossScale(min_scale=lowest, max_scale=max_loss_scale)
    scales = [copy(as_loss_scale(scale)) for _ in range(num_losses)]
    check_fresh("amp.initialize", of_all)
    for model in all_models:
        check_wide(model)
    for model in all_models:
        convert(model, properties, cast_model_outputs)
    guarded(of_all, properties.master_weights, scales)
    for automatic in loss_seed.automatic:
        automatic.give_way("Apex's amp.initialize")
    _state = _State(scales, verbosity)
    return models if optimizers is None else (models, optimizers)


@contextmanager
def scale_loss(
    loss: Tensor,
    optimizers: Optimizer | Iterable[Optimizer],
    loss_id: int = 0,
    *,
    delay_unscale: bool = False,
) -> Iterator[Tensor]:
    """`with amp.scale_loss(loss, optimizer) as scaled: scaled.backward()`

    At the end of the block gradients of the optimizers are divided by the scale, in float32, and
    the scale is adapted; if one is Inf or NaN, the next step of these optimizers is skipped.
    loss_id: which of the `num_losses` scales. delay_unscale: leave gradients multiplied, and the
    scale as it is, until another scale_loss, as for accumulation. Raises TapeError before
    `initialize`, ArgumentError for another loss_id, TrainingError where 50 steps in a row were
    skipped and the scale cannot get smaller.
    """
    if _state is None:
        raise TapeError(
            "Invoked 'with amp.scale_loss', but internal Amp state has not been initialized: "
            "model, optimizer = amp.initialize(model, optimizer, opt_level=...) first"
        )
    of_all, scales = several("optimizers", optimizers, Optimizer), _state.scales
    if not scales:  # not enabled
        yield loss
        return
    if loss_id not in range(len(scales)):
        raise ArgumentError(
            f"amp.scale_loss: loss_id={loss_id!r}: expected 0 to {len(scales) - 1}, as "
            f"amp.initialize was told num_losses={len(scales)}"
        )
    scale = scales[loss_id]
    if scale.is_exhausted:
        raise TrainingError(f"amp.scale_loss: the loss scale has as good as fallen {ENDLESS}")
    yield scaled_loss(loss, scale.value)
    if delay_unscale:
        return
    finite = [unscale(o.parameters) for o in of_all]
    skips = not all(finite) and isinstance(scale, DynamicLossScale)
    scale.update(not skips)
    for o in of_all if skips else ():
        if not isinstance(o.guard, Guard):
            raise ArgumentError("amp.scale_loss: the optimizer was not passed to amp.initialize")
        o.guard.overflowed = True
    if skips and _state.verbosity:
        print(
            f"Gradient overflow.  Skipping step, loss scaler {loss_id} reducing loss scale to "
            f"{scale.value}"
        )


def master_params(optimizer: Optimizer) -> Iterator[Tensor]:
    """The parameters of an optimizer, to clip or read their gradients after scale_loss.

    There they have those of the masters: float32, without a scale. (The masters themselves are
    `p.exact`, where weights are narrower.)
    """
    for o in several("optimizers", optimizer, Optimizer):
        yield from o.parameters


def state_dict() -> dict[str, Any]:
    """The loss scales and their counters, by Apex's names: "loss_scaler0", ..."""
    return {
        f"loss_scaler{i}": {"loss_scale": s.value, "unskipped": getattr(s, "good_steps", 0)}
        for i, s in enumerate(_scales())
    }


def load_state_dict(state_dict: dict[str, Any]) -> None:
    """Continue from a state_dict. Raises ArgumentError, with nothing changed, unless it has the
    scales of as many losses."""
    scales = _scales()
    names = [f"loss_scaler{i}" for i in range(len(scales))]
    if not isinstance(state_dict, dict) or set(state_dict) != set(names):
        expected = f"expected {', '.join(names)}: call amp.initialize first"
        raise ArgumentError(f"amp.load_state_dict: {expected}")
    for name, state in state_dict.items():
        if not isinstance(state, dict) or not {"loss_scale", "unskipped"} <= set(state):
            expected = "expected 'loss_scale' and 'unskipped'"
            raise ArgumentError(f"amp.load_state_dict: {name}: {state!r}: {expected}")
    new = []
    for name, scale in zip(names, scales):
        state = scale.state_dict() | {"value": state_dict[name]["loss_scale"]}
        if "good_steps" in state:
            state["good_steps"] = state_dict[name]["unskipped"]
        new.append(scale.restored(state))
    scales[:] = new


def _scales():
    return [] if _state is None else _state.scales


# ---- parts of initialize ------------------------------------------------------------------------


def _nothing(*text):
    pass


def several(name: str, objects: Any, kind: type) -> list:
    """One or more of a kind, as a list. Raises DTypeError for anything else."""
    is_one = isinstance(objects, (kind, str, Tensor)) or not isinstance(objects, Iterable)
    each = [objects] if is_one else list(objects)
    for one in each:
        if not isinstance(one, kind):
            what = type(one).__name__
            raise DTypeError(f"amp: {name}: a {what}: expected one or more of {kind.__name__}")
    return each


def several_optimizers(optimizers: Any) -> list[Optimizer]:
    """One or more, as a list; none of None. Raises DTypeError for anything else."""
    return [] if optimizers is None else several("optimizers", optimizers, Optimizer)


def check_fresh(function: str, optimizers: list[Optimizer]) -> None:
    """Raise ArgumentError for an optimizer that has made a step."""
    if any(o.attempts for o in optimizers):
        hint = f"{function.rpartition('.')[2]} before the first step"
        raise ArgumentError(f"{function}: an optimizer has already made steps: {hint}")


def guarded(
    optimizers: list[Optimizer], has_masters: Any, scales: Sequence[StaticLossScale] = ()
) -> None:
    """Let optimizers keep masters, or update weights as they are stored, behind a Guard."""
    for o in optimizers:
        o.bind(MasterWeights if has_masters else Weights)
        o.guard = Guard(scales)
