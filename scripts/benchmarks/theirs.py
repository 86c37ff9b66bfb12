"""The same workloads in PyTorch. Only a child process imports this: see child.py.

Models have the modules of minifp.models under the same names (see on_torch.py), so that both begin
from the same weights. Where PyTorch has a faster way to the same numbers, it is taken.
"""

import contextlib
import os

import torch
from torch import nn
from torch.nn import functional as F

from . import workloads
from .model import Model
from .on_torch import architectures

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
        if isinstance(workload, Model):
            if workload.task:
                from .theirs_tasks import TASKS

                return TASKS[workload.task](workload, self)
            return (Training if workload.is_trained else Inference)(workload, self)
        kind = {"adam": Adam, "to_float16": Conversion, "to_float32": Conversion}
        return kind.get(workload.operation, Operation)(workload, self)

    def laid(self, x):
        """x with its channels where this side has them."""
        if self.last and x.ndim == 4:
            return x.contiguous(memory_format=torch.channels_last)
        return x.contiguous()

    def as_laid(self, network):
        """A network whose weights of convolutions lie as pictures do here."""
        return network.to(memory_format=torch.channels_last) if self.last else network

    def autocast(self):
        """What forward runs in."""
        if self.format == torch.float32:
            return contextlib.nullcontext()
        return torch.autocast("cpu", self.format)

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


def with_rows(kind):
    """A language model whose logits are (T B, characters): as rows, PyTorch's cross entropy is the
    faster for it."""

    class WithRows(kind):
        """The same network."""

        def forward(self, codes):
            """Its logits, one a row."""
            return super().forward(codes).permute(2, 0, 1).flatten(0, 1)

    return WithRows


ARCHITECTURES = architectures()
ARCHITECTURES |= {name: with_rows(ARCHITECTURES[name]) for name in ("CharLSTM", "CharGRU")}


def built(model):
    """The architecture of a Model, with its initial weights."""
    return begun(ARCHITECTURES[model.architecture](*model.arguments, **model.keywords))


def begun(network):
    """A network with the weights that all implementations begin from."""
    with torch.no_grad():
        for name, p in network.named_parameters():
            p.copy_(torch.from_numpy(workloads.initial(name, tuple(p.shape))))
    return network


def targets(t):
    """Classes as rows of logits have them."""
    return t.t().flatten() if t.ndim == 2 else t


class Training:
    """Steps of a model; in the narrow formats under autocast, in float16 with its GradScaler."""

    def __init__(self, model, side):
        self.model, self.side = side.as_laid(self.built(model)), side
        name, settings = model.optimizer
        self.optimizer = getattr(torch.optim, name)(self.model.parameters(), **settings)
        self.batches = [self.taken(*batch) for batch in model.batches()]
        self.count, self.loss = 0, None
        half = side.format == torch.float16  # with a scale that needs no steps to settle
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0) if half else None
        self.skipped = 0

    def built(self, model):
        """The network, with its initial weights."""
        return built(model)

    def taken(self, x, t):
        """A batch as tensors."""
        return self.side.laid(torch.from_numpy(x)), targets(torch.from_numpy(t))

    def loss_of(self, x, t):
        """The loss of a batch."""
        return F.cross_entropy(self.model(x), t)

    def step(self):
        """zero_grad, forward with the loss, backward, update."""
        batch = self.batches[self.count % len(self.batches)]
        self.count += 1
        self.optimizer.zero_grad()
        yield "zero_grad"
        with self.side.autocast():
            self.loss = self.loss_of(*batch)
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


class Inference:
    """A model that is asked for the scores of its batches."""

    def __init__(self, model, side):
        self.model = side.as_laid(built(model)).eval()
        self.batches = [
            (side.laid(torch.from_numpy(x)), targets(torch.from_numpy(t)))
            for x, t in model.batches()
        ]
        self.side, self.count = side, 0

    def step(self):
        """Forward."""
        self.x, self.t = self.batches[self.count % len(self.batches)]
        self.count += 1
        with torch.inference_mode(), self.side.autocast():
            self.scores = self.model(self.x)
        yield "forward"

    def value(self):
        """The loss of the last scores."""
        return F.cross_entropy(self.scores, self.t).item()


# ---- operations ---------------------------------------------------------------------------------


def _batch_norm(x, w, b):
    statistics = torch.zeros(len(b)), torch.ones(len(b))
    return F.batch_norm(x, *statistics, w, b, training=True)


def _ctc(x):
    T, N, C = x.shape
    labels = torch.from_numpy(workloads.labels_of_ctc(T, N, C))
    lengths = torch.full((N,), T), torch.full((N,), labels.shape[1])
    return F.ctc_loss(F.log_softmax(x, -1), labels, *lengths)


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
    "ctc": _ctc,
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
