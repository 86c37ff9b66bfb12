"""Compiled kernels of folding.py: fold adds up pictures in the workspace; unfold is a copy."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.convolution.folding import columns_of, counts_of
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import parallel, spans, view

CHUNK = 8192  # numbers that are worth a chunk
NANOSECONDS = 0.5


@parallel
def fold(chunk, scratch, each, A, down, across, y, x):
    """x (A, H, W) from y (A, KH, KW, P, Q). down, across: (size of x, of the window, how many
    windows, stride, padding, dilation)."""
    H, KH, P, step_h, pad_h, gap_h = down
    W, KW, Q, step, pad, gap = across
    total = scratch[: 2 * H * W].view(np.float64)
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        total[:] = 0
        for i in range(KH):
            for j in range(KW):
                start = j * gap - pad  # the first window's place
                q0 = min(max((step - 1 - start) // step, 0), Q)
                q1 = min(max((W - 1 - start) // step + 1, q0), Q)
                for p in range(P):
                    h = p * step_h + i * gap_h - pad_h
                    if 0 <= h < H:
                        at = (((a * KH + i) * KW + j) * P + p) * Q
                        row = total[h * W : (h + 1) * W]
                        if step == 1:
                            first = start + q0
                            for q in range(q1 - q0):
                                row[first + q] += load(y, at + q0 + q)
                        else:
                            for q in range(q0, q1):
                                row[start + q * step] += load(y, at + q)
        for i in range(H * W):
            store(x, a * H * W + i, total[i])


@compiled_kernel
def fold_forward(y, *, size, kernel_size, dilation, padding, stride, to):
    (H, W), (KH, KW) = size, kernel_size
    N, C = y.shape[0], y.shape[1] // (KH * KW)
    x = np.empty((N, C, H, W), to[0] or y.dtype)
    if x.size:
        counts = counts_of(size, kernel_size, dilation, padding, stride)
        down, across = zip(size, kernel_size, counts, stride, padding, dilation)
        chunks, each = spans(N * C, max(1, CHUNK // (H * W)))
        flat = view(np.ascontiguousarray(y)).reshape(-1), view(x).reshape(-1)
        cost = (x.size + y.size) * NANOSECONDS
        fold(chunks, each, N * C, down, across, *flat, cost=cost, workspace=2 * H * W)
    return x


@compiled_kernel
def unfold_columns(x, *, to, **window):
    return columns_of(x, **window) if x.dtype == to[0] else None
