"""Inception v3 (Szegedy et al. 2015, arXiv:1512.00567, table 1 and figures 5 to 10):
(N, C, 299, 299) -> (N, classes). Names and weights as in torchvision."""

from typing import Any, NamedTuple

from minifp.models.parts import ConvNorm, check_stem, drawn_normal, scaled

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.nn import functional as F
from minifp.ops import cat

LONG = 7  # of the convolutions that are taken apart, 7x1 after 1x7


class InceptionOutputs(NamedTuple):
    """What a network with the auxiliary classifier gives in training: scores (N, classes) each."""

    logits: Tensor
    aux_logits: Tensor


def along(inputs: int, outputs: int, axis: int, length: int = LONG) -> ConvNorm:
    """A convolution of `length` places along rows (1) or columns (0), which keeps the size."""
    size = (1, length) if axis else (length, 1)
    return ConvNorm(inputs, outputs, size, padding=tuple(n // 2 for n in size))


class Branches(nn.Module):
    """Branches side by side as channels. chains: of each, the names of the layers in their order;
    of a name with "|" between, those are applied to the same and stand side by side."""

    chains: tuple[tuple[str, ...], ...] = ()
    outputs = 0

    def pooled(self, x: Tensor) -> Tensor:
        """What the last branch begins with."""
        return F.avg_pool2d(x, 3, 1, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        ends = []
        for chain in self.chains:
            y = self.pooled(x) if chain[:1] in ((), ("branch_pool",)) else x
            for name in chain:
                forks = [getattr(self, n)(y) for n in name.split("|")]
                y = cat(forks, 1) if len(forks) > 1 else forks[0]
            ends.append(y)
        return cat(ends, 1)


class InceptionA(Branches):
    """1x1, 5x5, two of 3x3, and pooling (figure 5, with one 5x5 kept)."""

    chains = (
        ("branch1x1",),
        ("branch5x5_1", "branch5x5_2"),
        ("branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3"),
        ("branch_pool",),
    )

    def __init__(self, inputs: int, after_pool: int, n) -> None:
        self.branch1x1 = ConvNorm(inputs, n(64))
        self.branch5x5_1 = ConvNorm(inputs, n(48))
        self.branch5x5_2 = ConvNorm(n(48), n(64), 5, padding=2)
        self.branch3x3dbl_1 = ConvNorm(inputs, n(64))
        self.branch3x3dbl_2 = ConvNorm(n(64), n(96), 3, padding=1)
        self.branch3x3dbl_3 = ConvNorm(n(96), n(96), 3, padding=1)
        self.branch_pool = ConvNorm(inputs, n(after_pool))
        self.outputs = 2 * n(64) + n(96) + n(after_pool)


class Halving(Branches):
    """Blocks that halve the size, and pass through what they pool (figure 10)."""

    def pooled(self, x: Tensor) -> Tensor:
        return F.max_pool2d(x, 3, 2)


class InceptionB(Halving):
    """3x3, two of 3x3, and pooling."""

    chains = (("branch3x3",), ("branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3"), ())

    def __init__(self, inputs: int, n) -> None:
        self.branch3x3 = ConvNorm(inputs, n(384), 3, stride=2)
        self.branch3x3dbl_1 = ConvNorm(inputs, n(64))
        self.branch3x3dbl_2 = ConvNorm(n(64), n(96), 3, padding=1)
        self.branch3x3dbl_3 = ConvNorm(n(96), n(96), 3, stride=2)
        self.outputs = n(384) + n(96) + inputs


class InceptionC(Branches):
    """1x1, 1x7 and 7x1, both twice, and pooling (figure 6)."""

    chains = (
        ("branch1x1",),
        ("branch7x7_1", "branch7x7_2", "branch7x7_3"),
        tuple(f"branch7x7dbl_{i}" for i in range(1, 6)),
        ("branch_pool",),
    )

    def __init__(self, inputs: int, inside: int, n) -> None:
        c, out = n(inside), n(192)
        self.branch1x1 = ConvNorm(inputs, out)
        self.branch7x7_1 = ConvNorm(inputs, c)
        self.branch7x7_2, self.branch7x7_3 = along(c, c, 1), along(c, out, 0)
        self.branch7x7dbl_1 = ConvNorm(inputs, c)
        self.branch7x7dbl_2, self.branch7x7dbl_3 = along(c, c, 0), along(c, c, 1)
        self.branch7x7dbl_4, self.branch7x7dbl_5 = along(c, c, 0), along(c, out, 1)
        self.branch_pool = ConvNorm(inputs, out)
        self.outputs = 4 * out


class InceptionD(Halving):
    """3x3, 1x7 and 7x1 and 3x3, and pooling."""

    chains = (("branch3x3_1", "branch3x3_2"), tuple(f"branch7x7x3_{i}" for i in range(1, 5)), ())

    def __init__(self, inputs: int, n) -> None:
        self.branch3x3_1 = ConvNorm(inputs, n(192))
        self.branch3x3_2 = ConvNorm(n(192), n(320), 3, stride=2)
        self.branch7x7x3_1 = ConvNorm(inputs, n(192))
        self.branch7x7x3_2, self.branch7x7x3_3 = along(n(192), n(192), 1), along(n(192), n(192), 0)
        self.branch7x7x3_4 = ConvNorm(n(192), n(192), 3, stride=2)
        self.outputs = n(320) + n(192) + inputs


class InceptionE(Branches):
    """1x1, 3x3 as 1x3 beside 3x1, both after 3x3 too, and pooling (figure 7)."""

    chains = (
        ("branch1x1",),
        ("branch3x3_1", "branch3x3_2a|branch3x3_2b"),
        ("branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3a|branch3x3dbl_3b"),
        ("branch_pool",),
    )

    def __init__(self, inputs: int, n) -> None:
        c = n(384)
        self.branch1x1 = ConvNorm(inputs, n(320))
        self.branch3x3_1 = ConvNorm(inputs, c)
        self.branch3x3_2a, self.branch3x3_2b = along(c, c, 1, 3), along(c, c, 0, 3)
        self.branch3x3dbl_1 = ConvNorm(inputs, n(448))
        self.branch3x3dbl_2 = ConvNorm(n(448), c, 3, padding=1)
        self.branch3x3dbl_3a, self.branch3x3dbl_3b = along(c, c, 1, 3), along(c, c, 0, 3)
        self.branch_pool = ConvNorm(inputs, n(192))
        self.outputs = n(320) + 4 * c + n(192)


class InceptionAux(nn.Module):
    """The classifier of what stands before the last halving (section 4)."""

    def __init__(self, inputs: int, classes: int, n, large: bool) -> None:
        self.conv0 = ConvNorm(inputs, n(128))
        self.conv1 = ConvNorm(n(128), n(768), 5)
        self.fc = nn.Linear(n(768), classes)
        self.large = large

    def forward(self, x: Tensor) -> Tensor:
        x = F.avg_pool2d(x, 5, 3) if self.large else F.adaptive_avg_pool2d(x, 5)
        return self.fc(self.conv1(self.conv0(x)).mean((2, 3)))


class InceptionV3(nn.Module):
    """Eleven inception blocks. stem, width: see parts.py.

    auxiliary: whether there is an auxiliary classifier; in training the result is InceptionOutputs
    then, for a loss such as `with_auxiliary(F.cross_entropy, 0.4)`. torchvision's
    published weights have one: auxiliary=True takes them. They expect pictures with channels from
    -1 to 1 (its transform_input), which is left to whoever makes the pictures.
    """

    def __init__(
        self,
        classes: int = 1000,
        channels: int = 3,
        stem: str = "large",
        width: float = 1.0,
        auxiliary: bool = False,
        dropout: float = 0.5,
    ) -> None:
        halvings = check_stem(stem)
        large = stem == "large"

        def n(channels):
            return scaled(channels, width)

        stride, around = (2, 0) if large else (1 + halvings, 1)
        self.Conv2d_1a_3x3 = ConvNorm(channels, n(32), 3, stride=stride, padding=around)
        self.Conv2d_2a_3x3 = ConvNorm(n(32), n(32), 3, padding=around)
        self.Conv2d_2b_3x3 = ConvNorm(n(32), n(64), 3, padding=1)
        self.maxpool1 = nn.MaxPool2d(3, 2) if large else nn.Identity()
        self.Conv2d_3b_1x1 = ConvNorm(n(64), n(80))
        self.Conv2d_4a_3x3 = ConvNorm(n(80), n(192), 3, padding=around)
        self.maxpool2 = nn.MaxPool2d(3, 2) if large else nn.Identity()
        inputs, self.order = n(192), []
        blocks: dict[str, tuple[Any, ...]] = {
            "5b": (InceptionA, 32), "5c": (InceptionA, 64), "5d": (InceptionA, 64),
            "6a": (InceptionB,), "6b": (InceptionC, 128), "6c": (InceptionC, 160),
            "6d": (InceptionC, 160), "6e": (InceptionC, 192),
            "7a": (InceptionD,), "7b": (InceptionE,), "7c": (InceptionE,),
        }  # fmt: skip
        for name, (kind, *counts) in blocks.items():
            block = kind(inputs, *counts, n)
            setattr(self, f"Mixed_{name}", block)
            self.order.append(f"Mixed_{name}")
            inputs = block.outputs
            if name == "6e":
                self.AuxLogits = InceptionAux(inputs, classes, n, large) if auxiliary else None
        self.dropout, self.fc = nn.Dropout(dropout), nn.Linear(inputs, classes)
        drawn_normal(self, linear=0.1, conv=0.1)

    def forward(self, x: Tensor) -> Tensor | InceptionOutputs:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x)))
        x, halfway = self.maxpool2(x), None
        for name in self.order:
            x = getattr(self, name)(x)
            if name == "Mixed_6e" and self.AuxLogits is not None and self.training:
                halfway = self.AuxLogits(x)
        scores = self.fc(self.dropout(x.mean((2, 3))))
        return scores if halfway is None else InceptionOutputs(scores, halfway)
