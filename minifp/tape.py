"""The tape: a Tensor is an array that may remember how it was made.

An operation returns its value, the stored arrays its backward needs, and that backward: a function
of the module, not a closure, so that whatever the tape keeps alive can be seen in `Node.saved`.
"""

import inspect
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps

import numpy as np

from minifp import policy
from minifp.errors import MinifpError, ShapeError, TapeError
from minifp.formats import narrow, widen

observers = []  # objects with on_record(node, outputs), on_gradient(vertex, gradient), on_release(node)
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

    __slots__ = ("array", "storage", "node", "index", "gradient_dtype", "grad", "seed", "__weakref__")
    __array_ufunc__ = None  # ndarray + Tensor asks Tensor
    parents = ()

    def __init__(self, array, requires_grad=False, storage=None, node=None, index=0):
        self.array, self.storage = array, storage or Storage()
        self.node, self.index = node, index
        self.gradient_dtype = self.grad = self.seed = None
        if requires_grad:
            self.requires_grad_()

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    ndim = property(lambda self: self.array.ndim)
    is_leaf = property(lambda self: self.node is None)
    requires_grad = property(lambda self: self.node is not None or self.gradient_dtype is not None)
    vertex = property(lambda self: self.node or (None if self.gradient_dtype is None else self))

    def requires_grad_(self, requires_grad=True):
        """Make this leaf collect a gradient, or (False) no more. Raises TapeError if it is no leaf."""
        if self.node is not None:
            raise TapeError(f"requires_grad_() is for leaves; this one was made by {self.node.op}")
        p = policy.get_precision()
        wanted = policy.gradient_format(self.dtype, self.ndim == 0, p) if requires_grad else None
        if wanted is not None and wanted.kind != "f":
            raise TapeError(f"only floating tensors have gradients, not {self.dtype}")
        self.gradient_dtype = wanted
        return self

    @property
    def data(self):
        """The array. Assigning copies into it, rounding to its format, and is noticed by the tape."""
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
            raise TapeError("backward() with nothing to differentiate: no tensor requires a gradient")
        first = self._first_gradient(gradient, seed)
        order = list(toposort(self.vertex))
        for vertex in order:
            _check_before_backward(vertex, seed)
        sums = {self.vertex: {self.index: GradientSum(first)}}
        for vertex in order:
            arrived = {i: s.rounded(_format_of(vertex, i)) for i, s in sums.pop(vertex, {}).items()}
            for gradient in arrived.values():
                for observer in observers:
                    observer.on_gradient(vertex, gradient)
            if isinstance(vertex, Tensor):
                vertex.add_gradient(arrived[0], seed)
                continue
            if arrived:
                for (parent, i), g in zip(vertex.parents, vertex.run_backward(arrived)):
                    if parent is not None:
                        slots = sums.setdefault(parent, {})
                        p = vertex.precision
                        slots[i] = slots[i].add(g, p) if i in slots else GradientSum(g)
            if not retain_graph:
                vertex.release()

    def _first_gradient(self, gradient, seed):
        if gradient is None and self.array.size != 1:
            raise ShapeError(
                f"backward() starts from a scalar, not from shape {self.shape}: "
                "reduce it (.sum(), .mean()) or pass gradient="
            )
        first = np.ones(self.shape) if gradient is None else gradient
        first = np.asarray(first.array if isinstance(first, Tensor) else first, np.float64)
        if first.shape != self.shape:
            raise ShapeError(f"gradient of shape {first.shape} for a tensor of shape {self.shape}")
        return narrow(np.asarray(first * seed), _format_of(self.vertex, self.index))

    def add_gradient(self, gradient, seed):
        """Take a gradient made with `seed` into `.grad`; from the second on, in float32 or wider."""
        if self.grad is None:
            self.grad = Tensor(gradient)
        else:
            format = policy.meeting_format(self.grad.dtype, policy.get_precision())
            self.grad = Tensor(np.asarray(widen(self.grad.array, format) + widen(gradient, format)))
        self.grad.seed = seed


class GradientSum:
    """Gradients that meet at one value: summed in float32 and rounded once, at the last reader."""

    __slots__ = ("total", "owned")

    def __init__(self, gradient):
        self.total, self.owned = gradient, False

    def add(self, gradient, precision):
        """Add one; the first may belong to somebody else, and is not written to."""
        format = policy.meeting_format(self.total.dtype, precision)
        total = widen(self.total, format)
        out = total if self.owned and total is self.total else None
        with np.errstate(all="ignore"):
            self.total = np.asarray(np.add(total, widen(gradient, format), out=out))
        self.owned = True
        return self

    def rounded(self, dtype):
        """The sum, in the format in which it is stored."""
        return narrow(self.total, dtype)


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

    def __init__(self, op, params, parents, saved, backward, outputs, watched):
        self.op, self.params, self.parents = op, params, parents
        self.saved, self.backward, self.watched = saved, backward, watched
        self.precision, self.module = policy.get_precision(), module_path.get()
        self.shapes = tuple(out.shape for out in outputs)
        self.formats = tuple(
            policy.gradient_format(out.dtype, out.ndim == 0, self.precision) for out in outputs
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
        for (vertex, i), wanted, g in zip(self.parents, to, gradients, strict=True):
            if wanted is not None:
                shape = vertex.shape if isinstance(vertex, Tensor) else vertex.shapes[i]
                if g is None or (g.shape, g.dtype) != (shape, wanted):
                    got = "none" if g is None else f"one of shape {g.shape}, {g.dtype}"
                    raise TapeError(
                        f"backward of {self.op}: expected a gradient of shape {shape}, {wanted}; got {got}"
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
        held = None if vertex.grad is None else vertex.grad.seed
        if held is not None and held != seed:
            made = CONSUMED if held == CONSUMED else f"made with seed {held:g}, not {seed:g}"
            raise TapeError(f"a gradient of shape {vertex.shape} was {made}: call zero_grad() first")
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
                    readers[parent] = 0
                    stack.append(parent)
                readers[parent] += 1
    ready = [end]
    while ready:
        vertex = ready.pop()
        yield vertex
        for parent, _ in vertex.parents:
            if parent is not None:
                readers[parent] -= 1
                if readers[parent] == 0:
                    ready.append(parent)


def op(fn=None, *, weights=()):
    """Make `fn(*arrays, **params) -> (y, saved, backward)` an operation on Tensors.

    Positional arguments are Tensors (or arrays, Python numbers, None); keywords are parameters. y is
    an array or a tuple of them; `backward(*dys, *saved, to=, **params)` returns a gradient for each
    argument: to[i] is the format it is stored in, None where none is wanted.
    weights: the arguments that are weights of a layer, which meet activations in their format.
    """
    if fn is None:
        return lambda fn: op(fn, weights=weights)
    name = fn.__name__.rstrip("_")
    are_weights = tuple(p in weights for p in inspect.signature(fn).parameters)

    @wraps(fn)
    def recorded(*args, **params):
        if weights:
            args = _enter(args, are_weights)
        tensors = [a for a in args if isinstance(a, Tensor)]
        arrays = [a.array if isinstance(a, Tensor) else a for a in args]
        try:
            y, saved, backward = fn(*arrays, **params)
        except (ValueError, IndexError) as error:
            if isinstance(error, MinifpError):
                raise
            given = ", ".join(_describe(a) for a in arrays)
            raise ShapeError(f"{name}({given}): {error}") from error
        outputs = y if isinstance(y, tuple) else (y,)
        node = None
        if _recording.get() and any(t.vertex is not None for t in tensors):
            parents = tuple(
                (a.vertex, a.index) if isinstance(a, Tensor) else (None, 0) for a in args
            )
            watched = tuple(
                (t.storage, t.storage.version) for t in tensors if any(s is t.array for s in saved)
            )
            node = Node(name, params, parents, saved, backward, outputs, watched)
        results = tuple(Tensor(out, storage=_shared(out, tensors), node=node, index=i) for i, out in enumerate(outputs))
        if node is not None:
            node.watched += tuple((t.storage, t.storage.version) for t in results if any(s is t.array for s in saved))
            for observer in observers:
                observer.on_record(node, results)
        return results if isinstance(y, tuple) else results[0]

    return recorded


def _shared(out, tensors):
    """The storage of the tensor whose memory `out` is a view of, None if it has its own."""
    if out.base is not None:
        for t in tensors:
            if out is t.array or out.base is t.array or out.base is t.array.base:
                return t.storage
    return None


def _enter(args, are_weights):
    dtypes = tuple(
        a.dtype if hasattr(a, "dtype") and a.dtype.kind == "f" else None for a in args
    )
    wanted = policy.entry(dtypes, are_weights, policy.get_precision())
    if wanted is None:
        return args
    return [
        a if d is None or d == wanted else (a if isinstance(a, Tensor) else Tensor(a)).to(dtype=wanted)
        for a, d in zip(args, dtypes)
    ]


def _describe(a):
    return f"{a.dtype} {a.shape}" if hasattr(a, "shape") else repr(a)
