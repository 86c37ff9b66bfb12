"""The largest batch that fits a memory, from a ledger at another batch size.

What is held while an operation runs is a line: weights, masters, state and weight gradients do not
depend on the batch, activations and their gradients are proportional to it. Which operation is the
peak may change with the batch, so each has its own line, and the batch must fit them all. The
scratch of threads is as large as the largest kernel of the process's life has needed, and counts as
it is.
"""

from dataclasses import dataclass

from minifp.checks import check_count
from minifp.errors import ArgumentError
from minifp.scope.memory.summary import WORKSPACE, Memory

FIXED = ("weights", "masters", "optimizer_state", "weight_gradients")


@dataclass(frozen=True)
class BatchMemory:
    """What a step holds for a batch of any size: (fixed bytes, bytes for each example) of each
    operation of its timeline. precision: of the step."""

    lines: tuple[tuple[float, float], ...]
    precision: str = ""

    @staticmethod
    def of(memory: Memory, batch: int) -> "BatchMemory":
        """From a ledger. batch: its size; workspace counts as proportional to it, but for the
        threads' scratch. Raises ArgumentError for no size."""
        check_count("batch", batch)
        scratch = memory.always.get(WORKSPACE, 0)
        lines = []
        for event in memory.timeline:
            fixed = sum(event.bytes[kind] for kind in FIXED) + scratch
            lines.append((fixed, (event.total - fixed) / batch))
        return BatchMemory(tuple(lines), memory.precision)

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


def largest_batch(mixed: BatchMemory, float32: BatchMemory, capacity: int) -> dict[str, int]:
    """The largest batches that fit `capacity` bytes, by precision, with the capacity.

    It counts what minifp holds; what a GPU's libraries and context take is to be left out of
    `capacity` (some hundred megabytes).
    """
    sizes = {"mixed": mixed.largest(capacity), "float32": float32.largest(capacity)}
    return {"capacity": capacity, **sizes}
