"""What a step did; of one that is decided on a GPU, when somebody asks."""

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class StepResult:
    """The result of a step.

    stepped: whether weights were updated (by every optimizer). reason: None, or why not.
    grad_norm: the norm of all gradients, unscaled and before clipping; NaN if they were not finite.
    parameters: the names of those whose gradients were not finite. each: `stepped` of each
    optimizer. diagnosis: where the first non-finite value arose (a diagnosis.Diagnosis); `reason`
    says it in words. None for a step that was not skipped, or not repeated.
    """

    stepped: bool
    reason: str | None
    scale_before: float
    scale_after: float
    grad_norm: float
    parameters: tuple = ()
    each: tuple = ()
    diagnosis: Any = None

    def __str__(self) -> str:
        """What it did in a line: "stepped; S = 65,536; gradient norm 2.77"."""
        scale = f"S = {_number(self.scale_before)}"
        if self.scale_after != self.scale_before:
            scale += f", then {_number(self.scale_after)}"
        if self.skipped:
            return f"skipped: {self.reason}; {scale}"
        return f"stepped; {scale}; gradient norm {self.grad_norm:.3g}"

    @property
    def skipped(self) -> bool:
        """Whether no weight was updated, or not every optimizer's."""
        return not self.stepped


class PendingResult(StepResult):
    """A StepResult whose step is decided on the GPU: asking it something waits for the step."""

    def __init__(self, outcome: Any) -> None:
        object.__setattr__(self, "outcome", outcome)

    def copied(self) -> "PendingResult":
        """The same, in memory that no later step writes to."""
        return PendingResult(self.outcome.copied())

    def __repr__(self) -> str:
        return repr(StepResult(*(getattr(self, f.name) for f in fields(StepResult))))

    def __getattribute__(self, name: str) -> Any:
        if name in FIELDS and vars(self)["outcome"] is not None:
            values = vars(self)["outcome"].read()
            vars(self).update(values, outcome=None)
        return object.__getattribute__(self, name)


def _number(scale: float) -> str:
    """65,536, or 0.5, or 1e+20."""
    return f"{scale:,.0f}" if scale.is_integer() and scale < 1e12 else f"{scale:g}"


FIELDS = frozenset(f.name for f in fields(StepResult))
