"""TensorFlow's one variable: MINIFP_AUTO_MIXED_PRECISION=1, on a script that knows nothing of it.

TF_ENABLE_AUTO_MIXED_PRECISION=1, TensorFlow's own, is the same; and either may be set by os.environ
in the script, before training begins.

One dynamic scale S for the process seeds every backward (and fp.grad) that has no seed of its own.
What reaches `.grad` is divided by S before, in float32: so clipping, logging, accumulation, several
optimizers and updates written by hand are right as they are. A plain optimizer looks at its own
gradients: if one is Inf or NaN, its step changes nothing. S is adapted by that, once, when the next
backward begins. (tf.train.experimental.enable_mixed_precision_graph_rewrite; TF_ENABLE_AUTO_
MIXED_PRECISION=1. First S, and the steps until it grows, are TensorFlow's.)
"""

import atexit
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable
from copy import copy
from typing import Any

from minifp.autograd import loss_seed
from minifp.autograd.tape import Node, Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError, PrecisionError, TrainingError
from minifp.numerics import policy
from minifp.numerics.formats import float32, wider
from minifp.numerics.precision_parts import whole_of
from minifp.optim.optimizer import Optimizer
from minifp.runtime.callers import warn_once
from minifp.training.fault_search import is_finite
from minifp.training.loss_scale import DynamicLossScale, StaticLossScale, as_loss_scale
from minifp.training.masters import MasterWeights
from minifp.training.model_precision import check_masters
from minifp.training.patience import check_patience
from minifp.training.step_host import not_finite
from minifp.training.step_result import StepResult

VARIABLE = "MINIFP_AUTO_MIXED_PRECISION"
MODES = {  # the values of each variable, and the precision
    VARIABLE: {"1": "autocast", "mixed": "mixed"},
    "TF_ENABLE_AUTO_MIXED_PRECISION": {"1": "autocast", "true": "autocast", "True": "autocast"},
}
OFF = "", "0", "false", "False"
FIRST_SCALE = 2.0**15


class Automatic:
    """The process's scale, and the guard of its plain optimizers.

    precision: the default of the process. loss_scale: its object. finite: whether all steps since
    the last backward were; None for no step.
    """

    def __init__(self, precision: str, loss_scale: StaticLossScale) -> None:
        self.precision, self.loss_scale = precision, loss_scale
        self.finite: bool | None = None
        self.backwards = self.attempts = self.skipped = 0

    @property
    def is_alone(self) -> bool:
        """Whether no optimizer has stepped: a program may change its weights by hand."""
        return self.attempts == 0

    def begin(self, order: list, losses: Iterable[Tensor]) -> float:
        """The seed of a backward through these nodes, which adapts S to the steps before it."""
        if self.finite is not None:
            self.loss_scale.update(self.finite)
        elif self.backwards:
            warn_of_nobody(losses)
        self.finite = None
        self.backwards += 1
        if self.backwards == 1:
            self._tell(order)
            atexit.register(self.tell_end)
        return self.loss_scale.value

    def _tell(self, order):
        counts: dict[str, Counter] = {}
        for node in order:
            if type(node) is Node and node.op != "cast":
                format = str(node.formats[0])
                counts.setdefault(format, Counter())[node.op] += 1
        parts = [
            f"{sum(c.values())} operation{'s' * (sum(c.values()) > 1)} in {format} ("
            + ", ".join(f"{op} {n}" if n > 1 else op for op, n in c.most_common())
            + ")"
            for format, c in sorted(counts.items())
        ]
        print(
            f'minifp: automatic mixed precision "{self.precision}", loss scale '
            f"{self.loss_scale.value:g}: {'; '.join(parts)}",
            file=sys.stderr,
        )

    def tell_end(self) -> None:
        """Say how many steps were skipped of how many, and the scale, at the end of the process."""
        if self.attempts:
            print(
                f"minifp: automatic mixed precision: {self.skipped} of {self.attempts} steps "
                f"skipped for Inf or NaN, loss scale at the end {self.loss_scale.value:g}",
                file=sys.stderr,
            )

    def give_way(self, to: str) -> None:
        """Stop for something that scales losses by itself, and say so once."""
        stop()
        warn_once(
            "automatic gives way",
            f"{VARIABLE}: the script creates {to}, which scales losses itself: from here on, "
            "backward is not scaled automatically; operations still work in "
            f'"{policy.get_precision()}"',
        )

    # ---- checkpoints ----

    def state_dict(self) -> dict[str, Any]:
        """The scale, and what is known of the steps since the last backward."""
        return {
            "loss_scale": self.loss_scale.state_dict(),
            "finite": self.finite,
            "backwards": self.backwards,
        }

    def check_state_dict(self, state: dict[str, Any]) -> None:
        """Raise ArgumentError for what load_state_dict would refuse."""
        if not isinstance(state, dict) or set(state) != {"loss_scale", "finite", "backwards"}:
            raise ArgumentError(
                f"automatic mixed precision: state {state!r}, expected one like "
                f"{self.state_dict()!r}"
            )
        if not (state["finite"] is None or isinstance(state["finite"], bool)):
            raise ArgumentError(f"automatic mixed precision: finite is {state['finite']!r}")
        check_count("automatic mixed precision: backwards", state["backwards"], least=0)
        self.loss_scale.check_state_dict(state["loss_scale"])

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state_dict. Raises as `check_state_dict` does, with nothing changed."""
        self.check_state_dict(state)
        self.loss_scale.load_state_dict(state["loss_scale"])
        self.finite, self.backwards = state["finite"], state["backwards"]

    # ---- the guard of plain optimizers: see Optimizer.step ----

    def prepare(self, optimizer: Optimizer) -> None:
        """Give weights that are stored in less than float32 masters, before the first step."""
        if optimizer.has_masters:
            return
        if any(p.dtype != wider(p.dtype, float32) for p in optimizer.parameters):
            for p in optimizer.parameters:
                check_masters(whole_of(p.precision or policy.get_precision()))
            optimizer.bind(MasterWeights)

    def apply(self, optimizer: Optimizer, gradients: list) -> None:
        """Update, or where a gradient is Inf or NaN change nothing and clear them; see
        `optimizer.last_result`. After 50 such steps in a row a warning says so, once: the script
        goes on."""
        squares, scale = sum(block.squared_norm() for block in gradients), self.loss_scale.value
        finite = self.note(squares)
        culprits: tuple = ()
        optimizer.count_attempt()
        if finite:
            optimizer.apply(1.0, gradients)
        else:
            culprits = not_finite(optimizer.parameters)
            optimizer.zero_grad()
        reason = None if finite else f"the gradient of {', '.join(culprits)} is not finite"
        after = copy(self.loss_scale)
        after.update(finite)
        norm = math.sqrt(squares) if finite else math.nan
        result = StepResult(finite, reason, scale, after.value, norm, culprits, (finite,))
        optimizer.last_result = result
        try:
            check_patience(self.loss_scale, result, ())
        except TrainingError as error:
            warn_once("patience", f"{VARIABLE}: {error}. The script goes on, its weights stay")

    def note(self, squares: float) -> bool:
        """Count a step with gradients of this sum of squares; whether they are finite."""
        finite = math.isfinite(squares)
        self.attempts, self.skipped = self.attempts + 1, self.skipped + (not finite)
        self.finite = finite if self.finite is None else self.finite and finite
        return finite

    def takes(self, gradients: list) -> bool:
        """Whether a closure has made finite gradients, or would at no smaller scale."""
        after = copy(self.loss_scale)
        after.update(False)
        finite = self.note(sum(block.squared_norm() for block in gradients))
        return finite or after.value == self.loss_scale.value


def warn_of_nobody(losses: Iterable[Tensor]) -> None:
    """Say once that a loss is not finite, where no optimizer has looked at gradients."""
    if not all(is_finite(loss.array) for loss in losses):
        warn_once(
            "nobody looks",
            f"{VARIABLE}: the loss is Inf or NaN, and no optimizer has checked gradients since "
            "the last backward: an overflow may have reached the weights. Step with an optimizer "
            "of fp.optim, or check gradients (fp.isfinite(p.grad).all()) before you change "
            "weights by hand",
        )


def enable_mixed_precision(optimizer: Optimizer, loss_scale: Any = "dynamic") -> Optimizer:
    """Train the process in mixed precision from here on, as MINIFP_AUTO_MIXED_PRECISION=1 does.

    optimizer: returned as it is, for scripts that assign it. loss_scale: "dynamic", a number or a
    loss scale object. (tf.train.experimental.enable_mixed_precision_graph_rewrite.)
    """
    if not isinstance(optimizer, Optimizer):
        kind = type(optimizer).__name__
        raise ArgumentError(f"enable_mixed_precision: a {kind}: expected an fp.optim.Optimizer")
    start("autocast", loss_scale)
    return optimizer


def disable_mixed_precision() -> None:
    """End what `enable_mixed_precision` or the variable began; the default precision is float32.
    (tf.train.experimental.disable_mixed_precision_graph_rewrite.)"""
    stop()
    policy.set_precision(policy.SINGLE)


def start(precision: str, loss_scale: Any = "dynamic") -> Automatic:
    """Make `precision` the default and seed every backward; replaces what was started before.

    Raises PrecisionError for a loss scale that reads gradients as they are stored: the guard sees
    them divided by S, and perhaps clipped.
    """
    if loss_scale == "dynamic":
        loss_scale = DynamicLossScale(FIRST_SCALE)
    loss_scale = as_loss_scale(loss_scale)
    if getattr(loss_scale, "reads_largest", False):
        raise PrecisionError(
            f"automatic mixed precision: a {type(loss_scale).__name__} reads gradients before they "
            'are divided by S, which only a MixedOptimizer does: expected "dynamic" or a number'
        )
    active = Automatic(precision, loss_scale)
    policy.set_precision(precision)
    loss_seed.automatic[:] = [active]
    Optimizer.guard = active
    return active


def stop() -> None:
    """End what `start` began; the default precision stays."""
    loss_seed.automatic.clear()
    Optimizer.guard = None


_values: tuple[str, ...] = ("", "")  # of the variables, when they were last looked at
_started: Automatic | None = None  # what they started


def start_from_environment() -> None:
    """Start, or stop, if an environment variable has come to say so, which may happen in the script
    itself, before training begins. Raises PrecisionError for a value it cannot have, or beside
    MINIFP_PRECISION."""
    global _values, _started
    values = tuple([os.environ.get(name, "") for name in MODES])
    if values == _values:
        return
    switched_on = [(name, value) for name, value in zip(MODES, values) if value not in OFF]
    if not switched_on:
        if _started is not None and _started in loss_seed.automatic:
            disable_mixed_precision()
        _values = values
        return
    name, value = switched_on[0]
    if value not in MODES[name]:
        raise PrecisionError(
            f"environment variable {name}={value!r}: expected 1 (float32 weights)"
            + ", mixed (narrow weights with float32 masters)" * ("mixed" in MODES[name])
            + " or 0"
        )
    if os.environ.get("MINIFP_PRECISION"):
        names = f"environment variables {name} and MINIFP_PRECISION"
        raise PrecisionError(f"{names}: expected one of them")
    _values, _started = values, start(MODES[name][value])


loss_seed.beginnings.append(start_from_environment)
