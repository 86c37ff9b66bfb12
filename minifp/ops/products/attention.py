"""Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762, equation 1).

    s = scale q kT + mask      p = softmax of s over keys      y = p v
    dv = pT dy    dp = dy vT    ds = p (dp - sum_keys dp p)    dq = scale ds k    dk = scale dsT q

q: (..., L, E)  k: (..., S, E)  v: (..., S, V)  s, p: (..., L, S)  y: (..., L, V). All of these are
stored, dp and ds too: rounded once each. q is scaled before its products are summed, so that scores
overflow no sooner than they must. A masked key has the score -Inf and the probability 0; where all
keys of a row are masked its probabilities are 0, not NaN, and so is its result. With dropout what
is left of p, over 1 - dropout_p, is stored as well, and is what multiplies v.
"""

import math

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag, check_range
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.formats import is_float
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.elementwise import as_numbers, pass_to, sum_to
from minifp.ops.normalization.softmax import softmax_dx
from minifp.ops.pointwise.dropout import dropout_dx, dropout_forward
from minifp.ops.products.matmul import check_arrays, matmul_dy, matmul_forward
from minifp.ops.public import public
from minifp.ops.reduce import largest
from minifp.runtime import random


@kernel("dot", "q k", operands={"q": (-1,), "k": (-1,)})
def attention_scores(q, k, mask, *, scale, is_causal, dot):
    s = dot(q * scale, np.swapaxes(k, -1, -2))
    if is_causal:
        s = np.where(np.tri(s.shape[-2], s.shape[-1], dtype=bool, like=s), s, -np.inf)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype.kind == "b" else s + mask
    return s


@kernel("reduce", "s")
def attention_probabilities(s, *, sum):
    highest = largest(s, -1)
    e = np.exp(s - np.where(np.isneginf(highest), 0, highest))
    total = sum(e, axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)  # 0 where all keys are masked: each e is at most 1


@kernel("dot", GIVEN, operands={"v": (-1,)}, gradients={"dy": (-1,)})
def attention_dp(dy, v, dp, *, dot):
    from_y = dot(dy, np.swapaxes(v, -1, -2))
    return from_y if dp is None else from_y + dp


@kernel("dot", GIVEN, operands={"k": (-2,)}, gradients={"ds": (-1,)})
def attention_dq(ds, k, *, scale, shape, dot, sum):
    return sum_to(dot(ds, k) * scale, shape, sum)


@kernel("dot", GIVEN, operands={"q": (-2,)}, gradients={"ds": (-2,)})
def attention_dk(ds, q, *, scale, shape, dot, sum):
    return sum_to(dot(np.swapaxes(ds, -1, -2), q * scale), shape, sum)


def attention_backward(dy, *rest, to, scale, is_causal, dropout_p, need_weights):
    dp, (q, k, v, p, kept, mask_shape) = (rest[0], rest[1:]) if need_weights else (None, rest)
    left = p if kept is None else dropout_forward(p, kept, p=dropout_p)
    dv = None if to[2] is None else matmul_dy(left, dy, shape=v.shape, to=to[2])
    if to[0] is to[1] is to[3] is None:
        return None, None, dv, None, None
    dp = attention_dp(dy, v, dp, to=dy.dtype)
    if kept is not None:
        dp = dropout_dx(dp, kept, p=dropout_p, to=dy.dtype)
    ds = softmax_dx(dp, p, axis=-1, to=dy.dtype)
    return (
        None if to[0] is None else attention_dq(ds, k, scale=scale, shape=q.shape, to=to[0]),
        None if to[1] is None else attention_dk(ds, q, scale=scale, shape=k.shape, to=to[1]),
        dv,
        None if to[3] is None else pass_to(ds, mask_shape, to[3]),
        None,
    )


@op
def scaled_dot_product_attention_op(
    q, k, v, mask, kept, *, scale, is_causal, dropout_p, need_weights
):
    """y, or (y, what multiplied v)."""
    p = attention_probabilities(attention_scores(q, k, mask, scale=scale, is_causal=is_causal))
    left = p if kept is None else dropout_forward(p, kept, p=dropout_p)
    y = matmul_forward(left, v)
    saved = q, k, v, p, kept, np.shape(mask)
    return ((y, left) if need_weights else y), saved, attention_backward


# ---- what is given ------------------------------------------------------------------------------


@public("F", autocast="product")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """For each query the mean of the values, weighted by the softmax of its products with the keys.

    query: (..., L, E)  key: (..., S, E)  value: (..., S, V)  result: (..., L, V); the first axes
    broadcast. attn_mask: what broadcasts to (..., L, S): booleans, True for a key that takes part,
    or numbers that are added to the scores (-Inf for one that does not). is_causal: query i sees
    keys 0 to i only; not with a mask. dropout_p: the probability with which a weight is dropped,
    always. scale: 1/sqrt(E) by default. Queries that see no key have the result 0.
    """
    return attend(query, key, value, attn_mask, dropout_p, is_causal, scale)


def attend(query, key, value, mask, dropout_p, is_causal=False, scale=None, need_weights=False):
    """scaled_dot_product_attention; if need_weights, also the weights (..., L, S)."""
    name = "scaled_dot_product_attention"
    leading = check_shapes(name, query, key, value)
    check_range(f"{name}: dropout_p", dropout_p, 0, 1)
    check_flag(f"{name}: is_causal", is_causal)
    scores = (*leading, query.shape[-2], key.shape[-2])
    check_mask(name, mask, is_causal, scores)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1] or 1)
    kept = random.uniform(scores, purpose="dropout") >= dropout_p if dropout_p else None
    settings = {"is_causal": is_causal, "need_weights": need_weights}
    settings |= as_numbers(name, scale=scale)
    settings["dropout_p"] = dropout_p if dropout_p < 1 else 0.0  # with 1 the result is 0
    return scaled_dot_product_attention_op(query, key, value, mask, kept, **settings)


def check_shapes(name, query, key, value):
    """The first axes, broadcast. Raises DTypeError or ShapeError for tensors that do not fit."""
    check_tensors(name, query=query, key=key, value=value)
    q, k, v = shapes = query.shape, key.shape, value.shape
    fits = min(map(len, shapes)) >= 2 and q[-1] == k[-1] and k[-2] == v[-2]
    try:
        if fits:
            return np.broadcast_shapes(q[:-2], k[:-2], v[:-2])
    except ValueError:
        pass
    raise ShapeError(
        f"{name}: query of shape {q}, key of shape {k} and value of shape {v}: expected "
        "(..., L, E), (..., S, E) and (..., S, V), with first axes that broadcast"
    )


def check_mask(name, mask, is_causal, scores):
    """Raise an error for a mask of the wrong kind or shape, or beside is_causal."""
    if mask is None:
        return
    if is_causal:
        raise ArgumentError(f"{name}: is_causal=True with an attn_mask: expected one of them")
    check_arrays(name, attn_mask=mask)
    if mask.dtype.kind != "b" and not is_float(mask.dtype):
        raise DTypeError(f"{name}: attn_mask of {mask.dtype}: expected booleans or floats")
    fits = [n in (1, size) for n, size in zip(mask.shape[::-1], scores[::-1])]
    if mask.ndim > len(scores) or not all(fits):
        raise ShapeError(
            f"{name}: attn_mask of shape {mask.shape} does not broadcast to scores of {scores}"
        )
