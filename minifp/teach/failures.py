"""Failures that a lesson arranges, and that must be seen: a demonstration that stops to show what
it was made for is a defect."""

from minifp.errors import ArgumentError, MinifpError


class NoFailureError(MinifpError, AssertionError):
    """Something was arranged to fail, and did not."""


def expect_failure(
    what: str, measured: float, *, above: float | None = None, below: float | None = None
) -> None:
    """Raise NoFailureError unless `measured` lies above, or below, what counts as a failure.

    what: what was measured, in words: "relative loss of accuracy without master weights". A NaN is
    a failure whichever was asked: what diverged did not get well.
    """
    if (above is None) == (below is None):
        raise ArgumentError("expect_failure: expected one of above= and below=")
    failed = not measured <= above if above is not None else not measured >= below  # type: ignore[operator]
    if not failed:
        bound = f"above {above:g}" if above is not None else f"below {below:g}"
        raise NoFailureError(
            f"{what} is {measured:.4g}, and was arranged to be {bound}: this demonstration no "
            "longer shows its failure"
        )
