"""Attention of a decoder to what an encoder has read, one score for each step and position.

    p = softmax of the scores over the positions that are there      context = sum_s p_s k_s

Additive scores: Bahdanau, Cho and Bengio 2015 (arXiv:1409.0473, appendix A.1.2); products: Luong,
Pham and Manning 2015 (arXiv:1508.04025, equation 8). What does not depend on the decoder's state is
computed once a sentence, by `projected`; a loop over steps hands it in.
"""

import math
from typing import TypeAlias

import numpy as np

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.nn import functional as F
from minifp.nn import initial
from minifp.nn.checks import positive
from minifp.nn.linear import Linear
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.ops.products.attention import attend
from minifp.runtime.device import device_of, moved

Mask: TypeAlias = Tensor | np.ndarray | None
SCORES = ("dot", "general")


class _Alignment(Module):
    """What both kinds share: their arguments, and that keys are projected once."""

    query_size: int
    key_size: int

    def projected(self, keys: Tensor) -> Tensor:
        """What scores need of the keys (B, S, K) alone: (B, S, A)."""
        raise NotImplementedError

    def _attended(self, query, keys, seen, projected):
        """(context, weights) of queries (B, T, Q)."""
        raise NotImplementedError

    def forward(
        self, query: Tensor, keys: Tensor, mask: Mask = None, projected: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The context of each step, (B, T, K), and the weights, (B, T, S), whose rows sum to 1.

        query: (B, T, Q), of T steps, or (B, Q) of one; the results are then without T.
        keys: (B, S, K). mask: (B, S) booleans, True for a position that is there; all by default.
        projected: `self.projected(keys)`, where it is computed once for many calls.

        Raises DTypeError or ShapeError for what does not fit, and ArgumentError for a mask without
        any position for one of the batch.
        """
        self._check(query, keys)
        seen = None if mask is None else _as_seen(type(self).__name__, mask, keys)
        one_step = query.ndim == 2
        query = ops.unsqueeze(query, 1) if one_step else query
        projected = self.projected(keys) if projected is None else projected
        found = self._attended(query, keys, seen, projected)
        return (ops.squeeze(found[0], 1), ops.squeeze(found[1], 1)) if one_step else found

    def _check(self, query, keys):
        name = type(self).__name__
        for what, x in (("query", query), ("keys", keys)):
            if not isinstance(x, Tensor):
                raise DTypeError(f"{name}: {what} is a {type(x).__name__}: expected a tensor")
        q, k = query.shape, keys.shape
        fits = len(q) in (2, 3) and len(k) == 3 and q[0] == k[0]
        if not fits or (q[-1], k[-1]) != (self.query_size, self.key_size):
            raise ShapeError(
                f"{name}: query of shape {q} and keys of shape {k}: expected (B, T, "
                f"{self.query_size}) or (B, {self.query_size}), and (B, S, {self.key_size})"
            )


def _as_seen(name, mask, keys):
    """A mask as a tensor (B, 1, S) where the keys (B, S, K) are."""
    seen = moved(mask.array if isinstance(mask, Tensor) else np.asarray(mask), "cpu")
    shape = keys.shape[:2]
    if seen.dtype.kind != "b":
        raise DTypeError(f"{name}: mask of {seen.dtype}: expected booleans")
    if seen.shape != shape:
        raise ShapeError(f"{name}: mask of shape {seen.shape}, expected {shape}")
    if not seen.any(1).all():
        raise ArgumentError(
            f"{name}: the mask of row {seen.any(1).argmin()} allows no position: expected one or "
            "more"
        )
    return ops.tensor(seen[:, None], device=device_of(keys.array))


class LuongAttention(_Alignment):
    """Scores are products: q k with score="dot" (query_size = key_size), or q (W k), "general".

    key_projection: Linear(key_size, query_size, bias=False), of "general" only.
    """

    def __init__(self, query_size: int, key_size: int, score: str = "general") -> None:
        positive(query_size=query_size, key_size=key_size)
        check_choice("LuongAttention: score", score, SCORES)
        if score == "dot" and query_size != key_size:
            raise ArgumentError(
                f"LuongAttention: query_size={query_size} and key_size={key_size} with "
                "score='dot': expected the same size, or score='general'"
            )
        self.query_size, self.key_size, self.score = query_size, key_size, score
        general = score == "general"
        self.key_projection = Linear(key_size, query_size, bias=False) if general else None

    def projected(self, keys: Tensor) -> Tensor:
        """W k of each position, (B, S, Q); with score="dot" the keys themselves."""
        return keys if self.key_projection is None else self.key_projection(keys)

    def _attended(self, query, keys, seen, projected):
        return attend(query, projected, keys, seen, 0.0, scale=1.0, need_weights=True)

    def extra_repr(self) -> str:
        return f"{self.query_size}, {self.key_size}, score={self.score!r}"


class BahdanauAttention(_Alignment):
    """Scores are v tanh(W q + U k).

    query_projection: Linear(query_size, hidden_size, bias=False), W; key_projection: U, likewise
    with key_size; weight: v (hidden_size), U(-a, a) with a = 1 / sqrt(hidden_size).
    """

    def __init__(self, query_size: int, key_size: int, hidden_size: int) -> None:
        positive(query_size=query_size, key_size=key_size, hidden_size=hidden_size)
        self.query_size, self.key_size, self.hidden_size = query_size, key_size, hidden_size
        self.query_projection = Linear(query_size, hidden_size, bias=False)
        self.key_projection = Linear(key_size, hidden_size, bias=False)
        self.weight = Parameter(initial.uniform((hidden_size,), 1 / math.sqrt(hidden_size)))

    def projected(self, keys: Tensor) -> Tensor:
        """U k of each position, (B, S, A)."""
        return self.key_projection(keys)

    def _attended(self, query, keys, seen, projected):
        q = ops.unsqueeze(self.query_projection(query), 2)
        scores = ops.tanh(q + ops.unsqueeze(projected, 1)) @ self.weight
        if seen is not None:
            scores = ops.where(ops.broadcast_to(seen, scores.shape), scores, -math.inf)
        weights = F.softmax(scores, -1)
        return weights @ keys, weights

    def extra_repr(self) -> str:
        return f"{self.query_size}, {self.key_size}, {self.hidden_size}"
