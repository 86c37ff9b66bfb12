"""Schedules of the learning rate that tasks share."""

from minifp.optim import lr_scheduler


def cosine(optimizer, steps: int, warm_up: int = 0):
    """A rate that falls to 0 along a cosine, after a linear rise over `warm_up` steps."""
    warm_up = min(warm_up, steps // 10)
    falling = lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps - warm_up)
    if warm_up == 0:
        return falling
    rising = lr_scheduler.LinearLR(optimizer, start_factor=1 / warm_up, total_iters=warm_up)
    return lr_scheduler.SequentialLR(optimizer, [rising, falling], milestones=[warm_up])
