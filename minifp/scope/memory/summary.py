"""What the memory ledger found: bytes by kind over a step, and who held them at the peak."""

from dataclasses import dataclass, field
from typing import NamedTuple

from minifp.lab.memory import ACTIVATION_GRADIENTS, ACTIVATIONS, WEIGHT_GRADIENTS

MASTERS, STATE, WORKSPACE = "masters", "optimizer_state", "workspace"
ALWAYS_HELD = ("weights", MASTERS, STATE)
KINDS = (*ALWAYS_HELD, ACTIVATIONS, ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS, WORKSPACE)

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
