"""The section "steps": whole training steps, one by one and as a graph, beside PyTorch's.

Each begins from the same weights and gets the same batches, which lie on the device; the first
losses must agree. PyTorch has the faster of both layouts of pictures. Times are by the clock of the
host over many steps with one wait at the end. Peak memory is what all that is held takes at most in
the first steps, without what libraries hold.
"""

import gc
from contextlib import contextmanager
from dataclasses import replace

import minifp as fp
import minifp.nn.functional as F
from minifp import models, optim
from minifp.runtime.cuda.arrays import cupy

from . import workloads
from .gpu_optimizer import stepping
from .gpu_timing import LAYOUTS, contest, fastest, make_handle, ratio
from .workloads import Model

WEIGHT, LIMIT = 80, 90
MINE = {
    "minifp float32": ("float32", False),
    "minifp mixed": ("mixed", False),
    "minifp float32, captured": ("float32", True),
    "minifp mixed, captured": ("mixed", True),
}
OTHER = {"PyTorch float32": "float32", "PyTorch AMP": "amp"}
AMP, CAPTURED, CAPTURED32 = "PyTorch AMP", "minifp mixed, captured", "minifp float32, captured"
TOLERANCE = 0.05  # of first losses
WARM = 5  # steps before any is timed: the graph is captured at the fourth

LARGE = Model(
    *("lstm1500", "LSTM, 2 layers of 1,500, vocabulary 10,000, T 35, B 64", "CharLSTM"),
    *((10_000, 1500, 1500, 2), (64, 35), ("SGD", {"lr": 0.01, "momentum": 0.9}), 10_000),
    {"arguments": (5, 6, 6, 2), **workloads.TINY_TEXT},
)


def _resnet(batch):
    found = workloads.find("model", "resnet20")
    title = f"ResNet-20, 32x32, batch {batch}"
    return replace(found, name=f"resnet20-{batch}", title=title, shape=(batch, *found.shape[1:]))


RESNET50 = replace(
    workloads.find("model", "resnet50-224"),
    title="ResNet-50, 224x224, batch 64",
    shape=(64, 3, 224, 224),
)

# The ones that bars are about first.
WORKLOADS = {
    w.name: w
    for w in (
        workloads.find("model", "lenet"),
        workloads.find("model", "lstm"),
        _resnet(128),
        LARGE,
        workloads.find("model", "vgg"),
        _resnet(512),
        RESNET50,
        workloads.find("model", "lstm650"),
        workloads.find("model", "gru"),
        workloads.find("model", "mlp"),
    )
}


def units(settings):
    """Workloads."""
    if settings.tiny:
        return ["mlp", "lstm"]
    return list(WORKLOADS)[:5] if settings.quick else list(WORKLOADS)


def workload(unit, settings):
    """The Model of a unit."""
    found = WORKLOADS[unit]
    return replace(found, **found.tiny) if settings.tiny else found


def measure(unit, machine):
    """One row."""
    model = workload(unit, machine.settings)
    mine = {n: lambda how=how: ours(machine, model, *how) for n, how in MINE.items()}
    other = {n: lambda how=how: theirs(machine, model, how) for n, how in OTHER.items()}
    sides = contest(machine.sides(mine, other), machine.settings.repeat)
    forget(machine)
    return [row(unit, model, sides)]


def forget(machine):
    """Give memory back, also what models hold that know themselves."""
    workloads.initial_once.cache_clear()
    gc.collect()
    machine.tidy()


def row(unit, model, sides):
    """What is kept of a contest."""
    losses = {n: s["first_loss"] for n, s in sides.items() if "first_loss" in s}
    notes = []
    if losses:
        name, base = next(iter(losses.items()))
        notes = [
            f"the first loss of {n} is {loss:.4f}, that of {name} {base:.4f}"
            for n, loss in losses.items()
            if not abs(loss - base) <= TOLERANCE * abs(base)
        ]
    against = {n: ratio(sides, n, AMP) for n in sides if n != AMP}
    found = {"workload": unit, "title": model.title, "sides": sides, "notes": notes}
    return {**found, "over_amp": {n: r for n, r in against.items() if r is not None}}


# ---- minifp -------------------------------------------------------------------------------------


class Peak:
    """A pool of memory that knows how much of it was in use at most."""

    def __init__(self):
        self.pool, self.most = cupy().cuda.MemoryPool(), 0

    def malloc(self, size):
        """What arrays come from."""
        found = self.pool.malloc(size)
        self.most = max(self.most, self.pool.used_bytes())
        return found


@contextmanager
def counted(peak):
    """Let all arrays come from a Peak."""
    with cupy().cuda.using_allocator(peak.malloc):
        yield


class Training:
    """Steps of a model in minifp."""

    def __init__(self, model, precision):
        self.precision = precision
        with fp.precision(precision):
            self.model = getattr(models, model.architecture)(*model.arguments, **model.keywords).to(
                "cuda"
            )
            values = self.model.named_parameters()
            state = {n: workloads.initial_once(n, p.shape) for n, p in values}
            self.model.load_state_dict(state, strict=False)
            name, settings = model.optimizer
            plain = getattr(optim, name)(self.model.parameters(), **settings)
            self.optimizer = fp.MixedOptimizer(plain)
            self.batches = [
                (fp.tensor(x, device="cuda"), fp.tensor(t, device="cuda"))
                for x, t in model.batches()
            ]
        self.count = 0

    def step(self, x, t):
        """forward, backward, update; the loss."""
        loss = F.cross_entropy(self.model(x), t)
        self.optimizer.minimize(loss)
        return loss

    def next_batch(self):
        """The batches in turn."""
        self.count += 1
        return self.batches[(self.count - 1) % len(self.batches)]


def ours(machine, model, precision, is_captured):
    """A Contestant."""
    peak, about = Peak(), {}
    with counted(peak), fp.precision(precision):
        training = Training(model, precision)
        step = training.step
        if is_captured:
            step = fp.capture(step, device="cuda")
            make_handle(step.stream)
        about["first_loss"] = step(*training.next_batch()).item()
        for _ in range(WARM - 1):
            step(*training.next_batch())
        machine.ours.synchronize()
    pools = [run.pool for run in getattr(step, "runs", {}).values()]
    about["peak"] = peak.most + sum(pool.total_bytes() for pool in pools)
    if is_captured:
        about["graphs"] = step.graphs
    peak.pool.free_all_blocks()

    def once():
        with fp.precision(precision):
            step(*training.next_batch())

    contestant = stepping(machine, once, machine.ours.synchronize, **about)
    contestant.held = peak, training, step
    return contestant


# ---- PyTorch ------------------------------------------------------------------------------------


def theirs(machine, model, how):
    """A Contestant. how: "float32", "amp", or "compiled", which chooses layouts itself."""
    layouts = LAYOUTS if model.pictures and how != "compiled" else LAYOUTS[:1]
    return fastest({n: lambda n=n: _theirs_laid(machine, model, how, n) for n in layouts})


def _theirs_laid(machine, model, how, layout):
    from .gpu_theirs import Training

    machine.theirs.tidy()
    before = machine.theirs.forget_peak()
    training = Training(model, how, machine.theirs.device, layout)
    about = {"first_loss": training.step().item()}
    for _ in range(WARM - 1):
        training.step()
    machine.theirs.synchronize()
    about["peak"] = machine.theirs.peak() - before
    contestant = stepping(machine, training.step, machine.theirs.synchronize, **about)
    contestant.held = training
    return contestant
