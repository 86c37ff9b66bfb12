"""Attention with several heads (Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2)."""

import math
from typing import Any

import numpy as np

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.nn import initial
from minifp.nn.checks import positive, probability
from minifp.nn.linear import Linear
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.numerics.formats import downcast, is_float
from minifp.ops.products.attention import attend


def _xavier(rows, columns):
    return Parameter(initial.uniform((rows, columns), math.sqrt(6 / (rows + columns))))


class MultiheadAttention(Module):
    """Queries look keys up in `num_heads` slices of embed_dim, and get the values found there.

    Parameters in_proj_weight (3E, E), of queries, keys and values, or, where keys or values have
    another size than queries, q_proj_weight (E, E), k_proj_weight (E, kdim) and v_proj_weight
    (E, vdim): U(-a, a), a = sqrt(6 / (rows + columns)) (Glorot and Bengio 2010); in_proj_bias (3E),
    zeros; out_proj, a Linear whose bias begins as zeros. dropout: of weights, in training.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
    ) -> None:
        kdim, vdim = (embed_dim if n is None else n for n in (kdim, vdim))
        positive(embed_dim=embed_dim, num_heads=num_heads, kdim=kdim, vdim=vdim)
        probability("MultiheadAttention", dropout=dropout)
        if embed_dim % num_heads:
            raise ArgumentError(f"num_heads={num_heads} must divide embed_dim={embed_dim}")
        for name, given in {"add_bias_kv": add_bias_kv, "add_zero_attn": add_zero_attn}.items():
            if given:
                raise ArgumentError(f"MultiheadAttention: {name}=True is not supported")
        check_flag("bias", bias)
        check_flag("batch_first", batch_first)
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim, self.vdim, self.batch_first = kdim, vdim, batch_first
        self.in_proj_weight = None
        self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if kdim == vdim == embed_dim:
            self.in_proj_weight = _xavier(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = _xavier(embed_dim, embed_dim)
            self.k_proj_weight = _xavier(embed_dim, kdim)
            self.v_proj_weight = _xavier(embed_dim, vdim)
        self.in_proj_bias = Parameter(initial.zeros((3 * embed_dim,))) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if self.out_proj.bias is not None:
            self.out_proj.bias.data = initial.zeros((embed_dim,))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """(result, weights): (L, N, E) and (N, L, S), or None unless need_weights.

        query: (L, N, E)  key: (S, N, kdim)  value: (S, N, vdim), or (N, L, E) and so on with
        batch_first, or all without N. attn_mask: (L, S) or (N heads, L, S). key_padding_mask:
        (N, S), or (S) without N. Both are booleans, True for a key that is *not* seen, or numbers
        that are added to the scores. average_attn_weights: whether weights are the mean over heads,
        or (N, heads, L, S). is_causal: a hint that attn_mask, which must be given, is causal. A
        query that sees no key has weights 0.
        """
        batched = self._check(query, key, value)
        if is_causal and attn_mask is None:
            raise ArgumentError("MultiheadAttention: is_causal=True needs the causal attn_mask")
        same = query is key and key is value
        query, key, value = (self._steps_first(x, batched) for x in (query, key, value))
        (L, N), S = query.shape[:2], key.shape[0]
        q, k, v = map(self._heads, self._projected(query, key, value, same))
        mask = self._mask(attn_mask, key_padding_mask, (N, self.num_heads, L, S), batched)
        dropout = self.dropout if self.training else 0.0
        found = attend(q, k, v, mask, dropout, need_weights=need_weights)
        y = found[0] if need_weights else found
        y = self.out_proj(y.permute(2, 0, 1, 3).reshape(L, N, self.embed_dim))
        y = y.transpose(0, 1) if self.batch_first else y
        y = y if batched else y.reshape(L, self.embed_dim)
        if not need_weights:
            return y, None
        weights = found[1].mean(1) if average_attn_weights else found[1]
        return y, (weights if batched else weights.reshape(weights.shape[1:]))

    def _steps_first(self, x, batched):
        if not batched:
            return x.unsqueeze(1)
        return x.transpose(0, 1) if self.batch_first else x

    def _projected(self, query, key, value, same):
        """Queries, keys and values in the size of queries."""
        if same and self.in_proj_weight is not None:
            return ops.chunk(ops.linear(query, self.in_proj_weight, self.in_proj_bias), 3, -1)
        weights: tuple[Any, ...] = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        if self.in_proj_weight is not None:
            weights = ops.chunk(self.in_proj_weight, 3)
        biases: tuple[Any, ...] = (
            (None,) * 3 if self.in_proj_bias is None else ops.chunk(self.in_proj_bias, 3)
        )
        return map(ops.linear, (query, key, value), weights, biases)

    def _heads(self, x):
        """(T, N, E) as (N, heads, T, E / heads)."""
        return x.reshape(*x.shape[:2], self.num_heads, -1).permute(1, 2, 0, 3)

    def _mask(self, attn_mask, key_padding_mask, scores, batched):
        """One mask for both, as attention takes it: booleans that are True for a key that is seen,
        or numbers to be added."""
        N, H, L, S = scores
        masks = []
        for name, mask, shapes in (
            ("attn_mask", attn_mask, {(L, S): (L, S), (N * H, L, S): scores}),
            ("key_padding_mask", key_padding_mask, {(N, S)[not batched :]: (N, 1, 1, S)}),
        ):
            if mask is not None:
                masks.append(_as_mask(name, mask, shapes))
        if len(masks) < 2:
            return masks[0] if masks else None
        kinds = [m.dtype.kind for m in masks]
        if kinds == ["b", "b"]:
            return Tensor(masks[0].array & masks[1].array)
        dtype = masks[kinds.index("f")].dtype
        first, second = (_as_added(m, dtype) for m in masks)
        return first + second

    def _check(self, query, key, value):
        """Whether there is an axis N. Raises DTypeError or ShapeError for what does not fit."""
        for name, x in (("query", query), ("key", key), ("value", value)):
            if not isinstance(x, Tensor):
                raise DTypeError(
                    f"MultiheadAttention: {name} is a {type(x).__name__}: expected a tensor"
                )
        shapes = [x.shape for x in (query, key, value)]
        sizes = [s[-1:] for s in shapes] == [(self.embed_dim,), (self.kdim,), (self.vdim,)]
        ndims = {len(s) for s in shapes}
        n = 0 if self.batch_first else 1
        if (
            not sizes
            or ndims not in ({2}, {3})
            or shapes[1][:-1] != shapes[2][:-1]
            or (ndims == {3} and shapes[0][n] != shapes[1][n])
        ):
            order = "N, L" if self.batch_first else "L, N"
            raise ShapeError(
                f"MultiheadAttention: query, key and value of shapes {shapes}: expected "
                f"({order}, {self.embed_dim}), ({order.replace('L', 'S')}, {self.kdim}) and "
                f"({order.replace('L', 'S')}, {self.vdim}), or all without N"
            )
        return ndims == {3}

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}, dropout={self.dropout}"


def _as_mask(name, mask, shapes):
    """A mask in the shape that its own stands for; booleans turned: True for what is seen."""
    if not isinstance(mask, Tensor) or not (mask.dtype.kind == "b" or is_float(mask.dtype)):
        what = getattr(mask, "dtype", type(mask).__name__)
        raise DTypeError(f"MultiheadAttention: {name} is {what}: expected booleans or floats")
    if mask.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ShapeError(f"MultiheadAttention: {name} of shape {mask.shape}: expected {expected}")
    shape = shapes[mask.shape]
    return Tensor(~mask.array.reshape(shape)) if mask.dtype.kind == "b" else mask.reshape(shape)


def _as_added(mask, dtype):
    """A mask as numbers to be added."""
    if mask.dtype.kind != "b":
        return mask
    return Tensor(downcast(np.where(mask.array, 0, -np.inf), dtype))
