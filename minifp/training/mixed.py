"""MixedOptimizer: an optimizer, its master weights and a loss scale, joined into one step.

optimizer.backward(loss)    gradients, times S      (S is the seed; the loss is not touched)
optimizer.step()            unscale in float32, check, clip, update the masters, round them into
                            the stored weights, adapt S;   or, if a gradient is Inf or NaN, skip:
                            nothing changes but S, and the gradients are cleared
"""

import math
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from minifp.autograd.backward import propagate
from minifp.autograd.gradient_clip import (
    clip_factor,
    in_one_seed,
    multiply_gradient,
    name_of,
    seeds_of,
)
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag, check_range
from minifp.errors import ArgumentError, PrecisionError, TrainingError
from minifp.numerics.policy import as_trained, entered_precision, get_precision
from minifp.optim.optimizer import Optimizer
from minifp.optim.weights import Weights
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda import arrays
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import moved
from minifp.runtime.interrupts import uninterrupted
from minifp.training.diagnosis import Recorded, diagnose, where_and_remedy
from minifp.training.loss_scale import StaticLossScale, as_loss_scale
from minifp.training.masters import MasterWeights
from minifp.training.step_result import StepResult

# Objects with on_update(optimizer, gradients, factor), called before weights change (not for steps
# that are decided on a GPU), and on_step(optimizer, result).
observers: list[Any] = []
FROM_PRECISION: Any = object()
MOST_KEPT = 4  # backwards of one step whose operations can be done again: each keeps its batch


class MixedOptimizer:
    """Mixed-precision training around one optimizer, or several on one scale.

    optimizer: an Optimizer or a list of them. Under the precision `float32` it behaves as the plain
        optimizer does, and under every precision it refuses a non-finite step.
    loss_scale: "dynamic", a number, None, or a loss scale object; by default the precision's, but
        "dynamic" for weights that Module.half() has narrowed.
    master_weights: whether weights stored in less than float32 have float32 masters; by default the
        precision's; and weights that Module.half() has narrowed do. The precision is that in which
        the parameters' modules were made; a MisuseWarning says so where another one is entered.
    clip_norm: clip the norm of the unscaled gradients.
    dial: k, a factor 2^-k in the seed and in the unscaling, and nowhere else: in float32 it changes
        nothing, in float16 it moves gradients k powers of two down, as a mean over 2^k times as
        many terms would.
    skip: with several optimizers, whether "each" skips for itself or all "together".
    skip_nonfinite: False updates even with Inf and NaN, on purpose, to see what that does.
    diagnose: whether a skipped step is done once more, observed, to say which operation made the
        first Inf or NaN (in the StepResult); nothing is changed by it. On a GPU it is not.
    """

    def __init__(
        self, optimizer: Optimizer | Iterable[Optimizer],
        loss_scale: StaticLossScale | float | str | None = FROM_PRECISION,
        master_weights: bool = FROM_PRECISION, *, clip_norm: float | None = None, dial: int = 0,
        skip: str = "each", skip_nonfinite: bool = True, diagnose: bool = True,
    ) -> None:  # fmt: skip
        self.optimizers = list(optimizer) if hasattr(optimizer, "__iter__") else [optimizer]
        if not self.optimizers or not all(isinstance(o, Optimizer) for o in self.optimizers):
            raise ArgumentError("MixedOptimizer: expected an Optimizer, or a list of them")
        if len({id(p) for p in self.parameters}) < len(self.parameters):
            raise ArgumentError("MixedOptimizer: a parameter is given to two optimizers")
        if skip not in ("each", "together"):
            raise ArgumentError(f"skip={skip!r}: expected 'each' or 'together'")
        if clip_norm is not None:
            check_range("clip_norm", clip_norm)
        check_flag("diagnose", diagnose)
        if not isinstance(dial, int) or not 0 <= dial <= 64:
            raise ArgumentError(f"dial={dial!r}: expected an integer from 0 to 64")
        self.precision = _precision_of(self.parameters)
        _warn_of_precision(self.precision)
        stored = [p.dtype for p in self.parameters if p.precision is not None]
        masters, scale = as_trained(self.precision, stored)
        masters = masters if master_weights is FROM_PRECISION else master_weights
        self.loss_scale = as_loss_scale(scale if loss_scale is FROM_PRECISION else loss_scale)
        self.master_weights, self.clip_norm, self.dial = bool(masters), clip_norm, dial
        self.skip, self.skip_nonfinite, self.diagnose = skip, skip_nonfinite, bool(diagnose)
        self.backwards: list[Recorded] = []  # whose gradients the next step uses
        self.last_seed: Any = 1.0  # of the gradients that the last step used
        for o in self.optimizers:
            o.bind(MasterWeights if masters else Weights, self.precision.optimizer_state)
        if is_on_device(self.parameters[0].array):
            arrays.holders.add(self)
        # Of steps that are decided on a GPU: see memory_of in optim/step_cuda.py.
        self._memory: Any = None
        self._memory_there: Any = None  # while they are
        self._asked: list = []

    def __repr__(self) -> str:
        names = ", ".join(type(o).__name__ for o in self.optimizers)
        inside = names if len(self.optimizers) == 1 else f"[{names}]"
        stored = " and ".join(sorted({p.dtype.name for p in self.parameters}))
        masters = "float32" if self.master_weights else "none"
        scale = f"{type(self.loss_scale).__name__}({self.scale:g})"
        return (
            f'MixedOptimizer({inside}, precision="{self.precision}", parameters={stored}, '
            f"masters={masters}, loss_scale={scale})"
        )

    @property
    def parameters(self) -> list[Tensor]:
        """All parameters of all optimizers."""
        return [p for o in self.optimizers for p in o.parameters]

    @property
    def optimizer(self) -> Optimizer:
        """The first (often the only) optimizer."""
        return self.optimizers[0]

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The parameter groups of all optimizers."""
        return [group for o in self.optimizers for group in o.param_groups]

    def add_param_group(self, param_group: dict[str, Any], index: int | None = None) -> None:
        """Train the parameters of one more group, with masters where the others have them.

        index: of the optimizer that is to train it, where there are several. Raises ArgumentError
        and PrecisionError, with nothing changed, for a group that does not fit.
        """
        if index is None and len(self.optimizers) == 1:
            index = 0
        if index is None or index not in range(len(self.optimizers)):
            raise ArgumentError(
                f"MixedOptimizer.add_param_group: index={index!r}: expected which of the "
                f"{len(self.optimizers)} optimizers"
            )
        group = self.optimizers[index].new_group(param_group)
        if {id(p) for p in self.parameters} & {id(p) for p in group["params"]}:
            raise ArgumentError("MixedOptimizer: a parameter is given to two optimizers")
        for p in group["params"]:
            if p.precision is not None and str(p.precision) != str(self.precision):
                raise PrecisionError(
                    f"MixedOptimizer: a parameter made under {p.precision}, the others under "
                    f"{self.precision}: use one MixedOptimizer for each"
                )
        self.optimizers[index].add_param_group(group)

    @property
    def scale(self) -> float:
        """The loss scale S of the next backward. On a GPU this waits for the steps before it."""
        if self._memory is not None:
            self._memory.settle()
        return self.loss_scale.value

    def _on_device(self) -> Any:
        """What decides steps on the GPU (see optim/step_cuda.py); None on the CPU, or where only
        the host knows the rule."""
        if not is_on_device(self.parameters[0].array):
            return None
        return import_module("minifp.training.step_cuda").memory_of(self)

    def backward(self, loss: Tensor, retain_graph: bool = False) -> None:
        """Add S (and the dial) times the gradient of `loss` to every parameter's `.grad`."""
        memory, scale = self._on_device(), None
        if memory is None:
            scale = self.scale
            seed = math.ldexp(scale, -self.dial)
        else:
            seed = memory.begin()
        order = propagate(loss, None, seed, retain_graph)
        self.backwards.append(Recorded(loss, order, scale, retain_graph))
        if len(self.backwards) > MOST_KEPT:
            oldest = -1 - MOST_KEPT
            self.backwards[oldest] = self.backwards[oldest].let_go()

    def unscale_(self) -> None:
        """Divide all gradients by S, in float32, where `.grad` stays: to read, clip or change them.

        Optional: step() does it as part of the update. A second call does nothing.
        """
        seeds_of([p.grad for p in self.parameters], "unscale_()")
        for p in self.parameters:
            if p.grad is not None:
                multiply_gradient(p, 1 / p.grad.seed)

    def step(self, closure: None = None) -> StepResult:
        """Unscale, check, clip, update, and adapt the scale; or skip. Returns what it did.

        Warns, once, of gradients that a step before has used, and of those of `loss.backward()`,
        which bypass the loss scale.
        Raises TapeError without gradients or where a step has consumed all of them, ArgumentError
        for a setting that is not allowed or a closure, PrecisionError for a parameter whose format
        was changed since (all with nothing changed), and TrainingError after `patience` skipped
        steps in a row.
        """
        if closure is not None:
            raise ArgumentError(
                "MixedOptimizer.step(closure): a closure is not taken, because the loss scale "
                "enters in optimizer.backward(loss): call that, and then step()"
            )
        for o in self.optimizers:
            o.check_ready()
        seed = self.last_seed = in_one_seed(self)
        gradients, memory = [o.gradients() for o in self.optimizers], self._on_device()
        if memory is not None and memory.takes(seed, gradients):
            with uninterrupted():
                result = memory.step(gradients)
            for observer in observers:
                observer.on_step(self, result)
            memory.check_patience()
            self._forget()
            return result
        inverse = 1 / seed
        squares = [sum(of_block.squared_norm() for of_block in found) for found in gradients]
        finite = [math.isfinite(s) for s in squares]
        norm = math.sqrt(sum(squares)) * inverse if all(finite) else math.nan
        culprits = () if all(finite) else self._not_finite()
        wanted = finite if self.skip == "each" else [all(finite)] * len(finite)
        if not self.skip_nonfinite:
            wanted = [True] * len(finite)
        factor = inverse * self._clip(squares, wanted, inverse)
        before, diagnosis = self.scale, None
        if self.diagnose and not all(wanted):  # while all weights are those of backward
            diagnosis = diagnose(self.backwards, before, self.dial)
        if any(wanted):
            for observer in observers:
                observer.on_update(self, gradients, factor)
        with uninterrupted():
            for o, go, found in zip(self.optimizers, wanted, gradients):
                o.count_attempt()
                if go and any(of_block.there_are_any() for of_block in found):
                    o.apply(factor, found)
                elif not go:
                    o.zero_grad()
            self.loss_scale.update(all(finite))
        reason = None
        if not all(wanted):
            reason = "the gradient of " + ", ".join(culprits) + " is not finite"
            reason += f": {diagnosis}" if diagnosis else ""
        result = StepResult(
            *(all(wanted), reason, before, self.scale, norm, culprits, tuple(wanted), diagnosis)
        )
        return self._reported(result)

    def _reported(self, result):
        for observer in observers:
            observer.on_step(self, result)
        losses = self._forget()
        if self.skip_nonfinite and self.loss_scale.skipped_in_a_row >= self.loss_scale.patience:
            given = result.parameters, result.scale_before, losses, result.diagnosis
            raise TrainingError(self.advice(*given))
        return result

    def _forget(self):
        """Let go of the graphs of this step; their losses."""
        losses = [backward.let_go().loss for backward in self.backwards]
        self.backwards = []
        return losses

    def minimize(self, loss: Tensor) -> StepResult:
        """backward, step and zero_grad in one."""
        self.backward(loss)
        result = self.step()
        self.zero_grad()
        return result

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients. Raises ArgumentError for set_to_none=False: zeros are not kept."""
        for o in self.optimizers:
            o.zero_grad(set_to_none)
        self._forget()

    def _clip(self, squares, wanted, inverse):
        if self.clip_norm is None:
            return 1.0
        total = sum(s for s, go in zip(squares, wanted) if go)
        return clip_factor(math.sqrt(total) * inverse, self.clip_norm)

    def _not_finite(self):
        names = []
        for i, p in enumerate(self.parameters):
            if p.grad is not None and not np.isfinite(moved(p.grad.array, "cpu")).all():
                names.append(name_of(p, i))
        return tuple(names)

    def advice(self, culprits: tuple, scale: float, losses: list, diagnosis: Any = None) -> str:
        """What a TrainingError says after too many skipped steps."""
        where, remedy = where_and_remedy(diagnosis, losses, scale)
        return (
            f"{self.loss_scale.skipped_in_a_row} steps in a row were skipped: gradients of "
            f"{', '.join(culprits)} are Inf or NaN; {where}. {remedy}"
        )

    def memory(self) -> dict:
        """Bytes held, by kind: weights, masters, optimizer_state, gradients."""
        held = {"weights": 0, "masters": 0, "optimizer_state": 0, "gradients": 0}
        for block in (b for o in self.optimizers for b in o.blocks):
            held["weights"] += block.weights.stored.nbytes
            held["masters"] += block.weights.flat.nbytes if block.weights.is_master else 0
            held["optimizer_state"] += sum(a.nbytes for a in block.state.values())
        held["gradients"] = sum(p.grad.array.nbytes for p in self.parameters if p.grad is not None)
        return held

    def state_dict(self) -> dict[str, Any]:
        """Optimizers with their masters and state, the scale and its counters."""
        if self._memory is not None:
            self._memory.settle()
        return {
            "optimizers": [o.state_dict() for o in self.optimizers],
            "loss_scale": self.loss_scale.state_dict(),
        }

    def check_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raise ArgumentError, saying what does not fit, for what load_state_dict would refuse."""
        if not isinstance(state_dict, dict) or set(state_dict) != {"optimizers", "loss_scale"}:
            is_dict = isinstance(state_dict, dict)
            given = sorted(state_dict, key=str) if is_dict else type(state_dict).__name__
            raise ArgumentError(
                f"MixedOptimizer: state of {given}, expected ['loss_scale', 'optimizers']"
            )
        states = state_dict["optimizers"]
        if not isinstance(states, (list, tuple)) or len(states) != len(self.optimizers):
            raise ArgumentError(
                f"MixedOptimizer: expected a list of states, {len(self.optimizers)} of optimizers"
            )
        self.loss_scale.check_state_dict(state_dict["loss_scale"])
        for o, state in zip(self.optimizers, states):
            o.check_state_dict(state)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state_dict; the weights become the rounded masters in it.

        Raises ArgumentError, with nothing changed, for one that does not fit.
        """
        self.check_state_dict(state_dict)
        if self._memory is not None:
            self._memory.settle()
        self.loss_scale.load_state_dict(state_dict["loss_scale"])
        for o, state in zip(self.optimizers, state_dict["optimizers"]):
            o.load_state_dict(state)


def _precision_of(parameters):
    """The precision in which the parameters were made. Raises PrecisionError if they differ."""
    found = {str(p.precision): p.precision for p in parameters if p.precision is not None}
    if len(found) > 1:
        raise PrecisionError(
            f"MixedOptimizer: parameters made under different precisions ({'; '.join(found)}): "
            "use one MixedOptimizer for each"
        )
    return next(iter(found.values()), None) or get_precision()


def _warn_of_precision(mine):
    """Warn where another precision was entered than that in which the model was made."""
    entered = entered_precision()
    if entered is not None and str(entered) != str(mine):
        warn_once(
            f"entered {entered}, made under {mine}",
            f'MixedOptimizer inside of fp.precision("{entered}"), of a model that was made under '
            f'"{mine}": it computes and trains in "{mine}". Make the model inside of the `with` '
            f'block too; or, before anything is made, fp.set_precision("{entered}") (or the '
            f"environment variable MINIFP_PRECISION={entered})",
        )
