"""Results without numbers: what kernels return where only shapes are asked for.

A kernel's result has its shape and format, in memory that nobody has written to: the system gives
addresses for it and no pages. Shapes of convolutions, products, pooling's gradients and recurrent
layers are known beforehand; all other kernels cost little beside them, and their references are
asked, on whatever numbers there are.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.numerics.formats import as_dtype, is_float
from minifp.numerics.operands import entering


def of_product(x, y):
    """The shape of x (..., M, K) times y (..., K, N)."""
    return (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])


def of_channels(x: Any, w: Any, sizes: tuple, groups: int) -> tuple:
    """The shape of a result with the second axis of the weights for channels."""
    return (len(x), w.shape[1] * groups, *sizes)


# By the name of a reference: the shape of its result, from its arrays and settings.
SHAPES: dict[str, Callable[..., tuple]] = {
    "conv_forward": lambda x, w, b, *, counts, **_: (x.shape[0], w.shape[0], *counts),
    "conv_dx": lambda dy, w, *, x_sizes, groups, **_: of_channels(dy, w, x_sizes, groups),
    "conv_dw": lambda dy, x, *, w_shape, **_: w_shape,
    "conv_transpose_forward": lambda x, w, _, *, y_sizes, groups, **__: of_channels(
        x, w, y_sizes, groups
    ),
    "conv_transpose_dx": lambda dy, w, *, counts, **_: (dy.shape[0], w.shape[0], *counts),
    "conv_transpose_dw": lambda x, dy, *, w_shape, **_: w_shape,
    "max_pool_dx": lambda dy, _, *, axes, **__: (*dy.shape[: -len(axes)], *(a.n for a in axes)),
    "linear_forward": lambda x, w, *_, **__: (*x.shape[:-1], w.shape[0]),
    "linear_dx": lambda dy, w, **_: (*dy.shape[:-1], w.shape[1]),
    "linear_dw": lambda dy, x, **_: (dy.shape[-1], x.shape[-1]),
    "matmul_forward": lambda x, y: of_product(x, y),
    "attention_scores": lambda q, k, mask, **_: of_product(q, np.swapaxes(k, -1, -2)),
    "embedding_dw": lambda dy, i, *, rows, **_: (rows, dy.shape[-1]),
}

# The same of kernels with several results. Of recurrent layers: N rows, B sequences, H units.
SEVERAL: dict[str, Callable[..., list[tuple]]] = {
    "lstm_forward": lambda x, h, c, *_, **__: [
        *((len(x), n * c.shape[1]) for n in (1, 1, 4)),  # h, c and gates of every row
        h.shape,
        c.shape,
    ],
    "lstm_projected": lambda x, h, c, *_, **__: [
        (len(x), h.shape[1]),
        *((len(x), n * c.shape[1]) for n in (1, 1, 4)),  # c, q and gates
        h.shape,
        c.shape,
    ],
    "lstm_dz": lambda dy, dh, dc, before, cs, gates, *_, **__: [gates.shape, dh.shape, dc.shape],
    "lstm_projected_dz": lambda dy, dh, dc, before, cs, gates, *_, **__: [
        a.shape for a in (gates, dy, dh, dc)
    ],
    "gru_forward": lambda x, h, *_, **__: [*((len(x), n * h.shape[1]) for n in (1, 4)), h.shape],
    "gru_da": lambda dy, dh, *_, **__: [*[(len(dy), 3 * dh.shape[1])] * 2, dh.shape],
    "rnn_forward": lambda x, h, *_, **__: [(len(x), h.shape[1]), h.shape],
    "rnn_dz": lambda dy, dh, *_, **__: [dy.shape, dh.shape],
}


def shaped(kernel: Any, formats: Any, *args: Any, to: Any, **params: Any) -> Any:
    """What a compiled kernel would return (see Kernel.compiled), without its numbers."""
    entering.get().passes(kernel, args, formats.operands)
    known = SHAPES.get(kernel.reference.__name__)
    if known is not None:
        dtype = dtypes_of(args)[0] if to[0] is None else to[0]  # of a sum: that of its argument
        return np.empty(known(*args, **params), as_dtype(dtype))
    several = SEVERAL.get(kernel.reference.__name__)
    if several is not None:
        return tuple(np.empty(s, as_dtype(d)) for s, d in zip(several(*args, **params), to))
    if kernel.rule.role == "map" and len(formats.out) == 1 and "shape" not in kernel.keywords:
        formulas = getattr(kernel.derived, "formulas", None)
        _, arrays = (None, ()) if formulas is None else formulas.of_call(args, dict(params))
        if arrays:  # it is a formula of one element
            return np.empty(np.broadcast_shapes(*[a.shape for a in arrays]), as_dtype(to[0]))
    results = kernel._call_reference(args, params, formats, tuple(to))
    if isinstance(results, tuple):
        return tuple(map(untouched, results))
    return untouched(results)


def dtypes_of(args) -> list:
    """Of the floating arrays among the arguments, in their order."""
    return [a.dtype for a in args if isinstance(a, np.ndarray) and is_float(a.dtype)]


def untouched(result: Any) -> Any:
    """Memory of the same shape and format, unless it is small, where numbers may matter."""
    is_large = isinstance(result, np.ndarray) and result.nbytes > 2**16
    return np.empty(result.shape, result.dtype) if is_large and is_float(result.dtype) else result
