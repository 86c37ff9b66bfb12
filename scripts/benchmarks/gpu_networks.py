"""The convolution layers of four networks for pictures of 224 x 224, as data.

AlexNet as of Krizhevsky 2014 (one column), VGG-16 (Simonyan and Zisserman 2015), GoogLeNet (Szegedy
et al. 2014), ResNet-50 (He et al. 2015; where a block halves the size, its 3x3 convolution does).
"""

from collections import Counter
from typing import NamedTuple

BATCH = 32


class Layer(NamedTuple):
    """x: (batch, inputs, size, size). w: (outputs, inputs, kernel, kernel). count: how many such
    layers the network has. is_first: whether it sees pictures, which need no gradient."""

    network: str
    name: str
    batch: int
    inputs: int
    size: int
    outputs: int
    kernel: int
    stride: int
    padding: int
    count: int = 1
    is_first: bool = False

    @property
    def made(self):
        """The result is (batch, outputs, made, made)."""
        return (self.size + 2 * self.padding - self.kernel) // self.stride + 1

    @property
    def flops(self):
        """Of each of its passes: a product and a sum for each weight and place."""
        return 2 * self.batch * self.outputs * self.inputs * (self.kernel * self.made) ** 2

    @property
    def title(self):
        """Its sizes as a text."""
        stride = f" / {self.stride}" if self.stride > 1 else ""
        kernel = f"{self.kernel}x{self.kernel}{stride}"
        return f"{self.name}: {kernel}, {self.inputs} to {self.outputs}, {self.size}x{self.size}"


# (name, inputs, size, outputs, kernel, stride, padding)
ALEXNET = [
    ("conv1", 3, 224, 64, 11, 4, 2),
    ("conv2", 64, 27, 192, 5, 1, 2),
    ("conv3", 192, 13, 384, 3, 1, 1),
    ("conv4", 384, 13, 256, 3, 1, 1),
    ("conv5", 256, 13, 256, 3, 1, 1),
]

VGG = [
    ("conv1_1", 3, 224, 64, 3, 1, 1),
    ("conv1_2", 64, 224, 64, 3, 1, 1),
    ("conv2_1", 64, 112, 128, 3, 1, 1),
    ("conv2_2", 128, 112, 128, 3, 1, 1),
    ("conv3_1", 128, 56, 256, 3, 1, 1),
    *[("conv3_2", 256, 56, 256, 3, 1, 1)] * 2,
    ("conv4_1", 256, 28, 512, 3, 1, 1),
    *[("conv4_2", 512, 28, 512, 3, 1, 1)] * 2,
    *[("conv5", 512, 14, 512, 3, 1, 1)] * 3,
]

# name -> inputs, size, and outputs of 1x1, 3x3 reduced, 3x3, 5x5 reduced, 5x5, after pooling
INCEPTIONS = {
    "3a": (192, 28, (64, 96, 128, 16, 32, 32)),
    "3b": (256, 28, (128, 128, 192, 32, 96, 64)),
    "4a": (480, 14, (192, 96, 208, 16, 48, 64)),
    "4b": (512, 14, (160, 112, 224, 24, 64, 64)),
    "4c": (512, 14, (128, 128, 256, 24, 64, 64)),
    "4d": (512, 14, (112, 144, 288, 32, 64, 64)),
    "4e": (528, 14, (256, 160, 320, 32, 128, 128)),
    "5a": (832, 7, (256, 160, 320, 32, 128, 128)),
    "5b": (832, 7, (384, 192, 384, 48, 128, 128)),
}


def _googlenet():
    yield "conv1", 3, 224, 64, 7, 2, 3
    yield "conv2 reduced", 64, 56, 64, 1, 1, 0
    yield "conv2", 64, 56, 192, 3, 1, 1
    for name, (inputs, size, (one, three_in, three, five_in, five, pooled)) in INCEPTIONS.items():
        yield f"{name} 1x1", inputs, size, one, 1, 1, 0
        yield f"{name} 3x3 reduced", inputs, size, three_in, 1, 1, 0
        yield f"{name} 3x3", three_in, size, three, 3, 1, 1
        yield f"{name} 5x5 reduced", inputs, size, five_in, 1, 1, 0
        yield f"{name} 5x5", five_in, size, five, 5, 1, 2
        yield f"{name} pooled", inputs, size, pooled, 1, 1, 0


def _resnet():
    yield "conv1", 3, 224, 64, 7, 2, 3
    inputs, size = 64, 56
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for block in range(blocks):
            stride, name = 2 if stage and not block else 1, f"conv{stage + 2}"
            yield f"{name} 1x1 in", inputs, size, width, 1, 1, 0
            yield f"{name} 3x3", width, size, width, 3, stride, 1
            if not block:
                yield f"{name} shortcut", inputs, size, 4 * width, 1, stride, 0
            size //= stride
            yield f"{name} 1x1 out", width, size, 4 * width, 1, 1, 0
            inputs = 4 * width


NETWORKS = {
    "AlexNet": ALEXNET,
    "VGG-16": VGG,
    "GoogLeNet": list(_googlenet()),
    "ResNet-50": list(_resnet()),
}


def layers(network, batch=BATCH):
    """The Layers of a network in order, those of the same sizes once."""
    first, found = {}, Counter()
    for name, *sizes in NETWORKS[network]:
        first.setdefault(tuple(sizes), name)
        found[tuple(sizes)] += 1
    return [
        Layer(network, first[sizes], batch, *sizes, count=n, is_first=sizes[0] == 3)
        for sizes, n in found.items()
    ]


def tiny(layer):
    """A layer of the same kind that takes no time."""
    size = 2 * layer.kernel + layer.stride
    return layer._replace(batch=2, inputs=3, outputs=4, size=size)


def in_turn():
    """All layers, one of each network in turn, so that none is without where time ends."""
    waiting = {name: layers(name) for name in NETWORKS}
    while any(waiting.values()):
        for name in NETWORKS:
            if waiting[name]:
                yield waiting[name].pop(0)
