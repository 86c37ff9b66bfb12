"""The precision trace: every kernel of a step in order, in what it works, why, and what it costs.

The step is done again, several times (see visits.py): once to look at each kernel's arguments, from
which is counted (see cost.py), and then for the times alone, of which the median is told. What the
step did outside of operations that depend on a weight (loading a batch, the update) is not in it.
"""

from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from minifp.autograd.replay import unobserved
from minifp.autograd.tape import Node
from minifp.checks import check_count
from minifp.scope.tracing.repeating import check_recorded
from minifp.scope.tracing.trace_rows import TraceRow, rows_of
from minifp.scope.tracing.visits import Visit, visits
from minifp.training.diagnosis import Recorded

REPEATS = 5  # after the first time, in which caches and compiled kernels are loaded


@dataclass(frozen=True)
class Trace:
    """The rows of one step, and the precision under which its loss was computed."""

    rows: list[TraceRow]
    precision: str

    @property
    def flops(self) -> int:
        """Floating-point operations in the step."""
        return sum(row.flops for row in self.rows)

    @property
    def bytes(self) -> int:
        """Read and written by all kernels of the step."""
        return sum(row.bytes_read + row.bytes_written for row in self.rows)

    @property
    def seconds(self) -> float:
        """Seconds spent in kernels."""
        return sum(row.seconds for row in self.rows)


def trace(recorded: Recorded, seed: float, repeats: int = REPEATS) -> Trace:
    """Do a step again and return what its kernels do.

    recorded, seed: as for `reference_run`: between optimizer.backward(loss) and the end of
    optimizer.step(). repeats: how often it is timed. Nothing is changed by it. Raises TapeError for
    a step that is forgotten, DeviceError for one on a GPU, where a call does not last as long as
    its kernel.
    """
    check_recorded("trace", recorded)
    check_count("repeats", repeats)
    with unobserved(), np.errstate(all="ignore"):
        first_run = list(visits(recorded, seed))
        runs = [[seconds_of(visit) for visit in visits(recorded, seed)] for _ in range(repeats)]
    times = [[median(part) for part in zip(*several)] for several in zip(*runs)]
    readers = {parent: v.op for v in recorded.order for parent, _ in v.parents}
    rows = [row for visit, ts in zip(first_run, times) for row in rows_of(visit, ts, readers)]
    last = next(v for v in recorded.order if isinstance(v, Node))
    numbered = [replace(row, number=i) for i, row in enumerate(rows, 1)]
    return Trace(numbered, str(last.precision))


def seconds_of(visit: Visit) -> list[float]:
    """What each row of a visit took."""
    return [call.seconds for call in visit.calls] or [visit.seconds]
