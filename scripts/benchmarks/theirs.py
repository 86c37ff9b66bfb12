"""The same workloads in PyTorch. Only a child process imports this: see child.py.

Models have the modules of minifp.models under the same names, so that both begin from the same
weights. Where PyTorch has a faster way to the same numbers, it is taken.
"""

import contextlib
import os

import torch
from torch import nn
from torch.nn import functional as F

from . import workloads

FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class NotThere(Exception):
    """What a format does not have."""


class Side:
    """PyTorch in one format, in this process; "float32-last" has channels behind pixels."""

    def __init__(self, format):
        format, _, layout = format.partition("-")
        self.format, self.last = FORMATS[format], layout == "last"
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))

    def about(self):
        """Versions."""
        return {"PyTorch": torch.__version__}

    def make(self, workload):
        """The workload as something that has steps."""
        if isinstance(workload, workloads.Model):
            return Training(workload, self)
        kind = {"adam": Adam, "to_float16": Conversion, "to_float32": Conversion}
        return kind.get(workload.operation, Operation)(workload, self)

    def laid(self, x):
        """x with its channels where this side has them."""
        if self.last and x.ndim == 4:
            return x.contiguous(memory_format=torch.channels_last)
        return x.contiguous()

    def products(self):
        """What multiplies float32 matrices here."""
        return {"PyTorch": lambda a, b, out: torch.mm(a, b, out=out)}

    def movers(self):
        """What moves bytes here."""
        return {
            "PyTorch copy": (2, lambda x, y: x.copy_(y)),
            "PyTorch negative in place": (2, lambda x, y: x.neg_()),
            "PyTorch sum in place": (3, lambda x, y: x.add_(y)),
        }

    def array(self, array):
        """A NumPy array as `products` and `movers` take it."""
        return torch.from_numpy(array)


# ---- models -------------------------------------------------------------------------------------


class MLP(nn.Module):
    """As minifp.models.MLP."""

    def __init__(self, *sizes):
        super().__init__()
        layers = [nn.Flatten()]
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x):
        """The logits."""
        return self.layers(x)


class LeNet(nn.Module):
    """As minifp.models.LeNet."""

    def __init__(self, classes=10, size=28, channels=1):
        super().__init__()
        kernel = 5 if size >= 16 else 3
        self.conv1 = nn.Conv2d(channels, 16, kernel, padding=kernel // 2)
        self.conv2 = nn.Conv2d(16, 32, kernel, padding=kernel // 2)
        self.fc1 = nn.Linear(32 * (size // 4) ** 2, 128)
        self.fc2 = nn.Linear(128, classes)

    def forward(self, x):
        """The logits."""
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Block(nn.Module):
    """As in minifp.models.CIFARResNet."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride, self.added = stride, outputs - inputs

    def forward(self, x):
        """relu of the input and of two convolutions of it."""
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride > 1 or self.added:
            x = x[:, :, :: self.stride, :: self.stride]
            x = F.pad(x, (0, 0, 0, 0, self.added // 2, self.added - self.added // 2))
        return F.relu(y + x)


class CIFARResNet(nn.Module):
    """As minifp.models.CIFARResNet."""

    def __init__(self, classes=10, depth=20, channels=3, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        n = depth // 6
        self.layer1 = self.stage(width, width, n, 1)
        self.layer2 = self.stage(width, 2 * width, n, 2)
        self.layer3 = self.stage(2 * width, 4 * width, n, 2)
        self.fc = nn.Linear(4 * width, classes)

    @staticmethod
    def stage(inputs, outputs, blocks, stride):
        """So many blocks."""
        rest = (Block(outputs, outputs, 1) for _ in range(blocks - 1))
        return nn.Sequential(Block(inputs, outputs, stride), *rest)

    def forward(self, x):
        """The logits."""
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


class VGG(nn.Module):
    """As minifp.models.VGG."""

    def __init__(self, classes=10, size=32, channels=3, widths=(64, 128, 256)):
        super().__init__()
        layers = []
        for width in widths:
            for inputs in (channels, width):
                layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU()]
            layers.append(nn.MaxPool2d(2))
            channels, size = width, size // 2
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels * size**2, classes)

    def forward(self, x):
        """The logits."""
        return self.classifier(self.features(x).flatten(1))


class CharLSTM(nn.Module):
    """As minifp.models.CharLSTM."""

    def __init__(self, characters, hidden=256, embedding=64, layers=1):
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers)
        self.head = nn.Linear(hidden, characters)

    def forward(self, codes):
        """The logits (T B, characters): as rows, PyTorch's cross entropy is the faster for it."""
        h, _ = self.lstm(self.embedding(codes.t()))
        return self.head(h).flatten(0, 1)


class CharGRU(nn.Module):
    """As minifp.models.CharGRU."""

    def __init__(self, characters, hidden=256, embedding=64, layers=1):
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding)
        self.gru = nn.GRU(embedding, hidden, num_layers=layers)
        self.head = nn.Linear(hidden, characters)

    def forward(self, codes):
        """The logits (T B, characters)."""
        h, _ = self.gru(self.embedding(codes.t()))
        return self.head(h).flatten(0, 1)


ARCHITECTURES = {c.__name__: c for c in (MLP, LeNet, CIFARResNet, VGG, CharLSTM, CharGRU)}


class Training:
    """Steps of a model; in the narrow formats under autocast, in float16 with its GradScaler."""

    def __init__(self, model, side):
        self.model = ARCHITECTURES[model.architecture](*model.arguments)
        with torch.no_grad():
            for name, p in self.model.named_parameters():
                p.copy_(torch.from_numpy(workloads.initial(name, tuple(p.shape))))
        if side.last:
            self.model.to(memory_format=torch.channels_last)
        name, settings = model.optimizer
        self.optimizer = getattr(torch.optim, name)(self.model.parameters(), **settings)
        self.batches = [
            (side.laid(torch.from_numpy(x)), self.targets(torch.from_numpy(t)))
            for x, t in model.batches()
        ]
        self.side, self.count, self.loss = side, 0, None
        half = side.format == torch.float16  # with a scale that needs no steps to settle
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0) if half else None
        self.skipped = 0

    @staticmethod
    def targets(t):
        """Classes as rows of logits have them."""
        return t.t().flatten() if t.ndim == 2 else t

    def autocast(self):
        """What forward runs in."""
        if self.side.format == torch.float32:
            return contextlib.nullcontext()
        return torch.autocast("cpu", self.side.format)

    def step(self):
        """zero_grad, forward with the loss, backward, update."""
        x, t = self.batches[self.count % len(self.batches)]
        self.count += 1
        self.optimizer.zero_grad()
        yield "zero_grad"
        with self.autocast():
            self.loss = F.cross_entropy(self.model(x), t)
        yield "forward"
        if self.scaler is None:
            self.loss.backward()
            yield "backward"
            self.optimizer.step()
        else:
            self.scaler.scale(self.loss).backward()
            yield "backward"
            self.scaler.step(self.optimizer)
            before = self.scaler.get_scale()
            self.scaler.update()
            self.skipped += self.scaler.get_scale() < before
        yield "update"

    def value(self):
        """The last loss."""
        return self.loss.item()


# ---- operations ---------------------------------------------------------------------------------


def _batch_norm(x, w, b):
    statistics = torch.zeros(len(b)), torch.ones(len(b))
    return F.batch_norm(x, *statistics, w, b, training=True)


def _recurrent(run, states):
    def call(x, *weights):
        state = torch.zeros(1, x.shape[1], weights[1].shape[1], dtype=x.dtype)
        first = (state, state) if states == 2 else state
        return run(x, first, weights, True, 1, 0.0, True, False, False)[0]

    return call


CALLS = {
    "linear": F.linear,
    "conv2d": lambda x, w, b: F.conv2d(x, w, b, padding=1),
    "batch_norm": _batch_norm,
    "relu": F.relu,
    "add": lambda x, y: x + y,
    "max_pool": lambda x: F.max_pool2d(x, 2),
    "softmax": lambda x: F.softmax(x, dim=1),
    "cross_entropy": lambda z: F.cross_entropy(z, torch.arange(len(z)) % z.shape[1]),
    "lstm": _recurrent(torch.lstm, 2),
    "gru": _recurrent(torch.gru, 1),
}


class Operation:
    """An operation on tensors of the format, and its backward."""

    def __init__(self, workload, side):
        self.call, self.workload = CALLS[workload.operation], workload
        narrow = [side.format] * len(workload.shapes)
        if workload.operation == "batch_norm":
            narrow[1:] = [torch.float32] * 2
        self.args = [
            side.laid(torch.from_numpy(a).to(format)).requires_grad_()
            for a, format in zip(workload.arrays(), narrow)
        ]
        y = self.call(*self.args)
        self.dy = side.laid(torch.randn(y.shape).to(y.dtype))

    def step(self):
        """Forward, and backward."""
        for _ in range(self.workload.inner):
            y = self.call(*self.args)
        yield "forward"
        if not self.workload.forward_only:
            torch.autograd.grad(y, self.args, self.dy)
            yield "backward"


class Conversion:
    """From one format to another, without a gradient."""

    def __init__(self, workload, side):
        _float32_alone(side)
        self.to = FORMATS[workload.operation.removeprefix("to_")]
        other = torch.float32 if self.to == torch.float16 else torch.float16
        (array,) = workload.arrays()
        self.x = torch.from_numpy(array).to(other)

    def step(self):
        """Convert."""
        self.x.to(self.to)
        yield "forward"


class Adam:
    """A step of the optimizer; under autocast weights and gradients are float32 as well."""

    def __init__(self, workload, side):
        _float32_alone(side)
        self.parameters = [nn.Parameter(torch.from_numpy(a)) for a in workload.arrays()]
        for p in self.parameters:
            p.grad = torch.randn(p.shape)
        self.optimizer = torch.optim.Adam(self.parameters, lr=1e-4)

    def step(self):
        """Update."""
        self.optimizer.step()
        yield "update"


def _float32_alone(side):
    if side.format != torch.float32 or side.last:
        raise NotThere("the same as in float32")
