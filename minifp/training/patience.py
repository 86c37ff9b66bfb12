"""The end of patience: what is said after too many skipped steps in a row."""

from collections.abc import Sequence

from minifp.autograd.tape import Tensor
from minifp.errors import TrainingError
from minifp.training.diagnosis import BACKWARD, FORWARD, LOOK, LOWER, Diagnosis
from minifp.training.fault_search import is_finite
from minifp.training.loss_scale import StaticLossScale
from minifp.training.step_result import StepResult


def check_patience(scale: StaticLossScale, result: StepResult, losses: Sequence[Tensor]) -> None:
    """Raise TrainingError after the loss scale's `patience` of skipped steps in a row, or where it
    is exhausted.

    result, losses: of the last of them.
    """
    if scale.skipped_in_a_row < scale.patience and not getattr(scale, "is_exhausted", False):
        return
    where, remedy = where_and_remedy(result.diagnosis, losses, result.scale_before)
    raise TrainingError(
        f"{scale.skipped_in_a_row} steps in a row were skipped: gradients of "
        f"{', '.join(result.parameters)} are Inf or NaN; {where}. {remedy}"
    )


def where_and_remedy(
    diagnosis: Diagnosis | None, losses: Sequence[Tensor], scale: float
) -> tuple[str, str]:
    """Where Inf or NaN arose and what to do; of a step that was not done again, from its losses."""
    if diagnosis is not None:
        arose = f"they arose in {diagnosis.phase}: " * (diagnosis.phase in (FORWARD, BACKWARD))
        return arose + diagnosis.place, diagnosis.remedy
    if not losses:
        return "they did not come from optimizer.backward(loss), so their origin is unknown", LOOK
    if not all(is_finite(loss.array) for loss in losses):
        forward = "the loss is not finite either: they arose in forward"
        return forward, f"No loss scale can help. {LOOK}"
    remedy = f"{LOOK}, or {LOWER}" if scale > 1 else LOOK
    return f"the loss is finite, so they arose in backward (S = {scale:g})", remedy
