"""The tape: a Tensor is an array that may remember how it was made.

What operations record here (see recording.py) are Nodes; backward walks them from the loss to the
leaves (see walk.py). Whatever the tape keeps alive can be seen in `Node.saved`.
"""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from minifp import policy
from minifp.device import as_array, is_array, placed
from minifp.errors import DTypeError, ShapeError, TapeError
from minifp.formats import narrow
from minifp.grad_mode import enable_grad, is_recording, no_grad, set_grad_enabled  # noqa: F401

# With on_record(node, outputs), on_gradient(vertex, gradient), on_release(node); and, if they like,
# on_read(tensor), called when a tensor's numbers are given to NumPy or to Python.
observers: list[Any] = []
module_path: ContextVar[str] = ContextVar("module_path", default="")  # of the module being called

CONSUMED = "consumed by a step"  # a seed, of a gradient that must not be used again


class Storage:
    """What tensors that share memory share: how often it was written to."""

    __slots__ = ("version",)
    version: int

    def __init__(self) -> None:
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
        "_grad",
        "seed",
        "hooks",
        "__weakref__",
    )
    __array_ufunc__ = None  # ndarray + Tensor asks Tensor
    array: np.ndarray
    storage: Storage
    node: "Node | None"
    index: int  # among the outputs of the node
    gradient_dtype: np.dtype | None
    _grad: "Tensor | None"
    seed: Any  # of a gradient: what it was multiplied by, or CONSUMED
    hooks: dict | None
    parents: tuple = ()
    precision: policy.Precision | None = None  # parameters have one

    def __init__(
        self, array: np.ndarray, requires_grad: bool = False, storage: Storage | None = None,
        node: "Node | None" = None, index: int = 0,
    ) -> None:  # fmt: skip
        self.array, self.storage = array, storage or Storage()
        self.node, self.index = node, index
        self.gradient_dtype, self._grad, self.hooks = None, None, None
        self.seed = 1.0
        if requires_grad:
            self.requires_grad_()

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        """The format of the numbers."""
        return self.array.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self.array.ndim

    @property
    def is_leaf(self) -> bool:
        """Whether no operation made it."""
        return self.node is None

    @property
    def requires_grad(self) -> bool:
        """Whether backward has a gradient for it."""
        return self.node is not None or self.gradient_dtype is not None

    @property
    def vertex(self) -> "Node | Tensor | None":
        """Where its gradient arrives: the node that made it, or itself; None if it has none."""
        return self.node or (None if self.gradient_dtype is None else self)

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Make this leaf collect a gradient, or (False) no more. Raises TapeError for others."""
        if self.node is not None:
            raise TapeError(f"requires_grad_() is for leaves; this one was made by {self.node.op}")
        if self.dtype.kind != "f" and requires_grad:
            raise TapeError(f"only floating tensors have gradients, not {self.dtype}")
        precision = self.precision or policy.get_precision()
        here = policy.gradient_format(self.dtype, self.ndim == 0, precision)
        self.gradient_dtype = here if requires_grad else None
        return self

    @property
    def grad(self) -> "Tensor | None":
        """The gradient that a leaf has collected. Raises DTypeError for one that is none."""
        return self._grad

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        if value is not None and not (isinstance(value, Tensor) and value.dtype.kind == "f"):
            kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
            raise DTypeError(f".grad = a {kind}: expected a floating tensor, or None")
        self._grad = value

    @property
    def data(self) -> np.ndarray:
        """The array. Assigning copies into it, rounding to its format; the tape notices."""
        return self.array

    @data.setter
    def data(self, value: Any) -> None:
        value = as_array(value.array if isinstance(value, Tensor) else value)
        if value.shape != self.shape:
            raise ShapeError(f".data of shape {self.shape} cannot be set to shape {value.shape}")
        self.array[...] = placed(narrow(value, self.dtype), like=self.array)
        self.storage.version += 1

    def detach(self) -> "Tensor":
        """A tensor on the same memory that remembers nothing."""
        return Tensor(self.array, storage=self.storage)


class Node:
    """One recorded operation.

    op, params: its name and keywords. parents: (vertex, index) of each argument, (None, 0) for one
    without gradient. saved: the arrays backward reads. formats, shapes: of the gradient of each
    output. precision: under which it ran; backward runs under it too. module: the path of the
    module that called it. watched: (storage, version) of each saved array that others can write.
    call: what it takes to do it again, until that is forgotten: the recorded operation, its
    arguments without gradient (None for the others), and the code and instruction that called it.
    """

    __slots__ = (
        *("op", "params", "parents", "saved", "backward", "shapes", "formats"),
        *("precision", "module", "watched", "hooks", "call", "__weakref__"),
    )
    op: str
    params: dict
    parents: tuple
    saved: Any  # a tuple, or None once it is released
    backward: Callable
    shapes: tuple
    formats: tuple
    precision: policy.Precision
    module: str
    watched: Any
    hooks: dict | None
    call: Any

    def __init__(
        self, op: str, params: dict, parents: tuple, saved: Any, backward: Callable,
        outputs: tuple,
    ) -> None:  # fmt: skip
        self.op, self.params, self.parents = op, params, parents
        self.saved, self.backward, self.watched, self.hooks = saved, backward, (), None
        self.call = None
        self.precision, self.module = policy.get_precision(), module_path.get()
        self.shapes = tuple([out.shape for out in outputs])
        self.formats = tuple(
            [policy.gradient_format(out.dtype, out.ndim == 0, self.precision) for out in outputs]
        )

    def watch(self, *groups: Iterable[Any]) -> None:
        """Remember the version of each tensor whose array is among the saved ones."""
        saved = {id(a) for a in self.saved if is_array(a)}
        if saved:
            self.watched = tuple(
                [
                    (t.storage, t.storage.version)
                    for group in groups
                    for t in group
                    if isinstance(t, Tensor) and id(t.array) in saved
                ]
            )

    def release(self) -> None:
        """Let go of what backward needed."""
        for observer in observers:
            observer.on_release(self)
        self.saved = self.watched = None
