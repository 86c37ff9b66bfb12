"""GoogLeNet (Szegedy et al. 2014, arXiv:1409.4842, table 1): (N, C, 224, 224) -> (N, classes).

By default with batch normalisation and 3x3 convolutions where the paper has 5x5, as torchvision,
whose names and weights these are. original=True is the paper's: 5x5, biases, local response
normalisation, and two auxiliary classifiers in training, whose losses count 0.3 each.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from minifp.models.parts import ConvNorm, check_stem, drawn_normal, scaled

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.nn import functional as F
from minifp.ops import cat

# Of each block: 1x1; 1x1 and 3x3; 1x1 and 5x5; 1x1 after pooling. A new list: pooling before it.
BLOCKS = (
    {"3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64)},
    {
        "4a": (192, 96, 208, 16, 48, 64),
        "4b": (160, 112, 224, 24, 64, 64),
        "4c": (128, 128, 256, 24, 64, 64),
        "4d": (112, 144, 288, 32, 64, 64),
        "4e": (256, 160, 320, 32, 128, 128),
    },
    {"5a": (256, 160, 320, 32, 128, 128), "5b": (384, 192, 384, 48, 128, 128)},
)
AUXILIARY = {"4a": "aux1", "4d": "aux2"}  # what is classified on the way, behind these blocks
WEIGHT = 0.3  # of an auxiliary loss, section 5


class GoogLeNetOutputs(NamedTuple):
    """What a network with auxiliary classifiers gives in training: scores (N, classes) each."""

    logits: Tensor
    aux_logits2: Tensor
    aux_logits1: Tensor


class Inception(nn.Module):
    """Four branches of the same picture, side by side as channels (figure 2b)."""

    def __init__(self, inputs: int, counts: tuple[int, ...], unit, large: int) -> None:
        one, before3, three, before5, five, after_pool = counts
        self.branch1 = unit(inputs, one)
        self.branch2 = nn.Sequential(unit(inputs, before3), unit(before3, three, 3, padding=1))
        wide = unit(before5, five, large, padding=large // 2)
        self.branch3 = nn.Sequential(unit(inputs, before5), wide)
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, padding=1), unit(inputs, after_pool))
        self.outputs = one + three + five + after_pool

    def forward(self, x: Tensor) -> Tensor:
        return cat([branch(x) for branch in self.children()], 1)


class Auxiliary(nn.Module):
    """A classifier of the pictures halfway (section 5): (N, C, H, W) -> (N, classes)."""

    def __init__(self, inputs: int, classes: int, width: float, unit) -> None:
        outputs, hidden = scaled(128, width), scaled(1024, width)
        self.conv = unit(inputs, outputs)
        self.fc1, self.fc2 = nn.Linear(16 * outputs, hidden), nn.Linear(hidden, classes)
        self.dropout = nn.Dropout(0.7)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(F.adaptive_avg_pool2d(x, (4, 4))).flatten(1)
        return self.fc2(self.dropout(F.relu(self.fc1(x))))


class GoogLeNet(nn.Module):
    """Nine inception blocks. stem, width: see parts.py.

    auxiliary: whether there are auxiliary classifiers; by default the original's only. In training
    the result is GoogLeNetOutputs then, for a loss such as `with_auxiliary(F.cross_entropy)`.
    dropout: before the last layer, 0.4 in the paper and 0.2 in torchvision. torchvision's published
    weights have auxiliary classifiers, auxiliary=True takes them, and expect pictures with channels
    from -1 to 1 (its transform_input), which is left to whoever makes the pictures.
    """

    def __init__(
        self,
        classes: int = 1000,
        channels: int = 3,
        stem: str = "large",
        width: float = 1.0,
        original: bool = False,
        auxiliary: bool | None = None,
        dropout: float | None = None,
    ) -> None:
        halvings = check_stem(stem)
        check_flag("GoogLeNet: original", original)
        auxiliary = original if auxiliary is None else auxiliary
        large, unit = stem == "large", partial(ConvNorm, norm=not original)
        first = scaled(64, width), scaled(64, width), scaled(192, width)
        size, stride = (7, 2) if large else (3, 1)
        self.conv1 = unit(channels, first[0], size, stride=stride, padding=size // 2)
        self.maxpool1 = nn.MaxPool2d(3, 2, ceil_mode=True) if large else nn.Identity()
        self.norm1 = nn.LocalResponseNorm(5) if original else nn.Identity()
        self.conv2 = unit(first[0], first[1])
        self.conv3 = unit(first[1], first[2], 3, padding=1)
        self.norm2 = nn.LocalResponseNorm(5) if original else nn.Identity()
        self.maxpool2 = nn.MaxPool2d(3, 2, ceil_mode=True) if halvings else nn.Identity()
        inputs, self.order = first[2], []
        for stage, blocks in enumerate(BLOCKS):
            for name, counts in blocks.items():
                mine = tuple(scaled(n, width) for n in counts)
                block = Inception(inputs, mine, unit, 5 if original else 3)
                setattr(self, f"inception{name}", block)
                self.order.append(f"inception{name}")
                inputs = block.outputs
                if auxiliary and name in AUXILIARY:
                    setattr(self, AUXILIARY[name], Auxiliary(inputs, classes, width, unit))
            if stage < 2:
                pooled = nn.MaxPool2d(3 - stage, 2, ceil_mode=True)
                setattr(self, f"maxpool{stage + 3}", pooled)
                self.order.append(f"maxpool{stage + 3}")
        self.auxiliary = auxiliary
        self.dropout = nn.Dropout(dropout if dropout is not None else 0.4 if original else 0.2)
        self.fc = nn.Linear(inputs, classes)
        drawn_normal(self, linear=0.01, conv=None if original else 0.01)

    def forward(self, x: Tensor) -> Tensor | GoogLeNetOutputs:
        x = self.norm1(self.maxpool1(self.conv1(x)))
        x = self.maxpool2(self.norm2(self.conv3(self.conv2(x))))
        halfway = []
        for name in self.order:
            x = getattr(self, name)(x)
            aux = AUXILIARY.get(name.removeprefix("inception"))
            if aux and self.auxiliary and self.training:
                halfway.append(getattr(self, aux)(x))
        scores = self.fc(self.dropout(x.mean((2, 3))))
        return GoogLeNetOutputs(scores, *halfway[::-1]) if halfway else scores


def with_auxiliary(loss: Callable[..., Tensor], weight: float = WEIGHT) -> Callable[..., Tensor]:
    """Return loss(outputs, targets) that also takes outputs with auxiliary scores, as GoogLeNet's
    in training, whose losses are added, times the weight (Szegedy et al. 2014, arXiv:1409.4842).
    """

    def added(outputs, targets):
        if not isinstance(outputs, tuple):
            return loss(outputs, targets)
        scores, *halfway = outputs
        return sum((weight * loss(a, targets) for a in halfway), loss(scores, targets))

    added.__qualname__ = f"with_auxiliary({getattr(loss, '__qualname__', loss)}, {weight})"
    return added
