"""What decides a step's time on a machine, and how much of it tensor cores could speed up.

The floor of a kernel's time is the longest of three: moving its bytes, doing its operations, being
started at all (see machines.py). On a machine with tensor cores products of float16 run at their
rate, all else at that of float32. Floors are for float16 and for float32: floating arrays are
counted with two or four bytes for each number, whatever the recorded step had.

Where machines start a kernel for each step of a recurrent layer, its latency is that of all steps
(libraries that keep the weights in registers need fewer kernels, and wait at each step all the
same).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minifp.scope.hardware.machines import Machine
from minifp.scope.hardware.tensor_shapes import RECURRENT, shape_of

MEMORY, ARITHMETIC, LATENCY, NOTHING = "memory", "arithmetic", "latency", "nothing"
MOST_ROWS = 15  # that are told in the text
SPEED_UPS = (2, 4, 8, math.inf)


@dataclass(frozen=True)
class Bound:
    """One row of a trace on a machine.

    half, single: what decides ("memory", "arithmetic", "latency", "nothing" for a view), and
    half_floor, single_floor: the seconds that it takes at least, in float16 and in float32.
    """

    row: Any
    half: str
    half_floor: float
    single: str
    single_floor: float

    @property
    def layer(self) -> str:
        """The row's module, without the model's name, and its operation."""
        return " ".join(filter(None, (self.row.module.partition(".")[2], self.row.operation)))

    def __str__(self) -> str:
        row = self.row
        return (
            f"{row.number:4} {row.phase:8.8} {self.layer:27.27} {row.intensity:8.1f}  "
            f"{self.half:10} {1e6 * self.half_floor:8.2f} {1e6 * self.single_floor:9.2f} "
            f"{1e6 * row.seconds:9.1f}"
        )


@dataclass(frozen=True)
class Bounds:
    """All rows of a trace on one machine."""

    machine: Machine
    rows: list[Bound] = field(repr=False)

    @property
    def half_floor(self) -> float:
        """Seconds that the step's kernels take at least in float16."""
        return sum(b.half_floor for b in self.rows)

    @property
    def single_floor(self) -> float:
        """In float32."""
        return sum(b.single_floor for b in self.rows)

    @property
    def seconds(self) -> float:
        """That they took where they were measured."""
        return sum(b.row.seconds for b in self.rows)

    def shares(self, half: bool = True) -> dict[str, float]:
        """What decides which share of the floor."""
        found = dict.fromkeys((MEMORY, ARITHMETIC, LATENCY), 0.0)
        for b in self.rows:
            by, floor = (b.half, b.half_floor) if half else (b.single, b.single_floor)
            if by != NOTHING:
                found[by] += floor
        total = sum(found.values()) or 1.0
        return {by: floor / total for by, floor in found.items()}

    def __str__(self) -> str:
        shares = ", ".join(f"{by} {100 * share:.0f}%" for by, share in self.shares().items())
        ordered = sorted(self.rows, key=lambda b: -b.half_floor)
        ratio = self.single_floor / self.half_floor if self.half_floor else 1.0
        head = f"{'':4} {'phase':8} {'operation':27} {'flop/B':>8}  {'bound by':10} "
        return "\n".join(
            [
                str(self.machine),
                f"The step's kernels take at least {1e6 * self.half_floor:.4g} us in float16, "
                f"{1e6 * self.single_floor:.4g} in float32 ({ratio:.2f} times);",
                f"{1e6 * self.seconds:.4g} us were measured here. Bound, in float16, by: {shares}.",
                head + f"{'float16':>8} {'float32':>9} {'here, us':>9}",
                *map(str, ordered[:MOST_ROWS]),
            ]
        )


def bounds(rows: Iterable[Any], machine: Machine) -> Bounds:
    """What decides the time of each row of a trace on a machine."""
    return Bounds(machine, [bound_of(row, machine) for row in rows])


def bound_of(row: Any, machine: Machine) -> Bound:
    """One row's Bound."""
    is_product = row.role == "dot"
    half = floor_of(row, 2, machine.half_rate if is_product else machine.single_rate, machine)
    return Bound(row, *half, *floor_of(row, 4, machine.single_rate, machine))


def floor_of(row: Any, size: int, rate: float, machine: Machine) -> tuple[str, float]:
    """What decides, and the seconds. size: bytes of a number."""
    moved = bytes_in(row, size)
    if not moved and not row.flops:
        return NOTHING, 0.0
    started = machine.launch * (steps_of(row) if machine.launches_steps else 1)
    times = {ARITHMETIC: row.flops / rate, MEMORY: moved / machine.bandwidth, LATENCY: started}
    by = max(times, key=times.__getitem__)
    return by, times[by]


def steps_of(row: Any) -> int:
    """How many steps of a row's kernel wait for each other: those of a recurrent layer."""
    if not row.kernel.startswith(tuple(f"{name}." for name in RECURRENT)):
        return 1
    return max((times for *_, times in row.products), default=1)


def bytes_in(row: Any, size: int) -> float:
    """The bytes that a row moves if its floating numbers have this many bytes."""
    told = [*row.inputs, *row.outputs]
    now = sum(size_of(text) for text in told)
    then = sum(size_of(text, size) for text in told)
    return (row.bytes_read + row.bytes_written) * then / now if now else 0.0


def size_of(text: str, size: int = 0) -> int:
    """Bytes of an array told as "float16 (64, 128)"; size: of a floating number, or as it is.

    An array without dimensions, a loss, stays as it is, as do integers.
    """
    name, _, _ = text.partition(" ")
    shape = shape_of(text)
    bits = "".join(c for c in name if c.isdigit()) or "8"  # a bool is a byte
    floating = name.startswith("float") and shape and size
    return math.prod(shape) * (size if floating else int(bits) // 8)


# ---- the most that tensor cores could do --------------------------------------------------------


@dataclass(frozen=True)
class Amdahl:
    """How much faster a step gets if its products do.

    share: of the step's time in kernels that multiply matrices. seconds: of the step.
    """

    share: float
    seconds: float

    def bound(self, times: float) -> float:
        """How many times faster the step is when products are this many times faster."""
        rest = 1 - self.share
        return 1 / (rest + self.share / times) if rest or math.isfinite(times) else math.inf

    def __str__(self) -> str:
        told = ", ".join(f"{self.bound(times):.3g}" for times in SPEED_UPS)
        return (
            f"{100 * self.share:.1f}% of the step's {1e3 * self.seconds:.3g} ms are products, "
            "which tensor cores could speed up:\n2, 4, 8 times or infinitely; the whole step "
            f"then by at most {told} times."
        )


def amdahl(rows: Iterable[Any], seconds: float | None = None) -> Amdahl:
    """How far products that are 2, 4 or 8 times faster carry (Amdahl 1967).

    seconds: that the whole step takes, with Python and the update; by default what its kernels do.
    """
    rows = list(rows)
    total = sum(row.seconds for row in rows) if seconds is None else seconds
    products = sum(row.seconds for row in rows if row.role == "dot")
    return Amdahl(min(products / total, 1.0) if total else 0.0, total)
