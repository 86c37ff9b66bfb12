"""Schedules of the learning rate that tasks share."""

from minifp.optim import lr_scheduler

__all__ = ["cosine"]


def cosine(optimizer, steps: int, warm_up: int = 0):
    """Return a scheduler whose rate falls from the optimizer's to 0 along a cosine (Loshchilov and
    Hutter 2017, arXiv:1608.03983, without restarts), after a linear rise over the first steps.

    optimizer: whose rate it is. steps: of the whole run. warm_up: steps of the rise, a tenth of all
    at most. As a task's `schedule`: `cosine` itself, or `partial(cosine, warm_up=100)`.
    """
    warm_up = min(warm_up, steps // 10)
    falling = lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps - warm_up)
    if warm_up == 0:
        return falling
    rising = lr_scheduler.LinearLR(optimizer, start_factor=1 / warm_up, total_iters=warm_up)
    return lr_scheduler.SequentialLR(optimizer, [rising, falling], milestones=[warm_up])
