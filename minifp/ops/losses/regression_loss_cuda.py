"""Kernels of regression_loss.py for a GPU: those of the CPU where all is element by element."""

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.dispatch import formula_of
from minifp.ops.losses.regression_loss_numba import (
    huber,
    huber_loss_dt,
    huber_loss_dx,
    huber_loss_each,
    l1_loss_dt,
    l1_loss_dx,
    l1_loss_each,
    mse_loss_dt,
    mse_loss_dx,
    mse_loss_each,
    of_sizes,
    of_squares,
    regression_loss,
    smooth,
    smooth_l1_loss_dt,
    smooth_l1_loss_dx,
    smooth_l1_loss_each,
)
from minifp.runtime.cuda.pointwise import summed

__all__ = [
    "huber_loss_dt", "huber_loss_dx", "huber_loss_each", "huber_loss_total",
    "l1_loss_dt", "l1_loss_dx", "l1_loss_each", "l1_loss_total",
    "mse_loss_dt", "mse_loss_dx", "mse_loss_each", "mse_loss_total",
    "smooth_l1_loss_dt", "smooth_l1_loss_dx", "smooth_l1_loss_each", "smooth_l1_loss_total",
]  # fmt: skip


def total_of(numbers):
    """The compiled kernel for the sum of losses with these numbers."""

    @compiled_kernel
    def total(x, t, w, p, *, divisor, to, **settings):
        if not x.size:
            return None
        axes, found = tuple(range(x.ndim)), numbers(**settings)[0]
        return summed(formula_of(regression_loss), (x, t), axes, to[0], found, 1 / divisor)

    return total


mse_loss_total, l1_loss_total = total_of(of_squares), total_of(of_sizes)
smooth_l1_loss_total, huber_loss_total = total_of(smooth), total_of(huber)
