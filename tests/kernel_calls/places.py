"""Calls of pooling, of numbers that meet at places, of folding, resizing, products and attention.

Each function draws one call of the kernel of its name: (arguments, keywords, format of the result,
or None to be told by its rule).
"""

import numpy as np

import minifp as fp
from kernel_calls.named import NAMED
from minifp.numerics.formats import float32
from minifp.ops.pooling.pool_windows import adaptive_axes, pool_axes


def pooled(d, kind):
    ndim, lead = d.choice(1, 2, 2), d.choice((2, 3), (d.size(1, 40),), (1, 1), (0, 2))
    x = d.array(*lead, *(d.size(1, 40) for _ in range(ndim)))
    tensor = fp.Tensor(x)
    if d.choice(True, False, False):
        return x, adaptive_axes(kind, tensor, ndim, tuple(d.size(1, 9) for _ in range(ndim)))
    for _ in range(100):
        size = [d.size(1, d.choice(3, 4, 19)) for _ in range(ndim)]
        padding = [d.size(0, k // 2) for k in size]
        stride = [d.size(1, 4) for _ in range(ndim)]
        dilation = [d.size(1, 2) for _ in range(ndim)] if kind == "max_pool" else 1
        ceil_mode = d.choice(True, False)
        try:
            return x, pool_axes(kind, tensor, ndim, size, stride, padding, ceil_mode, dilation)
        except fp.ShapeError:
            pass
    return x, pool_axes(kind, tensor, ndim, 1, 1, 0, False, 1)


def max_pool_forward(d):
    x, axes = pooled(d, "max_pool")
    if d.special and d.choice(True, False):
        x = np.where(d.random.random(x.shape) < 0.7, d.dtype.type(-np.inf), x)
    return (x,), {"axes": axes}, None


def max_pool_dx(d):
    x, axes = pooled(d, "max_pool")
    wide = x.astype(float32)
    y, chosen = NAMED["max_pool_forward"].reference(wide, axes=axes)
    dy, chosen = d.array(*y.shape), d.laid(chosen)
    return (dy, chosen), {"axes": axes}, d.dtype


def averaging(d, axes):
    override = d.choice(None, None, 3, -7)
    return {"axes": axes, "include_pad": d.choice(True, False), "override": override}


def avg_pool_forward(d):
    x, axes = pooled(d, "avg_pool")
    return (x,), averaging(d, axes), None


def avg_pool_dx(d):
    x, axes = pooled(d, "avg_pool")
    dy = d.array(*x.shape[: x.ndim - len(axes)], *(a.count for a in axes))
    return (dy,), averaging(d, axes), d.dtype


def embedding_dw(d):
    V, shape = d.choice(1, d.size(1, 300)), d.choice((d.size(0, 500),), (7, 30), ())
    shape = (d.size(1000, 5000),) if d.large else shape
    i = d.indices(V, *shape)
    settings = {"rows": V, "padding_idx": d.choice(None, d.size(0, V - 1))}
    dy = d.array(*shape, d.choice(1, 5, 40, 40 if d.large else 300))
    return (dy, i), settings, d.dtype


def getitem_dx(d):
    shape = (d.size(1, 9), d.size(1, 70), d.size(1, 9))
    i, j = (d.random.integers(0, n, 60) for n in shape[:2])
    whole, index = slice(None), d.choice(0, 1, 2)
    arrays = ((i, whole, whole), (whole, j, whole), (i, j, whole))[index]
    dy = d.array(*np.empty(shape)[arrays].shape)
    return (dy,), {"shape": shape, "basic": (...,), "arrays": arrays}, d.dtype


def gather_dx(d):
    axis, shape = d.size(0, 2), [d.size(1, 30) for _ in range(3)]
    taken = [n if d.choice(True, True, False) else d.size(0, n) for n in shape]
    taken[axis] = d.size(0, 80)
    i, settings = d.indices(shape[axis], *taken), {"axis": axis, "shape": tuple(shape)}
    return (d.array(*taken), i), settings, d.dtype


def scatter_add_forward(d):
    (src, i), settings, _ = gather_dx(d)
    return (d.array(*settings["shape"]), src, i), {"axis": settings["axis"]}, None


def sliced(d):
    axis, shape = d.size(0, 2), [d.size(1, 30) for _ in range(3)]
    n, shape[axis] = d.size(1, 50), d.size(0, 90)
    return axis, n, d.array(*shape), d.indices(n, shape[axis])


def index_select_dx(d):
    axis, n, dy, i = sliced(d)
    return (dy, i), {"axis": axis, "n": n}, d.dtype


def index_add_forward(d):
    axis, n, src, i = sliced(d)
    x = d.array(*(n if k == axis else m for k, m in enumerate(src.shape)))
    return (x, src, i), {"axis": axis, "alpha": d.choice(1, 0.3)}, None


def pad_forward(d):
    x = d.array(*(d.size(0, 20) for _ in range(3)))
    widths = tuple((d.size(-min(n, 2) // 2, 4), d.size(0, 4)) for n in x.shape)
    return (x,), {"widths": widths, "value": d.choice(0, -0.1, 1e6)}, None


def pad_around_dx(d):
    shape = (d.size(0, 20), d.size(5, 20), d.size(5, 20))
    widths = ((0, 0), *((d.size(0, 4), d.size(1, 4)) for _ in range(2)))
    settings = {"mode": d.choice("reflect", "replicate", "circular")}
    dy = d.array(*(n + b + a for n, (b, a) in zip(shape, widths)))
    return (dy,), {"shape": shape, "widths": widths, **settings}, d.dtype


def folding(d):
    size, kernel = (d.size(6, 20), d.size(6, 20)), (d.size(1, 3), d.size(1, 3))
    settings = {"dilation": (d.size(1, 2), 1), "padding": (d.size(0, 2), d.size(0, 2))}
    window = {"kernel_size": kernel, "stride": (d.size(1, 3), d.size(1, 3)), **settings}
    return size, window, (d.size(0, 3), d.size(1, 4), *size)


def unfold_columns(d):
    _, window, shape = folding(d)
    return (d.array(*shape),), window, d.dtype


def fold_forward(d):
    size, window, shape = folding(d)
    y = NAMED["unfold_columns"].reference(np.zeros(shape, float32), **window)
    return (d.array(*y.shape),), {"size": size, **window}, None


def resizing(d):
    ndim = d.choice(1, 2)
    mode = d.choice("nearest", "nearest-exact", ("linear", "bilinear")[ndim - 1])
    corners = d.choice(True, False) and "linear" in mode
    settings = {"factors": (None,) * ndim, "mode": mode, "align_corners": corners}
    return [[d.size(1, 40) for _ in range(ndim)] for _ in range(2)], settings


def interpolate_forward(d):
    (sizes, counts), settings = resizing(d)
    x = d.array(d.size(0, 3), 5, *sizes)
    return (x,), {"counts": tuple(counts), **settings}, None


def interpolate_dx(d):
    (sizes, counts), settings = resizing(d)
    dy = d.array(d.size(0, 3), 5, *counts)
    return (dy,), {"sizes": tuple(sizes), **settings}, d.dtype


def factors(d):
    """Two operands of a product, with batches that broadcast, or without."""
    lead = d.choice((), (3,), (2, 3), (0,))
    one, other = lead, d.choice(lead, lead, (1,) * len(lead), lead[1:], ())
    M, K, N = (d.choice(0, 1, 1, d.size(2, 90)) for _ in range(3))
    one, other = d.choice((one, other), (other, one))
    return d.array(*one, M, K), d.array(*other, K, N)


def matmul_forward(d):
    return factors(d), {}, None


def matmul_dx(d):
    x, y = factors(d)
    dz = d.array(*np.matmul(np.zeros(x.shape), np.zeros(y.shape)).shape)
    return (dz, y), {"shape": x.shape}, d.dtype


def matmul_dy(d):
    (dz, y), shape, to = matmul_dx(d)
    return (d.array(*shape["shape"]), dz), {"shape": y.shape}, to


def addmm_forward(d):
    M, K, N = d.size(1, 50), d.size(0, 50), d.size(1, 50)
    c = d.array(*d.choice((N,), (M, N), (1, N), (M, 1), (1, 1)))
    settings = {"beta": d.choice(0, 1, 0.5), "alpha": d.choice(1, -2.5)}
    c = c if settings["beta"] else np.nan_to_num(c)  # the bound does not know that it is not read
    return (c, d.array(M, K), d.array(K, N)), settings, None


def einsum_forward(d):
    left, right, out = d.choice(
        *(("bij", "bjk", "bik"), ("bij", "bkj", "kbi"), ("ij", "jk", "ki"), ("i", "j", "ij")),
        *(("abij", "bjk", "aik"), ("ijk", "j", "ki"), ("ib", "jb", "bji")),
    )
    sizes = {n: d.size(1, 20) for n in "abijk"}
    x, y = (d.array(*(sizes[n] for n in names)) for names in (left, right))
    names = {"left": tuple(left), "right": tuple(right), "out": tuple(out)}
    return (x, y), names, None


def queries(d):
    lead, (L, S, E) = d.choice((), (3,), (2, 4)), (d.size(1, 70) for _ in range(3))
    return lead, L, S, E, {"scale": d.choice(0.3, E**-0.5)}


def attention_scores(d):
    lead, L, S, E, settings = queries(d)
    masks = (None, d.random.random((L, S)) < 0.7, d.array(*lead, 1, S), d.array(L, S))
    settings["is_causal"] = d.choice(True, False, False)
    mask = None if settings["is_causal"] else d.choice(*masks)
    return (d.array(*lead, L, E), d.array(*lead, S, E), mask), settings, None


def attention_probabilities(d):
    s = np.array(d.array(d.size(0, 4), d.size(1, 70), d.size(1, 300)))
    s[d.random.random(s.shape) < d.choice(0.1, 0.9)] = -np.inf
    return (d.laid(s),), {}, None


def attention_dp(d):
    lead, L, S, E, _ = queries(d)
    dp = d.choice(None, d.array(*lead, L, S))
    return (d.array(*lead, L, E), d.array(*lead, S, E), dp), {}, d.dtype


def attention_dq(d):
    lead, L, S, E, settings = queries(d)
    settings["shape"] = d.choice((*lead, L, E), (1,) * len(lead) + (L, E))
    return (d.array(*lead, L, S), d.array(*lead, S, E)), settings, d.dtype


def attention_dk(d):
    lead, L, S, E, settings = queries(d)
    settings["shape"] = (*lead, S, E)
    return (d.array(*lead, L, S), d.array(*lead, L, E)), settings, d.dtype


KERNELS = [
    max_pool_forward, max_pool_dx, avg_pool_forward, avg_pool_dx, embedding_dw, getitem_dx,
    gather_dx, scatter_add_forward, index_select_dx, index_add_forward, pad_forward,
    pad_around_dx, unfold_columns, fold_forward, interpolate_forward, interpolate_dx,
    matmul_forward, matmul_dx, matmul_dy, addmm_forward, einsum_forward, attention_scores,
    attention_probabilities, attention_dp, attention_dq, attention_dk,
]  # fmt: skip
CALLS = {kernel.__name__: kernel for kernel in KERNELS}
