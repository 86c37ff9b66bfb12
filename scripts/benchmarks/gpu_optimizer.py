"""The section "optimizer": a whole step of Adam, with check and unscaling, beside PyTorch's."""

import gc
from time import perf_counter

import minifp as fp
from minifp import optim
from minifp.runtime.cuda.arrays import zeros

from .gpu_timing import Contestant, contest, fitting, make_handle, ratio

WEIGHT, LIMIT = 12, 60
SIZES, QUICK = (10**6, 25 * 10**6, 10**8), (10**6, 25 * 10**6)
TENSORS = 64  # that the parameters are in, all of one size
EAGER, CAPTURED, THEIRS = "minifp", "minifp, captured", "PyTorch fused, GradScaler"


def units(settings):
    """Numbers of parameters."""
    return [str(n) for n in ((640,) if settings.tiny else QUICK if settings.quick else SIZES)]


def measure(unit, machine):
    """One row."""
    each = int(unit) // TENSORS
    mine = {
        EAGER: lambda: _mine(machine, each, False),
        CAPTURED: lambda: _mine(machine, each, True),
    }
    sides = contest(
        machine.sides(mine, {THEIRS: lambda: _theirs(machine, each)}), machine.settings.repeat
    )
    gc.collect()  # what was captured knows itself
    machine.tidy()
    found = {"parameters": int(unit), "sides": sides}
    for name in (EAGER, CAPTURED):
        found[f"{name} / PyTorch"] = ratio(sides, name, THEIRS)
    return [found]


def _mine(machine, each, is_captured):
    with fp.precision("mixed"):
        values = [machine.ours.values((each,), "float32", -1, 1) for _ in range(TENSORS)]
        parameters = [fp.nn.Parameter(v) for v in values]
        optimizer = fp.MixedOptimizer(optim.Adam(parameters, lr=1e-4))
    gradients = [machine.ours.values((each,), "float16", -1, 1) for _ in range(TENSORS)]
    memory = optimizer._step_memory()
    if memory is None:
        raise RuntimeError("this step is not decided on the GPU")
    memory.prepare()

    def step(_):
        for p, gradient in zip(parameters, gradients):
            p.grad = fp.Tensor(gradient)
            p.grad.seed = memory.seed
        optimizer.step()

    if is_captured:
        step = fp.capture(step, device="cuda")
        make_handle(step.stream)
    argument = fp.Tensor(zeros((1,), "float32"))
    return stepping(machine, lambda: step(argument), machine.ours.synchronize)


def _theirs(machine, each):
    theirs, torch = machine.theirs, machine.theirs.torch
    parameters = [
        torch.nn.Parameter(theirs.values((each,), low=-1, high=1)) for _ in range(TENSORS)
    ]
    for p in parameters:
        p.grad = torch.randn_like(p)
    optimizer = torch.optim.Adam(parameters, lr=1e-4, fused=True)
    scaler = torch.amp.GradScaler(theirs.device, init_scale=1024.0)
    scaler.scale(torch.ones(1, device=theirs.device))  # makes the scale

    def step():
        scaler.step(optimizer)
        scaler.update()

    return stepping(machine, step, theirs.synchronize)


def stepping(machine, step, synchronize, warm=5, **about):
    """A Contestant of steps: many of them, by the clock of the host, with one wait at the end."""

    def timed(times):
        synchronize()
        start = perf_counter()
        for _ in range(times):
            step()
        synchronize()
        return (perf_counter() - start) / times

    timed(warm)
    times = fitting(timed(2), machine.settings.seconds, 500)
    return Contestant(lambda: timed(times), {"launches": times, **about})
