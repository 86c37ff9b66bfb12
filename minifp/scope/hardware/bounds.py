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
SPEED_UPS = (2, 4, 8)


@dataclass(frozen=True)
class Bound:
    """One row of a trace on a machine.

    half: what decides in float16 ("memory", "arithmetic", "latency", "nothing" for a view).
    half_floor, single_floor: the seconds that it takes at least, in float16 and in float32.
    """

    row: Any
    half: str
    half_floor: float
    single_floor: float


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

    def shares(self) -> dict[str, float]:
        """What decides which share of the floor in float16."""
        seconds = dict.fromkeys((MEMORY, ARITHMETIC, LATENCY), 0.0)
        for b in self.rows:
            if b.half != NOTHING:
                seconds[b.half] += b.half_floor
        total = sum(seconds.values()) or 1.0
        return {by: floor / total for by, floor in seconds.items()}


def bounds(rows: Iterable[Any], machine: Machine) -> Bounds:
    """What decides the time of each row of a trace on a machine."""
    return Bounds(machine, [bound_of(row, machine) for row in rows])


def bound_of(row: Any, machine: Machine) -> Bound:
    """One row's Bound."""
    is_product = row.role == "dot"
    half = floor_of(row, 2, machine.half_rate if is_product else machine.single_rate, machine)
    _, single_floor = floor_of(row, 4, machine.single_rate, machine)
    return Bound(row, *half, single_floor)


def floor_of(row: Any, size: int, rate: float, machine: Machine) -> tuple[str, float]:
    """What decides, and the seconds. size: bytes of a number."""
    traffic = bytes_in(row, size)
    if not traffic and not row.flops:
        return NOTHING, 0.0
    started = machine.launch * (steps_of(row) if machine.launches_steps else 1)
    times = {ARITHMETIC: row.flops / rate, MEMORY: traffic / machine.bandwidth, LATENCY: started}
    by = max(times, key=times.__getitem__)
    return by, times[by]


def steps_of(row: Any) -> int:
    """How many steps of a row's kernel wait for each other: those of a recurrent layer."""
    if not row.kernel.startswith(tuple(f"{name}." for name in RECURRENT)):
        return 1
    return max((times for *_, times in row.products), default=1)


def bytes_in(row: Any, size: int) -> float:
    """The bytes that a row moves if its floating numbers have this many bytes."""
    arrays = [*row.inputs, *row.outputs]
    now = sum(size_of(text) for text in arrays)
    then = sum(size_of(text, size) for text in arrays)
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


def share_of_products(rows: Iterable[Any]) -> float:
    """Of the time in kernels, that of those that multiply matrices."""
    seconds = [(row.seconds, row.role == "dot") for row in rows]
    total = sum(each for each, _ in seconds)
    return sum(each for each, is_product in seconds if is_product) / total if total else 0.0


def amdahl(share: float, times: float) -> float:
    """How many times faster a step is when a share of its time gets so many times faster (Amdahl
    1967)."""
    return 1 / (1 - share + share / times)
