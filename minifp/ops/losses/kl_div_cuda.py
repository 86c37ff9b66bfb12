"""Kernels of kl_div.py for a GPU: of targets, and of targets in log space."""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.losses.loss_cuda import kernels_of
from minifp.runtime.cpu.math import exp32, log32


def plain(x, t, w, p):
    return (t * log32(t) if t != 0 else 0.0) - t * x


def plain_dx(x, t, w, p, dl, share):
    return -t * (dl * share)


def plain_dt(x, t, w, p, dl, share):
    return (log32(t) + 1 - x) * (dl * share)


def of_logs(x, t, w, p):
    return exp32(t) * (t - x)


def of_logs_dx(x, t, w, p, dl, share):
    return -exp32(t) * (dl * share)


def of_logs_dt(x, t, w, p, dl, share):
    return exp32(t) * (t - x + 1) * (dl * share)


def chosen(plain, of_logs):
    """The compiled kernel that is one of two, by whether targets are logarithms."""

    @compiled_kernel
    def one(*args, log_target, **settings):
        return (of_logs if log_target else plain)(*args, **settings)

    return one


kl_div_each, kl_div_total, kl_div_dx, kl_div_dt = map(
    chosen,
    kernels_of(plain, plain_dx, plain_dt),
    kernels_of(of_logs, of_logs_dx, of_logs_dt),
)
