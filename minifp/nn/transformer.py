"""Transformers (Vaswani et al. 2017, arXiv:1706.03762, section 3), with PyTorch's arguments.

A layer has parts: attention to itself, in a decoder attention to what an encoder made (memory), and
two linear layers with an activation between. Each part changes x in one of two ways:

    x = norm(x + dropout(part(x)))        or, with norm_first,  x = x + dropout(part(norm(x)))

src: (S, N, E)  tgt: (T, N, E)  memory: (S, N, E), or (N, S, E) and so on with batch_first, or all
without N; E = d_model. A result has the shape of src, or of tgt. Masks are those of
MultiheadAttention, which raises what is raised for them and for shapes: booleans, True for a key
that is *not* seen, or numbers that are added to the scores. is_causal: a hint that the mask beside
it, which must be given, is causal. A query that sees no key gets nothing from attention (in PyTorch
it becomes NaN).
"""

import copy
import math
from collections.abc import Callable
from typing import Any, ClassVar

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.nn import init
from minifp.nn.attention import MultiheadAttention
from minifp.nn.checks import positive
from minifp.nn.container import ModuleList
from minifp.nn.dropout import Dropout
from minifp.nn.linear import Linear
from minifp.nn.module import Module
from minifp.nn.normalization import LayerNorm
from minifp.typing import DType

Activation = str | Callable[[Tensor], Tensor]
ACTIVATIONS = ("relu", "gelu")
OF_DECODER = "tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask"
OF_DECODER += "tgt_is_causal", "memory_is_causal"


class _Layer(Module):
    """What layers of encoders and decoders share: their parts, by PyTorch's names."""

    multiplies = False
    attentions: ClassVar[tuple[str, ...]]
    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        check_flag("norm_first", norm_first)
        self.norm_first = norm_first
        for name in self.attentions:
            layer = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
            setattr(self, name, layer)
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        parts = range(1, len(self.attentions) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation: Any = getattr(F, activation) if activation in ACTIVATIONS else activation
        if not callable(self.activation):
            raise ArgumentError(
                f"{type(self).__name__}: activation={activation!r}: expected "
                f"{', '.join(map(repr, ACTIVATIONS))}, or a function of a tensor"
            )

    def _changed(self, x, part, i):
        """x, changed by part i."""
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        if self.norm_first:
            return x + dropout(part(norm(x)))
        return norm(x + dropout(part(x)))

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


def _looking(attention, memory, mask, key_padding_mask, is_causal):
    """The part that is attention to memory, or where that is None to x itself."""

    def part(x):
        keys = x if memory is None else memory
        masks = {"attn_mask": mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        return attention(x, keys, keys, need_weights=False, **masks)[0]

    return part


class TransformerEncoderLayer(_Layer):
    """Attention of src to itself (self_attn, norm1), then linear1 and linear2 (norm2).

    dim_feedforward: the size between them. dropout: also of attention's weights. activation:
    "relu", "gelu", or a function. bias: whether layers, and norms, have one.
    """

    attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        look = _looking(self.self_attn, None, src_mask, src_key_padding_mask, is_causal)
        return self._changed(self._changed(src, look, 1), self._feed_forward, 2)


class TransformerDecoderLayer(_Layer):
    """Attention of tgt to itself (self_attn, norm1) and to memory (multihead_attn, norm2), then
    linear1 and linear2 (norm3). Arguments as of TransformerEncoderLayer."""

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = None, tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        x = self._changed(tgt, _looking(self.self_attn, *own), 1)
        x = self._changed(x, _looking(self.multihead_attn, *other), 2)
        return self._changed(x, self._feed_forward, 3)


class _Stack(Module):
    """Copies of one layer, which begin with its weights, one after the other, and then `norm`."""

    multiplies = False

    def _hold(self, layer, num_layers, norm):
        positive(num_layers=num_layers)
        if not isinstance(layer, Module):
            kind = type(layer).__name__
            raise ArgumentError(f"{type(self).__name__}: a {kind}: expected a layer, a Module")
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def _through(self, x, *args, **named):
        for layer in self.layers:
            x = layer(x, *args, **named)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """`num_layers` copies of encoder_layer, and then `norm`, if there is one.

    enable_nested_tensor, mask_check: taken as in PyTorch, where they are of speed; padding is
    computed like the rest.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        self._hold(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        masks = {"src_mask": mask, "src_key_padding_mask": src_key_padding_mask}
        return self._through(src, is_causal=bool(is_causal), **masks)


class TransformerDecoder(_Stack):
    """`num_layers` copies of decoder_layer, all of which see memory, and then `norm`."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        self._hold(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        hints = {"tgt_is_causal": bool(tgt_is_causal), "memory_is_causal": memory_is_causal}
        return self._through(tgt, memory, *masks, **hints)


class Transformer(Module):
    """An encoder of src, and a decoder of tgt that looks at its result; both end with a LayerNorm.

    Matrices begin as U(-a, a), a = sqrt(6 / (rows + columns)). custom_encoder, custom_decoder: what
    is called in place of TransformerEncoder and TransformerDecoder. Other arguments as of a layer.
    """

    multiplies = False

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        sizes = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps
        flags = batch_first, norm_first, bias

        def stacked(stack, layer, n):
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias)
            return stack(layer(*sizes, *flags), n, norm)

        self.encoder: Any = custom_encoder
        if custom_encoder is None:
            layer = TransformerEncoderLayer
            self.encoder = stacked(TransformerEncoder, layer, num_encoder_layers)
        self.decoder: Any = custom_decoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer
            self.decoder = stacked(TransformerDecoder, layer, num_decoder_layers)
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        *,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        arguments = locals()
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(tgt, memory, **{name: arguments[name] for name in OF_DECODER})

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: str | None = None, dtype: DType | None = None
    ) -> Tensor:
        """The mask (sz, sz) with which step i sees steps 0 to i: 0 for them, -Inf for others."""
        positive(sz=sz)
        return ops.triu(ops.full((sz, sz), -math.inf, dtype=dtype, device=device), 1)
