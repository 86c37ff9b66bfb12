"""One step in all detail, as plain data: the reference run, the precision trace, the tape, the
memory ledger and what they mean for hardware.

Only one step of a run is looked at so, because that step is done again some tens of times. What it
holds is what a file can keep (see findings.py): texts, numbers, lists and dicts.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from minifp.errors import MinifpError
from minifp.numerics.formats import float32, float64
from minifp.scope.hardware import machines
from minifp.scope.hardware.bounds import SPEED_UPS, amdahl, bounds, share_of_products
from minifp.scope.hardware.tensor_shapes import shape_advice
from minifp.scope.memory.batch_sizes import BatchMemory, largest_batch
from minifp.scope.memory.ledger import MemoryLedger
from minifp.scope.memory.summary import KINDS, Memory
from minifp.scope.tracing.reference_run import ReferenceRun, reference_run
from minifp.scope.tracing.tape_graph import layout
from minifp.scope.tracing.trace import trace
from minifp.training.diagnosis import Recorded

MEASURED = 8  # operations whose effect on the weights' gradients is measured
GB = 10**9
PARTS = 5  # of a step


def of_step(recorded: Recorded, seed: float, progress: bool = True) -> dict[str, Any]:
    """Reference run, trace and tape of a step that is under way (see diagnosis.Recorded).

    progress: whether a bar is shown. Where the step cannot be looked at, as on a GPU, the reason is
    under "refused", and training goes on.
    """
    from minifp.runtime.bars import tqdm

    details: dict[str, Any] = {}
    how = {"desc": "one step in detail", "unit": "part", "leave": False, "disable": not progress}
    with tqdm(total=PARTS, **how) as bar:
        try:
            for name, part in parts_of(recorded, seed):
                details[name] = part
                bar.update()
        except MinifpError as error:
            details["refused"] = str(error)
    return details


def parts_of(recorded: Recorded, seed: float) -> Iterator[tuple[str, Any]]:
    """The parts by name, one after the other."""
    kernels = trace(recorded, seed)
    names = "precision", "flops", "bytes", "seconds"
    rows = [{**asdict(row), "intensity": row.intensity} for row in kernels.rows]
    yield "trace", {**{name: getattr(kernels, name) for name in names}, "rows": rows}
    yield "hardware", of_hardware(kernels.rows)
    yield "tape", asdict(layout(recorded))
    yield "batch", batch_of(recorded)
    yield "reference", reference_runs(recorded, seed, kernels.precision)


def reference_runs(recorded: Recorded, seed: float, precision: str) -> list[dict]:
    """The step beside float32 and beside float64; beside float64 alone where it is in float32."""
    references = [float32.name, float64.name]
    if precision in references:
        references = [float64.name]
    return [of_run(reference_run(recorded, seed, name, MEASURED)) for name in references]


def of_run(run: ReferenceRun) -> dict:
    """A reference run as plain data."""
    return {
        **{name: getattr(run, name) for name in ("reference", "loss", "loss_reference")},
        **{name: getattr(run, name) for name in ("gradients", "weights", "sources")},
        "rows": [asdict(row) for row in run.rows],
        "contributions": [
            {
                **{n: getattr(c, n) for n in ("operation", "module", "line", "number", "added")},
                **{"on gradients": c.effect.gradients, "on loss": c.effect.loss},
            }
            for c in run.contributions
        ],
    }


def of_hardware(rows: list) -> dict:
    """Dimensions, bounds on this machine and on GPUs, and Amdahl's law."""
    floors: dict[str, dict] = {}
    for machine in (machines.measured(), *machines.KNOWN.values()):
        limits = bounds(rows, machine)
        floor = {"source": machine.source, "ridge": machine.ridge()}
        floor |= {"rate": machine.half_rate, "bandwidth": machine.bandwidth}
        floor |= {"float16": limits.half_floor, "float32": limits.single_floor}
        floor |= {"shares": limits.shares(), "bound": [b.half for b in limits.rows]}
        floors[machine.name] = floor
    products = share_of_products(rows)
    advice = shape_advice(rows)
    return {
        "machines": floors,
        "shapes": [asdict(p) for p in advice.paddings],
        "products": products,
        "amdahl": {str(times): amdahl(products, times) for times in SPEED_UPS},
    }


def of_memory(ledger: MemoryLedger, batch: int | None) -> dict:
    """What a ledger has counted, beside float32, and the largest batches that fit."""
    own, single = ledger.finish(), ledger.float32
    memory: dict[str, Any] = {"kinds": list(KINDS), "here": plain(own)}
    if single is not None:
        memory["float32"] = plain(single)
    if single is not None and batch:
        both = BatchMemory.of(own, batch), BatchMemory.of(single, batch)
        sizes = sorted({m for machine in machines.KNOWN.values() for m in machine.memory})
        memory["batches"] = [largest_batch(*both, size) for size in (4 * GB, *sizes)]
    return memory


def plain(memory: Memory) -> dict:
    """A Memory as plain data."""
    return {**asdict(memory), "peak": memory.peak, "growth": memory.growth}


def batch_of(recorded: Recorded) -> int | None:
    """How many examples a step had: the first dimension of the targets, which the loss takes beside
    the model's output; None where it takes nothing else."""
    for node in recorded.order:
        for a in node.call[1] if getattr(node, "call", None) else ():
            if getattr(a, "ndim", 0):
                return int(a.shape[0])
    return None
