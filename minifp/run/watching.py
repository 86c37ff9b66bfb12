"""The microscope on a script: from its first optimizer on, and the model that this trains."""

import gc
from typing import Any

from minifp.autograd import loss_seed
from minifp.nn import Module, ParameterList
from minifp.numerics.policy import get_precision
from minifp.optim.optimizer import Optimizer
from minifp.scope.microscope import Microscope
from minifp.training.loss_scale import NoLossScale
from minifp.training.mixed import MixedOptimizer
from minifp.training.step_result import StepResult


class Plain(MixedOptimizer):
    """A plain optimizer, as a microscope looks at one that joins masters and a loss scale: its
    gradients come without a scale, or divided by that of the process."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizers, self._awaiting = [optimizer], None
        self.precision = get_precision()
        self.loss_scale = NoLossScale()
        if loss_seed.automatic:
            self.loss_scale = loss_seed.automatic[-1].loss_scale
        self.master_weights = optimizer.has_masters
        self.dial, self.backwards, self.last_seed, self._memory = 0, [], 1.0, None
        self._is_on_device = False


class Watching:
    """every: of the steps, which are looked at. scope: the Microscope, once there is an optimizer.
    others: optimizers that it does not see."""

    def __init__(self, every: int = 20) -> None:
        self.every = every
        self.scope: Microscope | None = None
        self.others: list[Optimizer] = []
        self.face: Any = None

    def begin(self) -> None:
        """Wait for the first optimizer, and look at its steps."""
        made, step = Optimizer.__init__, Optimizer.step
        watching = self

        def init(self: Optimizer, *args: Any, **settings: Any) -> None:
            made(self, *args, **settings)
            watching.meet(self)

        def stepped(self: Optimizer, *args: Any, **settings: Any) -> Any:
            if watching.face is None or self is not watching.face.optimizers[0]:
                return step(self, *args, **settings)
            return watching.watched(step, *args, **settings)

        setattr(Optimizer, "__init__", init)  # noqa: B010
        setattr(Optimizer, "step", stepped)  # noqa: B010

    def meet(self, optimizer: Optimizer) -> None:
        """Look at the first optimizer that has parameters; take note of others."""
        if self.scope is not None or not optimizer.parameters:
            self.others.append(optimizer)
            return
        self.face = Plain(optimizer)
        self.scope = Microscope(model_of(optimizer), self.face, every=self.every, progress=False)
        self.scope.__enter__()

    def watched(self, step: Any, *args: Any, **settings: Any) -> Any:
        """A step of the optimizer that is looked at."""
        optimizer, scope = self.face.optimizers[0], self.scope
        assert scope is not None
        if optimizer.guard is not None:
            optimizer.guard.prepare(optimizer)
        if not settings and not args:  # a closure makes the gradients in the step itself
            scope.on_update(self.face, [optimizer.gradients()], 1.0)
        result = step(optimizer, *args, **settings)
        told = optimizer.last_result
        if told is None:
            told = StepResult(True, None, 1.0, 1.0, float("nan"), (), (True,))
        scope.on_step(self.face, told)
        return result

    def finish(self, folder: str) -> str:
        """Write what was seen into a folder; what to say of it."""
        if self.scope is None:
            return "minifp.run: the microscope saw no optimizer: nothing is written"
        self.scope.__exit__()
        page = self.scope.write(folder, progress=False)
        of = f"the first of {1 + len(self.others)} optimizers: " if self.others else ""
        return f"minifp.run: {of}{page}"


def model_of(optimizer: Optimizer) -> Module:
    """The smallest module that has all parameters of an optimizer, or a list of these."""
    wanted = {id(p) for p in optimizer.parameters}
    modules = [m for m in gc.get_objects() if isinstance(m, Module)]
    sizes = {m: {id(p) for p in m.parameters()} for m in modules}
    having = [m for m in modules if wanted <= sizes[m]]
    if not having:
        return ParameterList(optimizer.parameters)
    least = min(len(sizes[m]) for m in having)
    alike = [m for m in having if len(sizes[m]) == least]
    inner = {id(c) for m in alike for c in m.children()}
    return next((m for m in alike if id(m) not in inner), alike[0])
