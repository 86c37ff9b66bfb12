"""The section "compiled": captured mixed steps beside torch.compile(mode="reduce-overhead").

The time to compile is not counted; where it takes longer than `LIMIT`, the process is ended and the
next one goes on with the next workload.
"""

from . import gpu_steps
from .gpu_steps import CAPTURED, MINE
from .gpu_timing import contest, ratio

WEIGHT, LIMIT = 50, 60
COMPILED = "PyTorch compiled"
ORDER = ("lstm", "lstm1500", "lstm650", "lenet", "resnet20-128", "gru", "vgg", "mlp")


def units(settings):
    """Workloads, those that bars are about first."""
    if settings.tiny:
        return ["mlp"]
    return list(ORDER[:3]) if settings.quick else list(ORDER)


def measure(unit, machine):
    """One row."""
    model = gpu_steps.workload(unit, machine.settings)
    mine = {CAPTURED: lambda: gpu_steps.ours(machine, model, *MINE[CAPTURED])}
    other = {COMPILED: lambda: gpu_steps.theirs(machine, model, "compiled")}
    sides = contest(machine.sides(mine, other), machine.settings.repeat)
    gpu_steps.forget(machine)
    found = gpu_steps.row(unit, model, sides)
    return [{**found, "over_compiled": ratio(sides, CAPTURED, COMPILED)}]
