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
from .theirs_tasks import TASKS
from .theirs_training import Inference, NotThere, Training

FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


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
