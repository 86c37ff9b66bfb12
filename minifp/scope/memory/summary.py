"""What the memory ledger found: bytes by kind over a step, and who held them at the peak."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from minifp.lab.memory import ACTIVATION_GRADIENTS, ACTIVATIONS, WEIGHT_GRADIENTS
from minifp.numerics.precision_grammar import read

MASTERS, STATE, WORKSPACE = "masters", "optimizer_state", "workspace"
ALWAYS_HELD = ("weights", MASTERS, STATE)
KINDS = (*ALWAYS_HELD, ACTIVATIONS, ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS, WORKSPACE)
MOST_HOLDERS = 12  # that are told in the text

Bytes = dict[str, int]


class Held(NamedTuple):
    """Who holds bytes: of which kind, and the name of a layer and operation, or of a parameter."""

    kind: str
    name: str
    bytes: int


@dataclass
class Event:
    """One thing that happened in a step, and what was held then.

    phase: "forward", "backward" or "update". operation, module: which, and of which layer. bytes:
    held when it ended, by kind; of workspace the most there was meanwhile.
    """

    phase: str
    operation: str
    module: str
    bytes: Bytes

    @property
    def total(self) -> int:
        """The most that was held while it ran."""
        return sum(self.bytes.values())

    def __str__(self) -> str:
        return " ".join(filter(None, (self.phase, "of", self.module, self.operation)))


@dataclass
class Memory:
    """The bytes of one step.

    now: at the peak, by kind (of KINDS). always: what is held before, during and after the step.
    timeline: an Event for each operation, forward and backward, and for the update. holders: who
    held what at the peak, the largest first. at: the event of the peak. precision: of the step.
    """

    now: Bytes
    always: Bytes
    timeline: list[Event] = field(repr=False)
    holders: list[Held] = field(repr=False)
    at: str = ""
    precision: str = ""

    @property
    def peak(self) -> int:
        """The most that was held at once."""
        return sum(self.now.values())

    @property
    def growth(self) -> int:
        """By how much a step's peak is above what is held all the time."""
        return self.peak - sum(self.always.values())

    def __str__(self) -> str:
        return beside([self])


def in_bytes(count: int) -> str:
    """Bytes with a unit, such as "1.23 MB" (of 10^6)."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= 0.9995 * size:
            return (
                f"{count / size:.3g} {unit}"
                if count < 999.5 * size
                else f"{count / size:,.0f} {unit}"
            )
    return f"{count} B"


def beside(memories: Iterable[Memory]) -> str:
    """The same step's memory in several precisions, side by side, and the holders of the first."""
    memories = list(memories)
    first = memories[0]
    heads = [read(m.precision).name or "bytes" for m in memories]
    lines = [f"{'at the peak':22}" + "".join(f"{head:>14}" for head in heads)]
    rows = [(kind.replace("_", " "), [m.now.get(kind, 0) for m in memories]) for kind in KINDS]
    rows += [(name, [getattr(m, name) for m in memories]) for name in ("peak", "growth")]
    lines += [f"{name:22}" + "".join(f"{in_bytes(n):>14}" for n in row) for name, row in rows]
    lines += ["", f"The peak is in {first.at}. It is held by"]
    for held in first.holders[:MOST_HOLDERS]:
        name = held.name if len(held.name) <= 60 else f"{held.name[:57]}..."
        lines.append(f"  {in_bytes(held.bytes):>9}  {held.kind.replace('_', ' '):21} {name}")
    rest = first.holders[MOST_HOLDERS:]
    if rest:
        lines.append(f"  {in_bytes(sum(h.bytes for h in rest)):>9}  {len(rest)} more")
    return "\n".join(lines)
