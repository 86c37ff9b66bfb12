"""Why a step was skipped: the first operation that made Inf or NaN, and what is told of it.

fault_search.py finds it.
"""

from dataclasses import dataclass
from typing import NamedTuple

from minifp.autograd.backward import forget
from minifp.autograd.tape import Node, Tensor

FORWARD, BACKWARD, UNSCALE, UNKNOWN = "forward", "backward", "unscale", "unknown"
INPUT, SUM = "input", "sum of gradients"  # in the place of an operation
CHANGED, LET_GO = "changed since", "let go"  # the same, where the phase is unknown
WITHOUT_OPERATION = {
    UNSCALE: "the repeated step has finite gradients: the Inf or NaN arose when they were changed "
    "between backward and step, in a hook, or when they were added up",
    CHANGED: "the step cannot be repeated: its batch or its weights were changed in place since "
    "backward, so the origin of the Inf or NaN is unknown",
    LET_GO: "the last backward passes of this step, repeated, have finite gradients: the Inf or "
    "NaN arose in an earlier, unrecorded one",
}


class Range(NamedTuple):
    """What an operation was given: format, shape, and the smallest and largest finite number."""

    dtype: str
    shape: tuple[int, ...]
    low: float
    high: float
    finite: bool

    def __str__(self) -> str:
        broken = "" if self.finite else ", not all finite"
        return f"{self.dtype} {self.shape} from {self.low:.3g} to {self.high:.3g}{broken}"


class Place(NamedTuple):
    """What is known of an operation that failed: see Diagnosis."""

    operation: str
    module: str = ""
    line: str = ""
    inputs: tuple[Range, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """Where the first value that is not finite arose.

    phase: "forward", "backward", "unscale" for what happened to finite gradients between backward
        and step, or "unknown" for a step that cannot be done again as it was. operation: its name;
        "input" for a batch or a weight that was not finite, "sum of gradients" where gradients
        meet. module: the path of the module that called it.
    line: where in the user's code, "file:line: text". inputs: what it was given.
    persists: whether it is not finite without a loss scale either (always so in forward).
    """

    phase: str
    operation: str
    module: str = ""
    line: str = ""
    inputs: tuple[Range, ...] = ()
    scale: float = 1.0
    persists: bool = True

    def __str__(self) -> str:
        return self.place if self.phase in (UNSCALE, UNKNOWN) else f"{self.place}; {self.verdict}"

    @property
    def place(self) -> str:
        """Which operation it was, and what it was given."""
        if self.operation in WITHOUT_OPERATION and self.phase in (UNSCALE, UNKNOWN):
            return WITHOUT_OPERATION[self.operation]
        where = f" in {self.module}" if self.module else ""
        line = f" ({self.line})" if self.line else ""
        inputs = "; ".join(map(str, self.inputs))
        what = f"{self.phase} of {self.operation}"
        if self.operation == INPUT:
            what = f"{self.phase}: the input"
        inputs = f", given {inputs}" if inputs else ""
        return f"{what}{where}{line} made the first Inf or NaN{inputs}"

    @property
    def verdict(self) -> str:
        """Whether the loss scale is to blame."""
        if self.phase == FORWARD:
            return "this is in forward, where a loss scale cannot help"
        if self.persists:
            return "it also happens without a loss scale, so no loss scale can help"
        return (
            f"without a loss scale all is finite: S = {self.scale:g} was too large, which is "
            "normal once in a while"
        )

    @property
    def remedy(self) -> str:
        """What to do where it goes on and on."""
        if self.phase == UNSCALE:
            return "Look at what changes gradients between backward and step"
        if self.phase == UNKNOWN:
            return f"{LOOK}, or {LOWER}"
        if self.persists:
            return f"No loss scale can help. {LOOK}"
        return f"Without a loss scale all is finite: S = {self.scale:g} is too large; {LOWER}"


LOOK = (
    "Look at the data, the learning rate, and what the precision stores or adds up in few bits "
    "(optimizer_state, accumulate)"
)
LOWER = "lower the loss scale (if it adapts, its init_scale and min_scale)"


class Recorded(NamedTuple):
    """One backward of a step: the loss, and the nodes it went through (see backward.propagate).

    scale: the loss scale in it; None where only a GPU knows it. retained: whether its graph is for
    another backward too, so that it is not for the step to let go of it.
    """

    loss: Tensor
    order: list
    scale: float | None = None
    retained: bool = False

    @property
    def known(self) -> bool:
        """Whether all its operations can be done again."""
        calls = [v.call for v in self.order if type(v) is Node]
        return bool(calls) and None not in calls

    def let_go(self) -> "Recorded":
        """The loss alone, of what need not be done again."""
        if not self.retained:
            forget(self.order)
        return Recorded(self.loss.detach(), [], self.scale)
