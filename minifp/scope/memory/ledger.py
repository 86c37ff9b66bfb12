"""The memory ledger: bytes by kind over one training step, from what is really held.

    with MemoryLedger(model, optimizer) as ledger:
        ...one step...
    ledger.memory.now  # bytes by kind at the peak

    weights, masters, optimizer_state   all the time: parameters and buffers, and what the optimizer
                                        keeps
    activations                         what operations return and keep for backward, the batch,
                                        index arrays and masks included
    activation_gradients                from when a kernel has made them until they are freed
    weight_gradients                    from when they have arrived at a parameter on
    workspace                           what an operation holds inside while it runs, and what the
                                        threads of compiled kernels keep for themselves

An array counts from when the tape or a kernel shows it until its memory is freed, which a weak
reference tells; arrays that share memory count once. Workspace is measured when the step is over,
by doing it again under tracemalloc (see rerun.py): the step is not slowed by it, and it covers all
that NumPy allocates. Not covered are the workspace of the update, anything inside operations on a
GPU, what BLAS allocates for itself, and Python's own objects.
"""

from contextlib import suppress
from typing import Any

from minifp.autograd import tape
from minifp.autograd.tape import Tensor
from minifp.errors import MinifpError
from minifp.lab.memory import WEIGHT_GRADIENTS
from minifp.numerics import kernels
from minifp.numerics.formats import float32, is_float, upcast
from minifp.numerics.policy import Precision
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import is_array
from minifp.scope.checks import check_training
from minifp.scope.memory.account import UPDATE, Account
from minifp.scope.memory.rerun import Inside, Unseen, can_be_done, do_again, tracing, workspaces
from minifp.scope.memory.summary import ALWAYS_HELD, KINDS, MASTERS, STATE, WORKSPACE, Held, Memory
from minifp.scope.memory.threads import ask_threads
from minifp.training import mixed
from minifp.training.diagnosis import Recorded
from minifp.training.mixed import MixedOptimizer


class MemoryLedger:
    """Watches a MixedOptimizer's next step; afterwards `memory` is its Memory.

    model: a Module. optimizer: its MixedOptimizer. replay: whether workspace is measured.
    float32: whether the step is also done in float32 afterwards, whose Memory is `float32` then;
        None where an operation refuses it.
    Raises ArgumentError for others.
    """

    def __init__(
        self, model: Any, optimizer: MixedOptimizer, replay: bool = True, float32: bool = False
    ) -> None:
        check_training("MemoryLedger", model, optimizer)
        self.model, self.optimizer, self.account = model, optimizer, Account([])
        self.replay, self.wants_float32 = replay, float32
        self.memory: Memory | None = None
        self.float32: Memory | None = None
        self.always: list[Held] = []

    def __enter__(self) -> "MemoryLedger":
        self.begin()
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()

    def begin(self) -> None:
        """Watch from now on: before the step's forward."""
        self.account = Account(named_weights(self.model), root_of(self.model))
        self.memory, self.always = None, []
        mixed.observers.append(self)
        tape.observers.append(self.account)
        if not is_on_device(self.optimizer.parameters[0].array):  # there it would change the update
            kernels.observers.append(self.account)

    def on_update(self, optimizer: Any, gradients: list, factor: float) -> None:
        """Weights are about to change, in place: by kernels of which some are for nobody to see."""
        if optimizer is self.optimizer and self.account in tape.observers:
            self._before_update()

    def on_step(self, optimizer: Any, result: Any) -> None:
        """The step is over, and can still be done again."""
        if optimizer is not self.optimizer or self.account not in tape.observers:
            return
        self._before_update()
        self._look_away()
        complete = [b for b in optimizer.backwards if can_be_done(b)]
        self.always = held_always(self.model, optimizer)
        if is_on_device(optimizer.parameters[0].array):
            return
        if self.replay:
            self.account.add_workspaces(workspaces(complete))
        if self.wants_float32 and complete:
            with suppress(MinifpError):  # of an operation that float32 is nothing for
                self.float32 = beside_float32(complete, self.model, optimizer)

    def finish(self) -> Memory:
        """Watch no more; what was found. Without a step of the optimizer no workspace is known."""
        self._look_away()
        if self in mixed.observers:
            mixed.observers.remove(self)
        if self.memory is None:
            always = self.always or held_always(self.model, self.optimizer)
            self.memory = summary(self.account, always, str(self.optimizer.precision))
        return self.memory

    def _before_update(self):
        account = self.account
        if account.phase == UPDATE:
            return
        if account in kernels.observers:
            kernels.observers.remove(account)
        for p in self.optimizer.parameters:
            if p.grad is not None:  # unscaling or clipping may have made others
                account.hold(p, WEIGHT_GRADIENTS, [p.grad.array])
        account.phase = UPDATE
        account.happened(None, "step")

    def _look_away(self):
        for observers in (tape.observers, kernels.observers):
            if self.account in observers:
                observers.remove(self.account)


# ---- sums ---------------------------------------------------------------------------------------


def named_weights(model: Any) -> list[tuple[str, Tensor]]:
    """(name, tensor) of the parameters and buffers of a model."""
    parameters = list(model.named_parameters())
    return parameters + [(f"buffer {i}", b) for i, b in enumerate(model.buffers())]


def root_of(model: Any) -> str:
    """What the paths of a model's layers begin with."""
    return type(model).__name__


def held_always(model: Any, optimizer: MixedOptimizer, in_float32: bool = False) -> list[Held]:
    """What is held before, during and after a step, by parameter, and the threads' scratch.

    in_float32: what a model in float32 would hold: wider weights, no masters, the same state.
    """
    holders = []
    for name, t in named_weights(model):
        size = max(t.dtype.itemsize, float32.itemsize if is_float(t.dtype) and in_float32 else 0)
        holders.append(Held("weights", name, t.array.size * size))
    names = {id(t): name for name, t in named_weights(model)}
    for block in (b for o in optimizer.optimizers for b in o.blocks):
        rest = None if in_float32 else block.weights.compensation
        for i, p in enumerate(block.parameters):
            name, size = names.get(id(p), "a parameter"), p.array.size
            state = sum(state.bytes_of(i) for state in block.state.values())
            holders.append(Held(STATE, name, state + size * (rest is not None and rest.itemsize)))
            if block.weights.is_master and not in_float32:
                holders.append(Held(MASTERS, name, size * block.weights.flat.dtype.itemsize))
    holders.append(Held(WORKSPACE, "scratch of threads", ask_threads()))
    return [holder for holder in holders if holder.bytes]


def summary(account: Account, always: list[Held], precision: str) -> Memory:
    """The Memory of a step that an account has seen."""
    constant = dict.fromkeys(KINDS, 0)
    for holder in always:
        constant[holder.kind] += holder.bytes
    for event in account.events:
        event.bytes = {kind: event.bytes[kind] + constant[kind] for kind in KINDS}
    base = {kind: constant[kind] for kind in (*ALWAYS_HELD, WORKSPACE)}
    if not account.events:
        return Memory(constant, base, [], by_size(always), precision=precision)
    top = max(range(len(account.events)), key=lambda i: account.events[i].total)
    event = account.events[top]
    holders = [Held(kind, name, nbytes) for (kind, name), nbytes in account.at(top).items()]
    workspace = sum(h.bytes for h in (*holders, *always) if h.kind == WORKSPACE)
    if event.bytes[WORKSPACE] > workspace:
        holders.append(Held(WORKSPACE, f"inside {event}", event.bytes[WORKSPACE] - workspace))
    everything = [*holders, *always]
    return Memory(event.bytes, base, account.events, by_size(everything), str(event), precision)


def by_size(holders: list[Held]) -> list[Held]:
    """The largest first."""
    return sorted(holders, key=lambda holder: -holder.bytes)


def beside_float32(backwards: list[Recorded], model: Any, optimizer: MixedOptimizer) -> Memory:
    """The Memory of the same step in float32: it is done again, on widened weights and batch.

    backwards: `optimizer.backwards`, while the step is under way. What it needs of the recorded
    step are shapes; the numbers are the same, unrounded. Raises TapeError where they are forgotten.
    """

    def wide(a):
        return upcast(a, float32) if is_array(a) and is_float(a.dtype) else a

    def all_again(observer):
        leaves: dict = {}  # one for all backwards, whose gradients meet there
        for recorded in backwards:
            do_again(recorded, observer, leaves, Precision(), wide)

    all_again(Unseen())  # in which kernels for other formats than those recorded are loaded
    with tracing():
        account = Account(named_weights(model), root_of(model))
        account.trained = []  # but copies, of which `began` tells
        account.inside = Inside()
        all_again(account)
    return summary(account, held_always(model, optimizer, in_float32=True), str(Precision()))
