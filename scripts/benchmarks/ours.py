"""The workloads in minifp. Only a child process imports this: see child.py."""

import numpy as np

import minifp as fp
import minifp.nn.functional as F
from minifp import ops, optim
from minifp.autograd.backward import run_backward
from minifp.lab.environment import environment
from minifp.runtime import cpu

from . import workloads
from .model import Model
from .ours_tasks import TASKS
from .ours_training import Inference, Training, moved_by_update

cpu.can_compile()  # imports numba now: what that takes is no memory of a step


class Side:
    """minifp in one precision, in this process."""

    def __init__(self, precision):
        self.precision = precision
        fp.set_precision(precision)

    def about(self):
        """Versions and the machine."""
        return environment()

    def make(self, workload):
        """The workload as something that has steps."""
        if isinstance(workload, Model):
            if workload.task:
                return TASKS[workload.task](workload)
            return (Training if workload.is_trained else Inference)(workload)
        kind = {"adam": Adam, "to_float16": Conversion, "to_float32": Conversion}
        return kind.get(workload.operation, Operation)(workload)

    def products(self):
        """What multiplies float32 matrices here: name -> function of (a, b, out)."""
        found = {"NumPy": lambda a, b, out: np.matmul(a, b, out=out)}
        if cpu.can_compile():
            from minifp.runtime.cpu.kernels.gemm import product

            found["minifp"] = lambda a, b, out: product(a, b, out.dtype, out=out)
        return found

    def movers(self):
        """What moves bytes here: name -> (arrays read and written, function of two arrays)."""
        return {
            "NumPy copy": (2, np.copyto),
            "NumPy negative in place": (2, lambda x, y: np.negative(x, out=x)),
            "NumPy sum in place": (3, lambda x, y: np.add(x, y, out=x)),
        }

    def array(self, array):
        """A NumPy array as `products` and `movers` take it."""
        return array


def _conv2d(x, w, b):
    return F.conv2d(x, w, b, padding=1)


def _batch_norm(x, w, b):
    size = b.shape[0]
    statistics = (fp.zeros(size, dtype="float32"), fp.ones(size, dtype="float32"))
    return F.batch_norm(x, *statistics, w, b, training=True)


def _cross_entropy(z):
    return F.cross_entropy(z, np.arange(len(z.array)) % z.shape[1])


def _ctc(x):
    T, N, C = x.shape
    log_probs = F.log_softmax(x, -1, dtype=np.promote_types(x.dtype, np.float32))
    labels = workloads.labels_of_ctc(T, N, C)
    return F.ctc_loss(log_probs, labels, np.full(N, T), np.full(N, labels.shape[1]))


def _lstm(x, *weights):
    state = fp.zeros(x.shape[1], weights[1].shape[1])
    return ops.lstm(x, state, state, *weights)[0]


def _gru(x, *weights):
    return ops.gru(x, fp.zeros(x.shape[1], weights[1].shape[1]), *weights)[0]


CALLS = {
    "linear": F.linear,
    "conv2d": _conv2d,
    "batch_norm": _batch_norm,
    "relu": F.relu,
    "add": lambda x, y: x + y,
    "max_pool": lambda x: F.max_pool2d(x, 2),
    "softmax": lambda x: F.softmax(x, dim=1),
    "cross_entropy": _cross_entropy,
    "ctc": _ctc,
    "lstm": _lstm,
    "gru": _gru,
}


class Operation:
    """An operation on tensors that require a gradient, and its backward without backward."""

    def __init__(self, workload):
        self.call, self.workload = CALLS[workload.operation], workload
        arrays = list(workload.arrays())
        dtypes = [None] * len(arrays)
        if workload.operation == "batch_norm":
            dtypes[1:] = [fp.get_precision().norm_parameters] * 2
        self.args = [
            fp.tensor(a, dtype=dtype, requires_grad=True) for a, dtype in zip(arrays, dtypes)
        ]
        y = self.call(*self.args)
        format = y.node.formats[0]
        self.dy = np.random.default_rng(2).normal(0, 1, y.shape).astype(format)

    def step(self):
        """Forward, and backward."""
        for _ in range(self.workload.inner):
            y = self.call(*self.args)
        yield "forward"
        if not self.workload.forward_only:
            run_backward(y.node, {0: self.dy})
            yield "backward"


class Conversion:
    """From one format to another, without a gradient."""

    def __init__(self, workload):
        to = workload.operation.removeprefix("to_")
        (array,) = workload.arrays()
        other = {"float16": "float32", "float32": "float16"}[to]
        self.x, self.to = fp.tensor(array, dtype=other), to

    def step(self):
        """Convert."""
        self.x.to(dtype=self.to)
        yield "forward"


class Adam:
    """The whole step of the optimizer: with masters, the loss scale and its check."""

    def __init__(self, workload):
        self.parameters = [fp.nn.Parameter(a) for a in workload.arrays()]
        self.optimizer = fp.MixedOptimizer(optim.Adam(self.parameters, lr=1e-4))
        random = np.random.default_rng(2)
        self.gradients = [
            fp.tensor(random.normal(0, 1, p.shape)).to(dtype=p.dtype).array for p in self.parameters
        ]
        self.prepare()

    def prepare(self):
        """Give back the gradients that a step consumes."""
        for p, gradient in zip(self.parameters, self.gradients):
            p.grad = fp.Tensor(gradient)
            p.grad.seed = self.optimizer.scale

    def step(self):
        """Update."""
        self.optimizer.step()
        yield "update"
        self.prepare()

    def moved_by_update(self):
        """See above."""
        return moved_by_update(self.optimizer)
