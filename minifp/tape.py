"""The tape: a Tensor is an array that may remember how it was made.

What operations record here (see recording.py) are Nodes; `backward` walks them from the loss to the
leaves, each after all that read from it. Whatever the tape keeps alive can be seen in `Node.saved`.
"""

from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from minifp import policy
from minifp.errors import ShapeError, TapeError
from minifp.formats import narrow
from minifp.gradient_sum import GradientSum, unshared

observers = []  # with on_record(node, outputs), on_gradient(vertex, gradient), on_release(node)
module_path: ContextVar[str] = ContextVar("module_path", default="")  # of the module being called
_recording: ContextVar[bool] = ContextVar("recording", default=True)

CONSUMED = "consumed by a step"


@contextmanager
def no_grad():
    """Run operations without recording them, on this thread. Also a decorator."""
    token = _recording.set(False)
    try:
        yield
    finally:
        _recording.reset(token)


def is_recording():
    """Whether operations are recorded here."""
    return _recording.get()


class Storage:
    """What tensors that share memory share: how often it was written to."""

    __slots__ = ("version",)

    def __init__(self):
        self.version = 0


class Tensor:
    """An array, and the node that made it. Made by `fp.tensor`, layers and operations.

    A leaf (requires_grad, but made by no operation) collects its gradient in `.grad`.
    """

    __slots__ = (
        "array",
        "storage",
        "node",
        "index",
        "gradient_dtype",
        "grad",
        "seed",
        "__weakref__",
    )
    __array_ufunc__ = None  # ndarray + Tensor asks Tensor
    parents, precision = (), None  # parameters have one

    def __init__(self, array, requires_grad=False, storage=None, node=None, index=0):
        self.array, self.storage = array, storage or Storage()
        self.node, self.index = node, index
        self.gradient_dtype, self.grad, self.seed = None, None, 1.0  # seed: a gradient's
        if requires_grad:
            self.requires_grad_()

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    ndim = property(lambda self: self.array.ndim)
    is_leaf = property(lambda self: self.node is None)
    requires_grad = property(lambda self: self.node is not None or self.gradient_dtype is not None)
    vertex = property(lambda self: self.node or (None if self.gradient_dtype is None else self))

    def requires_grad_(self, requires_grad=True):
        """Make this leaf collect a gradient, or (False) no more. Raises TapeError for others."""
        if self.node is not None:
            raise TapeError(f"requires_grad_() is for leaves; this one was made by {self.node.op}")
        if self.dtype.kind != "f" and requires_grad:
            raise TapeError(f"only floating tensors have gradients, not {self.dtype}")
        here = policy.gradient_format(self.dtype, self.ndim == 0, policy.get_precision())
        self.gradient_dtype = here if requires_grad else None
        return self

    @property
    def data(self):
        """The array. Assigning copies into it, rounding to its format; the tape notices."""
        return self.array

    @data.setter
    def data(self, value):
        value = np.asarray(value.array if isinstance(value, Tensor) else value)
        if value.shape != self.shape:
            raise ShapeError(f".data of shape {self.shape} cannot be set to shape {value.shape}")
        np.copyto(self.array, narrow(value, self.dtype))
        self.storage.version += 1

    def detach(self):
        """A tensor on the same memory that remembers nothing."""
        return Tensor(self.array, storage=self.storage)

    def backward(self, gradient=None, *, seed=1.0, retain_graph=False):
        """Add seed * d(self)/d(leaf) to `leaf.grad`, for every leaf this tensor depends on.

        gradient: what to multiply by instead of 1, of this tensor's shape; needed unless it has one
            element. seed: a factor, entered here once, in the format of this tensor's gradient.
        retain_graph: keep what backward needs, for a second one.
        Raises TapeError, with nothing changed, where there is nothing to differentiate, a second
        backward needs what the first released, a stored tensor was changed in place since, or a
        leaf holds a gradient of another seed or one that a step has consumed.
        """
        if self.vertex is None:
            raise TapeError(
                "backward() with nothing to differentiate: no tensor requires a gradient"
            )
        first = self._first_gradient(gradient, seed)
        order = list(toposort(self.vertex))
        for vertex in order:
            _check_before_backward(vertex, seed)
        sums, leaves = {self.vertex: {self.index: GradientSum(first)}}, []
        for vertex in order:
            arrived = {i: s.rounded(_format_of(vertex, i)) for i, s in sums.pop(vertex).items()}
            for gradient in arrived.values():
                for observer in observers:
                    observer.on_gradient(vertex, gradient)
            if isinstance(vertex, Tensor):
                leaves.append((vertex, arrived[0]))
                continue
            for (parent, i), g in zip(vertex.parents, vertex.run_backward(arrived)):
                if parent is not None:
                    met = sums.setdefault(parent, {})
                    met[i] = met[i].add(g, vertex.precision) if i in met else GradientSum(g)
            if not retain_graph:
                vertex.release()
        for leaf, gradient in unshared(leaves):
            leaf.add_gradient(gradient, seed)

    def _first_gradient(self, gradient, seed):
        if gradient is None and self.array.size != 1:
            raise ShapeError(
                f"backward() starts from a scalar, not from shape {self.shape}: "
                "reduce it (.sum(), .mean()) or pass gradient="
            )
        first = np.ones(self.shape) if gradient is None else gradient
        first = np.asarray(first.array if isinstance(first, Tensor) else first, float)
        if first.shape != self.shape:
            raise ShapeError(f"gradient of shape {first.shape} for a tensor of shape {self.shape}")
        return narrow(np.asarray(first * seed), _format_of(self.vertex, self.index))

    def add_gradient(self, gradient, seed):
        """Take a gradient made with `seed` into `.grad`; from the second on, in float32."""
        if self.grad is not None:
            gradient = (
                GradientSum(self.grad.array)
                .add(gradient, self.precision or policy.get_precision())
                .total
            )
        self.grad = Tensor(gradient)
        self.grad.seed = seed


class Node:
    """One recorded operation.

    op, params: its name and keywords. parents: (vertex, index) of each argument, (None, 0) for one
    without gradient. saved: the arrays backward reads. formats, shapes: of the gradient of each
    output. precision: under which it ran; backward runs under it too. module: the path of the
    module that called it. watched: (storage, version) of each saved array that others can write.
    """

    __slots__ = (
        *("op", "params", "parents", "saved", "backward", "shapes", "formats"),
        *("precision", "module", "watched", "__weakref__"),
    )

    def __init__(self, op, params, parents, saved, backward, outputs):
        self.op, self.params, self.parents = op, params, parents
        self.saved, self.backward, self.watched = saved, backward, ()
        self.precision, self.module = policy.get_precision(), module_path.get()
        self.shapes = tuple(out.shape for out in outputs)
        self.formats = tuple(
            policy.gradient_format(out.dtype, out.ndim == 0, self.precision) for out in outputs
        )

    def watch(self, tensors):
        """Remember the version of each tensor whose array is among the saved ones."""
        self.watched = tuple(
            (t.storage, t.storage.version) for t in tensors if any(a is t.array for a in self.saved)
        )

    def run_backward(self, arrived):
        """The gradient of each argument, None where none is wanted. arrived: by index of output."""
        to = tuple(None if v is None else _format_of(v, i) for v, i in self.parents)
        dys = tuple(
            arrived[i] if i in arrived else np.zeros(shape, format)
            for i, (shape, format) in enumerate(zip(self.shapes, self.formats))
        )
        with policy.precision(self.precision):
            gradients = self.backward(*dys, *self.saved, to=to, **self.params)
        if not isinstance(gradients, tuple) or len(gradients) != len(to):
            raise TapeError(f"backward of {self.op}: expected a tuple of {len(to)} gradients")
        for (vertex, i), wanted, g in zip(self.parents, to, gradients):
            if wanted is not None:
                shape = vertex.shape if isinstance(vertex, Tensor) else vertex.shapes[i]
                if g is None or (g.shape, g.dtype) != (shape, wanted):
                    got = "none" if g is None else f"one of shape {g.shape}, {g.dtype}"
                    raise TapeError(
                        f"backward of {self.op}: expected a gradient of shape {shape}, {wanted}; "
                        f"got {got}"
                    )
        return gradients

    def release(self):
        """Let go of what backward needed."""
        for observer in observers:
            observer.on_release(self)
        self.saved = self.watched = None


def _format_of(vertex, index):
    return vertex.gradient_dtype if isinstance(vertex, Tensor) else vertex.formats[index]


def _check_before_backward(vertex, seed):
    if isinstance(vertex, Tensor):
        held = seed if vertex.grad is None else vertex.grad.seed
        if held != seed:
            made = CONSUMED if held == CONSUMED else f"made with seed {held:g}, not {seed:g}"
            raise TapeError(
                f"a gradient of shape {vertex.shape} was {made}: call zero_grad() first"
            )
    elif vertex.saved is None:
        raise TapeError(
            f"backward through {vertex.op} a second time: the first released what it needs; "
            "pass retain_graph=True to the first"
        )
    elif any(storage.version != version for storage, version in vertex.watched):
        raise TapeError(
            f"a tensor that backward of {vertex.op} needs was changed in place after {vertex.op} "
            "stored it; change a clone, or call backward() before the change"
        )


def toposort(end):
    """Every vertex `end` depends on, each after all the vertices that read from it."""
    readers, stack = {end: 0}, [end]
    while stack:
        for parent, _ in stack.pop().parents:
            if parent is not None:
                if parent not in readers:
                    stack.append(parent)
                readers[parent] = readers.get(parent, 0) + 1
    ready = [end]
    while ready:
        vertex = ready.pop()
        yield vertex
        for parent, _ in vertex.parents:
            if parent is not None:
                readers[parent] -= 1
                if readers[parent] == 0:
                    ready.append(parent)
