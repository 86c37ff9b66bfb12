"""A vision transformer, tiny (Dosovitskiy et al. 2020, arXiv:2010.11929; its size: Touvron et al.
2020, arXiv:2012.12877, table 1): (N, C, size, size) -> (N, classes). Names as in torchvision."""

import math

from minifp.models.parts import Named, check_stem, fill_bias

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.checks import check_count, check_range
from minifp.errors import ArgumentError, ShapeError
from minifp.ops import cat, zeros

HEADS, OF_A_HEAD, DEPTH = 3, 64, 12
EPS = 1e-6
DEEPEST = 1000  # blocks, of which each one takes its time to be made


class EncoderBlock(nn.Module):
    """x + attention(norm(x)), and that plus mlp(norm(that)): (N, places, E) -> the same shape."""

    def __init__(self, size: int, heads: int, hidden: int, dropout: float) -> None:
        self.ln_1 = nn.LayerNorm(size, eps=EPS)
        self.self_attention = nn.MultiheadAttention(size, heads, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = nn.LayerNorm(size, eps=EPS)
        inner = nn.Linear(size, hidden), nn.GELU(), nn.Dropout(dropout)
        self.mlp = nn.Sequential(*inner, nn.Linear(hidden, size), nn.Dropout(dropout))
        for layer in self.mlp.children():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                fill_bias(layer, 0.0)

    def forward(self, x: Tensor) -> Tensor:
        y = self.ln_1(x)
        x = x + self.dropout(self.self_attention(y, y, y, need_weights=False)[0])
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Blocks over places that know where they are."""

    def __init__(self, places: int, depth: int, size: int, heads: int, dropout: float) -> None:
        self.pos_embedding = nn.Parameter(zeros(1, places, size))
        nn.init.normal_(self.pos_embedding, std=0.02)
        self.dropout = nn.Dropout(dropout)
        blocks = (EncoderBlock(size, heads, 4 * size, dropout) for _ in range(depth))
        self.layers = Named(**{f"encoder_layer_{i}": block for i, block in enumerate(blocks)})
        self.ln = nn.LayerNorm(size, eps=EPS)

    def forward(self, x: Tensor) -> Tensor:
        return self.ln(self.layers(self.dropout(x + self.pos_embedding)))


class ViTTiny(nn.Module):
    """Twelve blocks of three heads of 64: 5.7 million weights with 1,000 classes.

    size: of the square pictures, 224, or 32 with another stem. Pictures are taken as patches of 16
    (4 with stem="small", 8 with "smaller") pixels a side. width: multiplies the heads.
    """

    def __init__(
        self,
        classes: int = 1000,
        channels: int = 3,
        stem: str = "large",
        width: float = 1.0,
        size: int | None = None,
        depth: int = DEPTH,
        dropout: float = 0.0,
    ) -> None:
        check_stem(stem)
        self.patch = {"large": 16, "small": 4, "smaller": 8}[stem]
        self.size = size or (224 if stem == "large" else 32)
        if self.size % self.patch:
            raise ArgumentError(
                f"ViTTiny: size={size}: expected a multiple of its patches of {self.patch}"
            )
        check_range("width", width, 1 / 64, 64)
        if check_count("ViTTiny: depth", depth) > DEEPEST:
            raise ArgumentError(f"ViTTiny: depth={depth}: expected at most {DEEPEST:,}")
        heads = max(1, round(HEADS * width))
        inside = heads * OF_A_HEAD
        self.class_token = nn.Parameter(zeros(1, 1, inside))
        self.conv_proj = nn.Conv2d(channels, inside, self.patch, stride=self.patch)
        places = (self.size // self.patch) ** 2 + 1
        self.encoder = Encoder(places, depth, inside, heads, dropout)
        head = nn.Linear(inside, classes)
        self.heads = Named(head=head)
        fan_in = channels * self.patch**2
        nn.init.normal_(self.conv_proj.weight, std=math.sqrt(1 / fan_in))
        fill_bias(self.conv_proj, 0.0)
        nn.init.zeros_(head.weight)
        fill_bias(head, 0.0)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[2:] != (self.size, self.size):
            raise ShapeError(
                f"ViTTiny: pictures of {x.shape[2]}x{x.shape[3]}: this one was made for "
                f"size={self.size}"
            )
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        first = self.class_token.expand(x.shape[0], -1, -1)
        return self.heads(self.encoder(cat([first, x], 1))[:, 0])
