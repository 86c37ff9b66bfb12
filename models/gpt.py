"""A language model of Transformer decoders: (B, T) codes -> (B, vocabulary, T) logits.

GPT-2 (Radford et al. 2019), with the names, keys and sizes of nanoGPT, whose weights it takes.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from minifp import nn
from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, ShapeError
from minifp.nn import functional as F
from minifp.ops import arange, cat, multinomial, topk

STD = 0.02  # of weights to begin with


@dataclass(frozen=True)
class GPTConfig:
    """block_size: the longest text, in codes. vocab_size: how many codes there are. n_layer blocks
    of n_head heads, on n_embd features. bias: of linear layers and norms."""

    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.0
    bias: bool = True


class CausalSelfAttention(nn.Module):
    """Attention of each step to itself and those before it: (B, T, E) -> the same shape."""

    def __init__(self, config: GPTConfig) -> None:
        E = config.n_embd
        if E % config.n_head:
            raise ArgumentError(f"GPT: n_head={config.n_head} must divide n_embd={E}")
        self.n_head, self.dropout = config.n_head, config.dropout
        self.c_attn = nn.Linear(E, 3 * E, bias=config.bias)
        self.c_proj = nn.Linear(E, E, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        B, T, E = x.shape
        parts = self.c_attn(x).reshape(B, T, 3, self.n_head, -1).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).reshape(B, T, E)))


class FeedForward(nn.Module):
    """Two linear layers with a GELU between, on each step."""

    def __init__(self, config: GPTConfig) -> None:
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    """x + attention(norm(x)), and that plus mlp(norm(that))."""

    def __init__(self, config: GPTConfig) -> None:
        self.ln_1 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = FeedForward(config)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """GPT-2's smallest by default: 124 million weights. The scores' weights are the embedding's.

    config: a GPTConfig; settings: its fields, by name, in place of those of the config.
    """

    def __init__(self, config: GPTConfig | None = None, **settings: Any) -> None:
        self.config = config = replace(config or GPTConfig(), **settings)
        E = config.n_embd
        wte = nn.Embedding(config.vocab_size, E)
        self.transformer: Any = nn.ModuleDict(
            {
                "wte": wte,
                "wpe": nn.Embedding(config.block_size, E),
                "drop": nn.Dropout(config.dropout),
                "h": nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                "ln_f": nn.LayerNorm(E, bias=config.bias),
            }
        )
        self.lm_head = nn.Linear(E, config.vocab_size, bias=False)
        wte.weight = self.lm_head.weight
        for name, p in self.named_parameters():
            if p.ndim > 1:  # what is added to x, 2 n_layer times, begins smaller
                added = name.endswith("c_proj.weight")
                nn.init.normal_(p, std=STD / math.sqrt(2 * config.n_layer) if added else STD)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, codes: Tensor) -> Tensor:
        """The scores of each code's next one, in the shape that `F.cross_entropy` takes."""
        T = codes.shape[-1]
        if T > self.config.block_size:
            most = self.config.block_size
            raise ShapeError(f"GPT: {T} codes: expected at most block_size={most}")
        parts = self.transformer
        x = parts.drop(parts.wte(codes) + parts.wpe(arange(T, device=codes.device)))
        for block in parts.h:
            x = block(x)
        return self.lm_head(parts.ln_f(x)).transpose(1, 2)

    def generate(
        self, codes: Tensor, max_new_tokens: int, temperature: float = 1.0, top_k: int | None = None
    ) -> Tensor:
        """The codes (B, T) and `max_new_tokens` more, each drawn by its probability.

        temperature: divides the scores. top_k: how many of the likeliest are drawn from; all where
        it is None. Dropout is as the mode says: call eval() before.
        """
        with no_grad():
            for _ in range(max_new_tokens):
                scores = self(codes[:, -self.config.block_size :])[:, :, -1] / temperature
                if top_k is not None:
                    least = topk(scores, min(top_k, scores.shape[-1]))[0][:, -1:]
                    scores = scores.masked_fill(scores < least, -math.inf)
                codes = cat([codes, multinomial(F.softmax(scores, -1), 1)], 1)
        return codes
