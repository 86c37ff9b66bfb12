"""What is measured: training steps of models, and single operations. NumPy only.

Both libraries get the same batches and the same initial weights, by name. A loss depends on neither
library, so that the first losses of all must agree: see `rounds.py`.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any
from zlib import crc32

import numpy as np

from . import gallery, tasks
from .gallery import ASKED, TRAINED
from .model import ADAM, SGD, Model
from .tasks import DETECTORS, SEQUENCES, WHOLE

TINY_TEXT = {"shape": (2, 3), "codes": 5}
GPT_SIZES = {"block_size": 64, "vocab_size": 65, "n_layer": 4, "n_head": 4, "n_embd": 128}

MODELS = [
    Model(
        *("mlp", "MLP 784-1024-1024-10, batch 128", "MLP"),
        *((784, 1024, 1024, 10), (128, 784), ADAM),
        tiny={"arguments": (16, 12, 12, 10), "shape": (4, 16)},
    ),
    Model(
        *("lenet", "LeNet, 28x28, batch 128", "LeNet", (10, 28), (128, 1, 28, 28), ADAM),
        tiny={"arguments": (10, 8), "shape": (4, 1, 8, 8)},
    ),
    Model(
        *("resnet20", "ResNet-20, 32x32, batch 64", "CIFARResNet", (10, 20), (64, 3, 32, 32), SGD),
        tiny={"arguments": (10, 8, 3, 4), "shape": (4, 3, 8, 8)},
    ),
    Model(
        *("vgg", "VGG of 6 convolutions, 32x32, batch 32", "VGG", (10, 32), (32, 3, 32, 32), SGD),
        tiny={"arguments": (10, 8, 3, (4, 6)), "shape": (4, 3, 8, 8)},
    ),
    Model(
        *("lstm", "LSTM, 2 layers of 256, T 64, B 32", "CharLSTM"),
        *((65, 256, 256, 2), (32, 64), ADAM, 65),
        {"arguments": (5, 6, 6, 2), **TINY_TEXT},
    ),
    Model(
        *("gru", "GRU, 2 layers of 256, T 64, B 32", "CharGRU"),
        *((65, 256, 256, 2), (32, 64), ADAM, 65),
        {"arguments": (5, 6, 6, 2), **TINY_TEXT},
    ),
    Model(
        *("gpt", "GPT, 4 blocks of 128, T 64, B 8", "GPT", (), (8, 64), ADAM, 65),
        keywords=GPT_SIZES,
        tiny={"keywords": dict.fromkeys(GPT_SIZES, 5) | {"n_head": 1}, **TINY_TEXT},
    ),
    Model(
        *("lstm650", "LSTM of 650, vocabulary 10,000, T 35, B 20", "CharLSTM"),
        *((10_000, 650, 650), (20, 35), SGD, 10_000),
        {"arguments": (5, 6, 6), **TINY_TEXT},
    ),
]


@dataclass(frozen=True)
class Operation:
    """One operation, forward and, unless forward_only, backward.

    operation: its name in `ours.py` and `theirs.py`, called with arrays of these shapes. inner: how
    often it is called in what is measured as one step.
    """

    name: str
    title: str
    operation: str
    shapes: tuple[tuple[int, ...], ...]
    inner: int = 1
    forward_only: bool = False
    tiny: dict[str, Any] = field(default_factory=dict)

    @property
    def pictures(self):
        """Whether its first argument has pixels."""
        return bool(self.shapes) and len(self.shapes[0]) == 4

    def arrays(self):
        """Its arguments, normally distributed, float32; matrices of weights as layers begin."""
        random = np.random.default_rng(1)
        for i, shape in enumerate(self.shapes):
            scale = prod(shape[1:]) ** -0.5 if i and len(shape) > 1 else 1.0
            yield (scale * random.normal(0, 1, shape)).astype(np.float32)


def _convolution(n, size, inputs, outputs):
    x, w = (n, inputs, size, size), (outputs, inputs, 3, 3)
    return Operation(
        f"conv-{inputs}-{outputs}-{size}",
        f"convolution 3x3, {inputs} to {outputs}, {size}x{size}, batch {n}",
        *("conv2d", (x, w, (outputs,))),
        tiny={"shapes": ((2, 3, 4, 4), (5, 3, 3, 3), (5,))},
    )


def _recurrent(kind, gates):
    t, b, h = 64, 32, 256
    weights = ((gates * h, h), (gates * h, h), (gates * h,), (gates * h,))
    small = ((gates * 5, 5), (gates * 5, 5), (gates * 5,), (gates * 5,))
    return Operation(
        *(kind, f"{kind.upper()} layer of 256, T {t}, B {b}", kind, ((t, b, h), *weights)),
        tiny={"shapes": ((3, 2, 5), *small)},
    )


PLANES, SMALL_PLANES = (64, 16, 32, 32), (2, 4, 4, 4)
MANY, FEW = (1 << 22,), (100,)

OPERATIONS = [
    Operation(
        *("linear", "linear, 1024 to 1024, batch 128", "linear"),
        ((128, 1024), (1024, 1024), (1024,)),
        tiny={"shapes": ((4, 6), (5, 6), (5,))},
    ),
    _convolution(64, 32, 16, 16),
    _convolution(64, 16, 32, 32),
    _convolution(64, 8, 64, 64),
    _convolution(32, 32, 64, 64),
    _convolution(32, 16, 128, 128),
    _convolution(32, 8, 256, 256),
    Operation(
        *("batch-norm", "batch normalisation, 64x16x32x32", "batch_norm", (PLANES, (16,), (16,))),
        tiny={"shapes": (SMALL_PLANES, (4,), (4,))},
    ),
    Operation("relu", "ReLU, 64x16x32x32", "relu", (PLANES,), tiny={"shapes": (SMALL_PLANES,)}),
    Operation(
        *("add", "addition, 64x16x32x32", "add", (PLANES, PLANES)),
        tiny={"shapes": (SMALL_PLANES, SMALL_PLANES)},
    ),
    Operation(
        *("max-pool", "max pooling 2x2, 32x64x32x32", "max_pool", ((32, 64, 32, 32),)),
        tiny={"shapes": (SMALL_PLANES,)},
    ),
    Operation(
        *("softmax", "softmax, 2048x1024", "softmax", ((2048, 1024),)), tiny={"shapes": ((4, 6),)}
    ),
    Operation(
        *("cross-entropy", "cross entropy, 700x10,000", "cross_entropy", ((700, 10_000),)),
        tiny={"shapes": ((4, 6),)},
    ),
    Operation(
        *("ctc", "CTC loss, T 200, batch 32, 29 characters, 40 labels", "ctc", ((200, 32, 29),)),
        tiny={"shapes": ((9, 2, 5),)},
    ),
    _recurrent("lstm", 4),
    _recurrent("gru", 3),
    Operation(
        *("adam", "Adam, the MLP's 1.9 million weights", "adam"),
        ((1024, 784), (1024,), (1024, 1024), (1024,), (10, 1024), (10,)),
        forward_only=True,
        tiny={"shapes": ((4, 3), (4,))},
    ),
    Operation(
        *("to-float16", "float32 to float16, 4 million", "to_float16", (MANY,)),
        forward_only=True,
        tiny={"shapes": (FEW,)},
    ),
    Operation(
        *("to-float32", "float16 to float32, 4 million", "to_float32", (MANY,)),
        forward_only=True,
        tiny={"shapes": (FEW,)},
    ),
    Operation(
        *("add-16", "addition of 16 numbers, recorded", "add", ((16,), (16,))),
        inner=1000,
        forward_only=True,
    ),
]


KNOWN = {
    "model": [*MODELS, *TRAINED, *ASKED, *DETECTORS, *SEQUENCES, *WHOLE],
    "operation": OPERATIONS,
}
GROUPS = {**gallery.GROUPS, **tasks.GROUPS}  # what a list of names may say instead of all of them


def find(kind, name, tiny=False):
    """The Model ("model") or Operation ("operation") of this name; tiny: in its small size."""
    (found,) = (w for w in KNOWN[kind] if w.name == name)
    return replace(found, **found.tiny) if tiny else found


def labels_of_ctc(steps, batch, classes):
    """Labels (batch, steps / 5) for so many steps, none of them the blank, which is 0."""
    return np.random.default_rng(3).integers(1, classes, (batch, max(steps // 5, 1)))


def initial(name, shape):
    """The initial value of the parameter of this name, float32; scales of normalisation are 1."""
    if len(shape) == 1:
        return np.full(shape, float(name.endswith("weight")), np.float32)
    bound = prod(shape[1:]) ** -0.5
    return np.random.default_rng(crc32(name.encode())).uniform(-bound, bound, shape).astype("f4")


@lru_cache(None)
def initial_once(name, shape):
    """The same, drawn once for all that are measured in one process, until its cache is cleared."""
    return initial(name, shape)
