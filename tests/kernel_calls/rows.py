"""Calls of normalisations, softmax, class losses and reductions.

Each function draws one call: (arguments, keywords, format of each result).
"""

import numpy as np

from minifp.numerics.formats import float16, float32


def batch_norm(d):
    shape = d.shape("channels", 2)
    x, C = d.array(*shape), shape[1]
    w, b, m = (d.array(C, dtype=float32) for _ in range(3))
    return x, w, b, m, d.array(C, dtype=float32, low=0.1)


def batch_norm_dx(d):
    x, w, _, m, v = batch_norm(d)
    params = {"eps": 1e-3, "constant": bool(d.choice(True, False))}
    return (d.array(*x.shape), x, w, m, v), params, (d.dtype, float32, float16)


def layer_norm_forward(d):
    x = d.array(*d.shape("rows", 1))
    args = (x, *(d.parameter(x.shape[-1]) for _ in range(2)))
    return args, {"eps": 0.01}, (d.dtype, float32, float32)


def layer_norm_dx(d):
    x = d.array(*d.shape("rows", 1))
    m, r = (d.array(*x.shape[:-1], 1, dtype=float32, low=low) for low in (None, 0.2))
    args = d.array(*x.shape), x, d.parameter(x.shape[-1]), m, r
    return args, {}, (d.dtype, float32, float32)


def rms_norm_forward(d):
    x = d.array(*d.shape("rows", 1))
    return (x, d.parameter(x.shape[-1])), {"eps": 0.01}, (d.dtype, float32)


def rms_norm_dx(d):
    (dy, x, w, _, r), _, _ = layer_norm_dx(d)
    return (dy, x, w, r), {}, (d.dtype, float32)


def groups_of(d, C):
    return d.choice(*(g for g in range(1, C + 1) if C % g == 0))


def group_norm_forward(d):
    x = d.array(*d.shape("channels", 2))
    C = x.shape[1]
    args = x, d.parameter(C), d.parameter(C)
    return args, {"groups": groups_of(d, C), "eps": 0.01}, (d.dtype, float32, float32)


def group_norm_dx(d):
    x = d.array(*d.shape("channels", 2))
    N, C = x.shape[:2]
    groups = groups_of(d, C)
    m, r = d.array(N, groups, 1, dtype=float32), d.array(N, groups, 1, dtype=float32, low=0.2)
    args = d.array(*x.shape), x, d.parameter(C), m, r
    return args, {"groups": groups}, (d.dtype, float32, float32)


def windows_of_channels(d):
    x = d.array(*d.shape("channels", 2))
    numbers = {"alpha": d.choice(0.1, 1e-4), "beta": d.choice(0.75, 0.75, 0.4)}
    return x, {"size": d.choice(1, 4, 5, 9), "k": d.choice(1.0, 2.0)} | numbers


def local_response_norm_dx(d):
    x, settings = windows_of_channels(d)
    return (d.array(*x.shape), x), settings, (d.dtype,)


def along(d, **limits):
    shape = d.shape("rows", 1)
    return d.array(*shape, **limits), {"axis": d.size(-len(shape), len(shape) - 1)}


def of_one(draw):
    def call(d):
        x, params = draw(d)
        return (x,), params, (d.dtype,)

    return call


def softmax_gradient(d):
    y, params = along(d, low=0.0)
    return (d.array(*y.shape), y), params, (d.dtype,)


def log_softmax_gradient(d):
    y, params = along(d)
    return (d.array(*y.shape), -abs(y)), params, (d.dtype,)


def classes(d):
    z = d.array(*d.shape("rows", 1))
    axis = min(z.ndim - 1, 1)
    t = d.random.integers(0, z.shape[axis], z.shape[:axis] + z.shape[axis + 1 :])
    t = np.asarray(t, d.choice("int64", "uint8", "int32") if z.shape[axis] < 256 else "int64")
    ignored = d.choice(-100, 0)
    weights = d.choice(None, d.array(z.shape[axis], dtype=float32, low=0.1))
    return (z, t, weights), {"ignore_index": ignored}


def smoothed(d):
    args, params = classes(d)
    return args, params | {"smoothing": d.choice(0.0, 0.1, 1.0)}


def each_of(draw):
    return lambda d: (*draw(d), (d.dtype,))


def total_of(draw):
    def call(d):
        args, params = draw(d)
        return args, params | {"reduction": d.choice("mean", "sum")}, (float32,)

    return call


def gradient_of(draw):
    def call(d):
        args, params = draw(d)
        params |= {"reduction": d.choice("mean", "sum", "none")}
        shape = args[1].shape if params["reduction"] == "none" else ()
        return (d.array(*shape, dtype=float32, low=-2.0), *args), params, (d.dtype,)

    return call


def axes_of(d, x):
    return tuple(i for i in range(x.ndim) if d.random.random() < 0.5)


def chosen(d, settings):
    """Settings, one of each list."""
    return {k: d.choice(*v) if type(v) is list else v for k, v in settings.items()}


def reduced(**settings):
    def call(d):
        x = d.array(*d.shape("rows", 0))
        params = {"axes": axes_of(d, x), "keepdims": bool(d.choice(True, False))}
        return (x,), params | chosen(d, settings), (d.choice(float16, float32),)

    return call


def reduced_gradient(**settings):
    def call(d):
        x = d.array(*d.shape("rows", 0))
        axes = axes_of(d, x)
        dy = d.array(*(n for i, n in enumerate(x.shape) if i not in axes))
        return (dy, x), {"axes": axes} | chosen(d, settings), (d.dtype,)

    return call


def spread(d):
    ((dy, x), params, to) = reduced_gradient()(d)
    return (dy,), params | {"shape": x.shape, "divisor": d.choice(1, 3)}, to


def normalize(d):
    x = d.array(*d.shape("rows", 1))
    return (x,), {"p": 2.0, "axes": axes_of(d, x), "eps": 0.1}, (d.dtype, float32)


def normalize_gradient(d):
    (x,), params, _ = normalize(d)
    kept = [1 if i in params["axes"] else n for i, n in enumerate(x.shape)]
    return (d.array(*x.shape), x, d.array(*kept, dtype=float32, low=0.05)), params, (d.dtype,)


def soft(d):
    x = d.array(*d.shape("rows", 1))
    weights = d.choice(None, d.array(x.shape[min(x.ndim - 1, 1)], dtype=float32, low=0.1))
    return (x, d.array(*x.shape, low=0.0), weights), {"smoothing": d.choice(0.0, 0.1)}


def soft_gradient(d):
    (x, q, weights), params = soft(d)
    params |= {"reduction": d.choice("mean", "sum", "none")}
    axis = min(x.ndim - 1, 1)
    shape = x.shape[:axis] + x.shape[axis + 1 :] if params["reduction"] == "none" else ()
    return (d.array(*shape, dtype=float32, low=-2.0), x, q, weights), params, (d.dtype,)


def pairs(d):
    shape = d.shape("rows", 1)
    return d.array(*shape), d.array(*shape)


def alike(d):
    """Two vectors or rows of them, and whether they are alike."""
    shape = (1, *d.shape("rows", 2))[-2:]
    t = np.asarray(d.random.choice([-1.0, 1.0], shape[:1]), d.dtype)
    return (d.array(*shape), d.array(*shape), t), {"margin": 0.1}


def alike_total(d):
    args, params = alike(d)
    return args, params | {"divisor": 3}, (float32,)


def alike_gradient(d):
    args, params = alike(d)
    dl = d.array(*d.choice((), args[2].shape), dtype=float32)
    return (dl, *args), params | {"divisor": 3}, (d.dtype,)


def cosine(d):
    x1, x2 = pairs(d)
    return (x1, x2), {"axis": d.size(-x1.ndim, x1.ndim - 1), "eps": 0.1}, (d.dtype,)


def cosine_gradient(d):
    (x1, x2), params, to = cosine(d)
    axis = params["axis"] % x1.ndim
    dy = d.array(*(n for i, n in enumerate(x1.shape) if i != axis))
    return (dy, x1, x2), params, to


def distance(d):
    """With an eps that no difference of rounded numbers meets, where the sign would be chance."""
    params = {"p": d.choice(1.0, 2.0), "eps": 0.0107, "keepdim": bool(d.choice(0, 1))}
    return pairs(d), params, (d.dtype,)


def distance_gradient(d):
    (x1, x2), params, to = distance(d)
    dy = d.array(*x1.shape[:-1], *(1 for _ in range(params.pop("keepdim"))))
    return (dy, x1, x2), params | {"shape": x1.shape}, to


def share(d):
    (dy, x), params, to = reduced_gradient()(d)
    y = np.asarray(np.max(x, axis=params["axes"]))
    return (dy, x, y), params | {"nan_is_found": bool(d.choice(True, False))}, to


def running_gradient(d):
    x, params = along(d)  # factors near 1, so that products stay numbers; zeros, and Inf
    x = np.where((x == 0) | np.isinf(x), x, 1 + np.tanh(x) / 256)
    x = d.laid(x.astype(d.dtype))
    return (d.array(*x.shape), x), params, (d.dtype,)


def select(d):
    x = d.array(*d.shape("rows", 1))
    axis = d.size(0, x.ndim - 1)
    i = np.asarray(d.random.integers(0, x.shape[axis], x.shape)).min(axis, keepdims=True)
    return (x, i), {"axis": axis, "keepdims": bool(d.choice(True, False))}, (d.dtype,)


def select_gradient(d):
    (x, i), params, to = select(d)
    dy = d.array(*(i if params.pop("keepdims") else i.squeeze(params["axis"])).shape)
    return (dy, i), params | {"shape": x.shape}, to


CALLS = {
    f.__name__: f
    for f in (
        *(batch_norm_dx, layer_norm_forward, layer_norm_dx, rms_norm_forward, rms_norm_dx),
        *(group_norm_forward, group_norm_dx, local_response_norm_dx, spread),
    )
} | {
    "batch_norm_statistics": lambda d: (batch_norm(d)[:1], {}, (float32, float32)),
    "batch_norm_forward": lambda d: (batch_norm(d), {"eps": 1e-3}, (d.dtype,)),
    "instance_norm_statistics": lambda d: ((d.array(*d.shape("channels", 3)),), {}, (float32,) * 2),
    "local_response_norm_forward": of_one(windows_of_channels),
    **{name + "_forward": of_one(along) for name in ("softmax", "softmin", "log_softmax")},
    **{name + "_dx": softmax_gradient for name in ("softmax", "softmin")},
    **{"log_softmax_dx": log_softmax_gradient, "cross_entropy_each": each_of(smoothed)},
    **{"cross_entropy_total": total_of(smoothed), "cross_entropy_dz": gradient_of(smoothed)},
    **{"nll_loss_each": each_of(classes), "nll_loss_total": total_of(classes)},
    **{"nll_loss_dx": gradient_of(classes), "sum_forward": reduced(), "mean_forward": reduced()},
    **{"logsumexp_forward": reduced(), "logsumexp_dx": reduced_gradient()},
    **{f"{name}_forward": reduced(correction=[0.5, 0]) for name in ("var", "std")},
    **{f"{name}_dx": reduced_gradient(correction=[0.5, 0]) for name in ("var", "std")},
    "norm_forward": reduced(p=[1.0, 2.0, 3.0, 0.5, np.inf]),
    **{"norm_dx": reduced_gradient(p=[1.0, 2.0, 3.0, 0.5, np.inf]), "normalize_forward": normalize},
    **{"normalize_dx": normalize_gradient, "soft_cross_entropy_each": each_of(soft)},
    **{"soft_cross_entropy_total": total_of(soft), "soft_cross_entropy_dz": soft_gradient},
    **{"soft_cross_entropy_dq": soft_gradient, "cosine_embedding_loss_each": each_of(alike)},
    **{"cosine_embedding_loss_total": alike_total, "cosine_embedding_loss_dx": alike_gradient},
    **{"cosine_similarity_forward": cosine, "cosine_similarity_dx": cosine_gradient},
    **{"pairwise_distance_forward": distance, "pairwise_distance_dx": distance_gradient},
    **{f"{name}_forward": lambda d: (*reduced()(d)[:2], (d.dtype,)) for name in ("amax", "amin")},
    **dict.fromkeys(("cumsum_forward", "cumsum_dx", "cumprod_forward"), of_one(along)),
    **{"cumprod_dx": running_gradient, "prod_forward": reduced(), "prod_dx": reduced_gradient()},
    **{"share_dx": share, "select_forward": select, "select_dx": select_gradient},
}
