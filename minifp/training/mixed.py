"""MixedOptimizer: an optimizer, its master weights and a loss scale, joined into one step.

optimizer.backward(loss)    gradients, times S      (S is the seed; the loss is not touched)
optimizer.step()            unscale in float32, check, clip, update the masters, round them into
                            the stored weights, adapt S;   or, if a gradient is Inf or NaN, skip:
                            nothing changes but S, and the gradients are cleared
"""

import math
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from minifp.autograd import loss_seed
from minifp.autograd.backward import forget, propagate, ran_under_autocast
from minifp.autograd.gradient_clip import largest_gradient, multiply_gradient
from minifp.autograd.gradients import in_one_seed, seeds_of
from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, TapeError
from minifp.numerics.rules import as_trained, largest_gradient_of
from minifp.numerics.state_format import StateFormat
from minifp.optim.optimizer import Optimizer
from minifp.runtime.cuda import arrays
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.interrupts import uninterrupted
from minifp.runtime.observing import Observers
from minifp.training.diagnosis import Recorded
from minifp.training.loss_scale import StaticLossScale, as_loss_scale
from minifp.training.mixed_checks import (
    check_alike,
    check_distinct,
    check_index,
    check_settings,
    check_state,
    optimizers_in,
    parameters_behind,
    take_up_scale,
)
from minifp.training.model_precision import (
    precision_of,
    warn_of_another,
    warn_of_unscaled,
    weights_for,
)
from minifp.training.step_host import HostStep
from minifp.training.step_result import StepResult

# Objects with on_update(optimizer, gradients, factor), called before weights change (not for steps
# that are decided on a GPU), and on_step(optimizer, result).
observers: list[Any] = Observers()
FROM_PRECISION: Any = object()
MOST_KEPT = 4  # backwards of one step whose operations can be done again: each keeps its batch


class MixedOptimizer:
    """Mixed-precision training around one optimizer, or several on one scale.

    optimizer: an Optimizer or a list of them; the first `minimize(loss)` gives an optimizer without
        parameters those that the loss depends on. Under the precision `float32` it behaves like the
        plain optimizer, and under every precision it skips a non-finite step.
    loss_scale: "dynamic", "lognormal", a number, None, or a loss scale object; by default the
        precision's, but "dynamic" for weights narrowed by Module.half().
    master_weights: whether weights stored in less than float32 have float32 masters; by default the
        precision's; weights narrowed by Module.half() have them. The precision is that in which the
        parameters' modules were created; a MisuseWarning says so if another one is active.
    clip_norm: clip the norm of the unscaled gradients.
    dial: k, a factor 2^-k in the seed and in the unscaling, and nowhere else: in float32 it changes
        nothing; in float16 it moves gradients k powers of two down, like a loss averaged over 2^k
        times as many terms.
    skip: with several optimizers, whether "each" skips alone or all skip "together".
    skip_nonfinite: False updates even with Inf and NaN, on purpose, to see the effect.
    diagnose: whether a skipped step is repeated under observation, to find the operation that made
        the first Inf or NaN (in the StepResult). This changes nothing. Not on a GPU.
    """

    def __init__(
        self,
        optimizer: Optimizer | Iterable[Optimizer],
        loss_scale: StaticLossScale | float | str | None = FROM_PRECISION,
        master_weights: bool = FROM_PRECISION,
        *,
        clip_norm: float | None = None,
        dial: int = 0,
        skip: str = "each",
        skip_nonfinite: bool = True,
        diagnose: bool = True,
    ) -> None:
        self.optimizers = optimizers_in(optimizer)
        check_settings(skip, clip_norm, dial, diagnose)
        self._awaiting: dict[str, Any] | None = None  # settings, until there are parameters
        if not all(o.param_groups for o in self.optimizers):
            self._awaiting = {
                **{"loss_scale": loss_scale, "master_weights": master_weights, "skip": skip},
                **{"clip_norm": clip_norm, "dial": dial, "diagnose": diagnose},
                "skip_nonfinite": skip_nonfinite,
            }
            return
        for automatic in loss_seed.automatic:
            automatic.give_way("a MixedOptimizer")
        self.precision = precision_of(self.parameters)
        warn_of_another(self.precision)
        stored = [p.dtype for p in self.parameters if p.precision is not None]
        masters, scale = as_trained(self.precision, stored)
        masters = masters if master_weights is FROM_PRECISION else master_weights
        self.loss_scale = as_loss_scale(scale if loss_scale is FROM_PRECISION else loss_scale)
        if getattr(self.loss_scale, "reads_largest", False):
            self.loss_scale.cutoff = math.log2(largest_gradient_of(self.precision))
        self.master_weights, self.clip_norm, self.dial = bool(masters), clip_norm, dial
        self.skip, self.skip_nonfinite, self.diagnose = skip, skip_nonfinite, bool(diagnose)
        self.backwards: list[Recorded] = []  # whose gradients the next step uses
        self.last_seed: Any = 1.0  # of the gradients that the last step used
        self.largest = 0.0  # |gradient| of the next step, without S, as far as it was looked for
        kind = weights_for(self.precision, self.master_weights, self.parameters)
        for n, o in enumerate(self.optimizers):
            o.number = n
            o.bind(kind, StateFormat.of(self.precision))
        self._first = self.parameters[0]
        self._is_on_device = is_on_device(self._first.array)
        if self._is_on_device:
            arrays.holders.add(self)
        self._memory: Any = None  # of steps that a GPU decides: see step_memory.py

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name[:1] != "_" and vars(self).get("_awaiting"):
                raise TapeError(
                    f"MixedOptimizer.{name}: the optimizer has no parameters yet: call "
                    "minimize(loss) first, which finds them, or create the optimizer with "
                    "model.parameters()"
                )
            raise AttributeError(f"'MixedOptimizer' object has no attribute {name!r}")

    def _find_parameters(self, loss):
        """Train the parameters of which a loss was computed, in the order of their use."""
        self.optimizer.add_param_group({"params": parameters_behind(loss)})
        settings: Any = self._awaiting
        self.__init__(self.optimizers, **settings)  # type: ignore[misc]

    def __repr__(self) -> str:
        if self._awaiting:
            return f"MixedOptimizer({type(self.optimizer).__name__}(), no parameters yet)"
        names = ", ".join(type(o).__name__ for o in self.optimizers)
        inside = names if len(self.optimizers) == 1 else f"[{names}]"
        stored = " and ".join(sorted({name_of(p.dtype) for p in self.parameters}))
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
        o = self.optimizers[check_index(index, len(self.optimizers))]
        group = o.new_group(param_group)
        check_distinct([*self.parameters, *group["params"]])
        check_alike(group["params"], self.precision)
        o.add_param_group(group)
        if self._memory is not None:  # which has places for the groups before
            self._memory.settle()
            self._memory = None

    @property
    def scale(self) -> float:
        """The loss scale S of the next backward. On a GPU this waits for the steps before it."""
        if self._memory is not None:
            self._memory.settle()
        return self.loss_scale.value

    def backward(self, loss: Tensor, retain_graph: bool = False) -> None:
        """Add S (and the dial) times the gradient of `loss` to every parameter's `.grad`.

        Raises ArgumentError for a loss that is no Tensor.
        """
        if not isinstance(loss, Tensor):
            raise ArgumentError(
                f"MixedOptimizer.backward(loss): a {type(loss).__name__}: expected a Tensor, as "
                "loss functions return (does your loss function have a return statement?)"
            )
        if self._awaiting is not None:
            self._find_parameters(loss)
        memory, scale = self._step_memory() if self._is_on_device else None, None
        if memory is None:
            scale = self.scale
            seed = math.ldexp(scale, -self.dial)
        else:
            seed = memory.begin()
        order = propagate(loss, None, seed, retain_graph)
        if scale == 1 and not self.backwards and self.precision.loss_scale is None:
            if ran_under_autocast(order):
                warn_of_unscaled(self, order)
        self.backwards.append(Recorded(loss, order, scale, retain_graph))
        if len(self.backwards) > MOST_KEPT:
            oldest = -1 - MOST_KEPT
            self.backwards[oldest] = self.backwards[oldest].let_go()

    def unscale_(self) -> None:
        """Divide all gradients by S, in float32, where `.grad` stays: to read, clip or change them.

        Optional: step() does it as part of the update. A second call does nothing.
        """
        seeds_of([g for p in self.parameters if (g := p.grad) is not None], "unscale_()")
        self.look_for_largest()  # before somebody clips
        for p in self.parameters:
            if p.grad is not None:
                multiply_gradient(p, 1 / p.grad.seed)

    def look_for_largest(self) -> None:
        """Take note of the largest |gradient| as it is stored, divided by S, if it is finite and
        the loss scale reads it."""
        if getattr(self.loss_scale, "reads_largest", False):
            largest = math.ldexp(largest_gradient(self.parameters), -self.dial)
            self.largest = max(self.largest, largest if math.isfinite(largest) else 0.0)

    def step(self, closure: None = None) -> StepResult:
        """Unscale, check, clip, update, and adapt the scale; or skip. Returns what it did.

        Warns, once, of gradients that a step before has used, and of those of `loss.backward()`,
        which bypass the loss scale.
        Raises TapeError without gradients or where a step has consumed all of them, ArgumentError
        for a setting that is not allowed or a closure, PrecisionError for a parameter whose format
        was changed since (all with nothing changed), and TrainingError after `patience` skipped
        steps in a row.
        """
        self._check_ready(closure)
        seed = self.last_seed = in_one_seed(self)  # what all gradients are multiplied by
        gradients = [o.gradients() for o in self.optimizers]
        decider = self._decider(seed, gradients)  # the host, or the GPU in its own memory
        decider.unscale_and_check()
        if decider.factor is not None:
            for observer in observers:
                observer.on_update(self, gradients, decider.factor)
        with uninterrupted():  # Ctrl-C finds all of it done, or nothing
            decider.update_or_skip()
            decider.adapt_scale()
        result = decider.result()
        for observer in observers:
            observer.on_step(self, result)
        losses = self._forget()
        if self.skip_nonfinite:
            decider.check_patience(result, losses)
        return result

    def _check_ready(self, closure):
        """Raise, with nothing changed, for what a step could not work with."""
        if closure is not None:
            raise ArgumentError(
                "MixedOptimizer.step(closure): a closure is not supported, because "
                "optimizer.backward(loss) applies the loss scale: call that, then step()"
            )
        if len(self.optimizers) > 1 and any(o.have_moved() for o in self.optimizers):
            check_distinct(self.parameters)
        for o in self.optimizers:
            o.check_ready()

    def _decider(self, seed, gradients):
        """What decides on this step: a HostStep or a DeviceStep, which have the same methods."""
        memory = self._step_memory() if self._is_on_device else None
        if memory is None or not memory.takes(seed, gradients):
            return HostStep(self, seed, gradients)
        return import_module("minifp.training.step_cuda").DeviceStep(memory, gradients)

    def _step_memory(self):
        """What steps have in the GPU's memory; None where they are decided on the host."""
        if self._memory is None:
            self._memory = import_module("minifp.training.step_memory").StepMemory(self)
        return self._memory if self._memory.fits() else None

    def _forget(self):
        """Let go of the graphs of this step; their losses."""
        for backward in self.backwards:
            if not backward.retained:
                forget(backward.order)
        losses = [backward.loss for backward in self.backwards]
        self.backwards, self.largest = [], 0.0
        return losses

    def minimize(self, loss: Tensor) -> StepResult:
        """backward, step and zero_grad in one."""
        self.backward(loss)
        result = self.step()
        self.zero_grad()
        return result

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients; with set_to_none=False, fill those that there are with zeros."""
        for o in self.optimizers:
            o.zero_grad(set_to_none)
        self._forget()

    def memory(self) -> dict[str, int]:
        """Bytes held, by kind: weights, masters, optimizer_state, gradients."""
        held = [optimizer.memory() for optimizer in self.optimizers]
        return {kind: sum(of[kind] for of in held) for kind in held[0]}

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
        check_state(state_dict, self.optimizers, self.loss_scale)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state_dict; the weights become the rounded masters in it.

        That of training in another precision is converted: masters that it has not begin from the
        weights that are here, and a loss scale of another kind goes on as it is. Raises
        ArgumentError, with nothing changed, for one that does not fit.
        """
        self.check_state_dict(state_dict)
        if self._memory is not None:
            self._memory.settle()
        take_up_scale(self.loss_scale, state_dict["loss_scale"])
        for o, state in zip(self.optimizers, state_dict["optimizers"]):
            o.load_state_dict(state)
