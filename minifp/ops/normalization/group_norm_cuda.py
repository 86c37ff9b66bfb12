"""Kernels of group_norm.py for a GPU, and of instance normalisation: see batch_norm_cuda.py."""

import operator

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.ops.normalization import batch_norm_cuda
from minifp.runtime.cuda.arrays import zeros
from minifp.runtime.cuda.pointwise import F32, sum_over, summed
from minifp.runtime.cuda.rows import contiguous

PRODUCT = Formulas(operator.mul)  # the addends of a dot product


@compiled_kernel
def group_norm_forward(x, w, b, *, groups, eps, to):
    if not batch_norm_cuda.known(to, x) or len(x) and not x.size:
        return None
    planes, x = batch_norm_cuda.planes_of(x), contiguous(x)
    N, C, L = planes
    per = C // groups
    m, r = batch_norm_cuda.moments(x, batch_norm_cuda.Planes(1, N * groups, per * L), eps)
    y = batch_norm_cuda.normalised(
        x, batch_norm_cuda.single(w), batch_norm_cuda.single(b), m, r, planes, to[0], per=per
    )
    return y, *(batch_norm_cuda.stored(s.reshape(N, groups, 1), t) for s, t in zip((m, r), to[1:]))


@compiled_kernel
def group_norm_dx(dy, x, w, m, r, *, groups, to):
    if not batch_norm_cuda.known(to, dy, x):
        return None
    planes, dy, x = batch_norm_cuda.planes_of(x), contiguous(dy), contiguous(x)
    N, C, L = planes
    w, m, r = map(batch_norm_cuda.single, (w, m, r))
    per = C // groups
    sums = batch_norm_cuda.gradient_sums(dy, x, m, r, batch_norm_cuda.Planes(1, N * C, L), per=per)
    grouped, share = sums.reshape(2, N, groups, per), 1 / max(1, per * L)
    if w is not None:
        means = summed(PRODUCT, (grouped, w.reshape(groups, per)), (3,), F32, share)
    else:
        means = sum_over(grouped, (3,), F32, share)
    dx = batch_norm_cuda.gradient(dy, x, w, m, r, means, planes, to[0], per=per)
    dw, db = sum_over(sums.reshape(2, N, C), (1,), F32) if x.size else zeros((2, C), F32)
    return dx, batch_norm_cuda.stored(dw, to[1]), batch_norm_cuda.stored(db, to[2])


@compiled_kernel
def instance_norm_statistics(x, *, to):
    if not x.size or not batch_norm_cuda.known(to, x):
        return None
    N, C, L = batch_norm_cuda.planes_of(x)
    found = batch_norm_cuda.moments(contiguous(x), batch_norm_cuda.Planes(1, N * C, L))
    m, v = sum_over(found.reshape(2, N, C), (1,), F32, 1 / N)
    return batch_norm_cuda.stored(m, to[0]), batch_norm_cuda.stored(v, to[1])
