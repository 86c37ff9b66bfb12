"""The largest batch that fits a memory, from ledgers at other batch sizes.

What is held while an operation runs is a line: weights, masters, state and weight gradients do not
depend on the batch, activations and their gradients are proportional to it. Which operation is the
peak may change with the batch, so each has its own line, and the batch must fit them all. The
scratch of threads is as large as the largest kernel of the process's life has needed, and counts as
it is.
"""

import math
from dataclasses import dataclass

from minifp.checks import check_count
from minifp.errors import ArgumentError
from minifp.scope.memory.summary import WORKSPACE, Memory, in_bytes

FIXED = ("weights", "masters", "optimizer_state", "weight_gradients")


@dataclass(frozen=True)
class BatchMemory:
    """What a step holds for a batch of any size: (fixed bytes, bytes for each example) of each
    operation of its timeline. precision: of the step."""

    lines: tuple[tuple[float, float], ...]
    precision: str = ""

    @staticmethod
    def of(
        memory: Memory, batch: int, larger: Memory | None = None, larger_batch: int = 0
    ) -> "BatchMemory":
        """From one ledger, or better from two, which also tell how workspace grows.

        batch, larger_batch: the sizes at hand. From one, workspace counts as proportional, but for
        the threads' scratch. Raises ArgumentError for sizes or steps that do not belong together.
        """
        check_count("batch", batch)
        if larger is None:
            return BatchMemory(_from_one(memory, batch), memory.precision)
        if check_count("larger_batch", larger_batch) <= batch:
            raise ArgumentError(f"larger_batch={larger_batch}: expected more than batch={batch}")
        pairs = list(zip(memory.timeline, larger.timeline))
        same = len(memory.timeline) == len(larger.timeline)
        if not same or any(str(a) != str(b) for a, b in pairs):
            raise ArgumentError("BatchMemory: the two ledgers are of different steps")
        small, large = scratch_of(memory), scratch_of(larger)
        totals = [(a.total - small, b.total - large) for a, b in pairs]
        lines = _through(totals, batch, larger_batch, max(small, large))
        return BatchMemory(lines, memory.precision)

    def peak(self, batch: int) -> float:
        """Bytes that a step with such a batch holds at its peak."""
        return max(fixed + each * batch for fixed, each in self.lines)

    def largest(self, capacity: float) -> int:
        """The most examples of which a step fits so many bytes; 0 if not even one does."""
        if max(fixed for fixed, _ in self.lines) > capacity:
            return 0
        growing = [line for line in self.lines if line[1] > 0]
        if not growing:
            raise ArgumentError("BatchMemory: nothing in this step grows with the batch")
        return int(min((capacity - fixed) / each for fixed, each in growing))


def scratch_of(memory: Memory) -> int:
    """Bytes of the threads' scratch."""
    return memory.always.get(WORKSPACE, 0)


def _from_one(memory, batch):
    lines = []
    for event in memory.timeline:
        fixed = sum(event.bytes[kind] for kind in FIXED) + scratch_of(memory)
        lines.append((fixed, (event.total - fixed) / batch))
    return tuple(lines)


def _through(totals, batch, larger, scratch):
    each = [(b - a) / (larger - batch) for a, b in totals]
    return tuple((a - slope * batch + scratch, slope) for (a, _), slope in zip(totals, each))


@dataclass(frozen=True)
class LargestBatch:
    """The largest batches that fit a memory of `capacity` bytes, and what they then hold."""

    capacity: int
    mixed: int
    float32: int
    mixed_bytes: float
    float32_bytes: float

    @property
    def ratio(self) -> float:
        """How many times more fit in mixed precision."""
        return self.mixed / self.float32 if self.float32 else math.inf

    def __str__(self) -> str:
        more = f", {self.ratio:.2f} times as many" if self.float32 else ""
        return (
            f"In {in_bytes(self.capacity)} fit at most {self.mixed:,} examples in mixed precision "
            f"and {self.float32:,} in float32{more}."
        )


def largest_batch(mixed: BatchMemory, float32: BatchMemory, capacity: int) -> LargestBatch:
    """The largest batch that fits `capacity` bytes, in mixed precision against float32.

    It counts what minifp holds; what a GPU's libraries and context take is to be left out of
    `capacity` (some hundred megabytes).
    """
    sizes = mixed.largest(capacity), float32.largest(capacity)
    return LargestBatch(capacity, *sizes, *(m.peak(n) for m, n in zip((mixed, float32), sizes)))
