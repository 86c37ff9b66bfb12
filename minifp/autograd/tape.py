"""The tape: a Tensor is an array that may remember how it was made.

What operations record here (see op.py) are Nodes; backward goes through them from the loss to the
leaves (see backward.py). Whatever the tape keeps alive can be seen in `Node.saved`.
"""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from operator import attrgetter
from typing import Any

import numpy as np

from minifp.autograd import small_stack
from minifp.autograd.constructed import as_sizes, constructed
from minifp.autograd.seeds import Unknown
from minifp.autograd.storage import Detached, Storage
from minifp.checks import check_flag
from minifp.derive.dtypes import shown
from minifp.errors import DTypeError, TapeError
from minifp.numerics import policy, rules
from minifp.numerics.formats import STORED, is_float
from minifp.runtime.browser import IN_BROWSER
from minifp.runtime.observing import Observers
from minifp.runtime.shapes import Size

# With on_record(node, outputs), on_gradient(node, gradient), on_release(node); and, if they like,
# on_seed(seed), called when a backward begins, and on_read(tensor), called when a tensor's numbers
# are given to NumPy or to Python.
observers: list[Any] = Observers()
module_path: ContextVar[str] = ContextVar("module_path", default="")  # of the module being called

PARTLY = -1  # what is `consumed` of a gradient to which backward has added since a step used it


def set_grad(self: "Tensor", value: "Tensor | None") -> None:
    """The gradient that a leaf has collected. Raises DTypeError for one that is none, and
    TapeError for one that was computed from gradients with a loss scale in them."""
    if value is not None and not (isinstance(value, Tensor) and is_float(value.dtype)):
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise DTypeError(f".grad = a {kind}: expected a floating tensor, or None")
    if value is not None and type(value.seed) is Unknown:
        raise TapeError(Unknown.refusal(".grad = a tensor: it"))
    self._grad = value


def drop_gradients(tensors: "Iterable[Tensor]") -> None:
    """Let no tensor have a gradient any more."""
    for t in tensors:
        t._grad = None


class Tensor:
    """An array, and the node that made it. Made by `fp.tensor`, layers and operations; or, as
    PyTorch's, of sizes, Tensor(2, 3), of a Size, or of lists of numbers (constructed.py).

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
        "consumed",
        "unseeded",
        "hooks",
        "__weakref__",
    )
    array: np.ndarray
    storage: Storage
    node: "Node | None"
    index: int  # among the outputs of the node
    gradient_dtype: np.dtype | None
    _grad: "Tensor | None"
    seed: Any  # of a gradient: what it was multiplied by
    consumed: int | None  # of a gradient: the version of its numbers that a step used, or PARTLY
    unseeded: bool  # of a gradient: whether a backward of seed 1 is in it
    hooks: dict | None
    parents: tuple = ()
    precision: policy.Precision | None = None  # parameters have one

    def __init__(
        self,
        array: Any = (),
        requires_grad: bool = False,
        storage: Storage | None = None,
        node: "Node | None" = None,
        index: int | None = None,
        *more: int,
    ) -> None:
        if type(array) is not np.ndarray or array.dtype not in STORED:
            if type(array) is int:
                array = as_sizes(array, requires_grad, storage, node, index, *more)
                requires_grad, storage, node, index = False, None, None, None
            array = constructed(array)
        if storage is None:
            storage = Storage()
        elif storage.sharing is not None:
            storage.share(self)
        self.array, self.storage, self.node, self.index = array, storage, node, index or 0
        self.gradient_dtype, self._grad, self.hooks = None, None, None
        self.seed, self.consumed, self.unseeded = 1.0, None, False
        if requires_grad is not False:
            self.requires_grad_(requires_grad)

    shape = property(lambda self: Size(self.array.shape), doc="The size of each dimension.")
    ndim = property(attrgetter("array.ndim"), doc="How many dimensions it has.")

    @property
    def dtype(self) -> np.dtype:
        """The format of the numbers."""
        return shown(self.array.dtype)

    @property
    def is_leaf(self) -> bool:
        """Whether no operation made it."""
        return self.node is None

    @property
    def requires_grad(self) -> bool:
        """Whether backward has a gradient for it."""
        return self.node is not None or self.gradient_dtype is not None

    @property
    def gradient_node(self) -> "Node | Tensor | None":
        """Where its gradient arrives: the node that made it, or itself; None if it has none."""
        return self.node or (None if self.gradient_dtype is None else self)

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Make this leaf collect a gradient, or (False) no more. Raises TapeError for others."""
        check_flag("requires_grad", requires_grad)
        if self.node is not None:
            raise TapeError(
                f"requires_grad_() is for leaves; this tensor is the result of {self.node.op}"
            )
        if not is_float(self.dtype) and requires_grad:
            raise TapeError(f"only floating tensors have gradients, not {self.dtype}")
        precision = self.precision or policy.get_precision()
        here = rules.gradient_format(self.array.dtype, self.ndim == 0, precision)
        self.gradient_dtype = here if requires_grad else None
        self.storage.share(self)  # an optimizer may move a leaf
        return self

    @property
    def exact(self) -> np.ndarray | None:
        """The unrounded numbers behind what is stored; None where there are none."""
        return self.storage.exact(self.array)

    grad = property(attrgetter("_grad"), set_grad, doc=set_grad.__doc__)

    @property
    def data(self) -> "Tensor":
        """A tensor on the same memory that remembers nothing, as `detach` makes it.

        Where unrounded numbers are behind it, these are computed with (unrounded.py). Assigning
        gives this tensor the memory of another, as in PyTorch (memory.py).
        """
        return self.detach()

    def detach(self) -> "Tensor":
        """A tensor on the same memory that remembers nothing."""
        storage = self.storage
        if storage.sharing is None:
            storage.share(self)
        other = Tensor(self.array, storage=storage)
        storage.sharing[-1] = Detached(other)
        other.seed, other.consumed, other.unseeded = self.seed, self.consumed, self.unseeded
        return other

    def detach_(self) -> "Tensor":
        """Let this tensor remember nothing; views of it still do. Returns it."""
        self.node, self.index, self.gradient_dtype = None, 0, None
        return self


vars(Tensor)["shape"].fget.__annotations__["return"] = Size  # which a lambda cannot say


class Node:
    """One recorded operation.

    op, params: its name and keywords. parents: (node, index) of each argument, (None, 0) for one
    without gradient. saved: the arrays backward reads, or their codes (kept_operands.py). formats,
    shapes: of the gradient of each output. precision: under which it ran; backward runs under it
    too. module: the path of the module that called it. watched: (storage, version) of each saved
    array that others can write.
    call: what it takes to do it again, until that is forgotten: the recorded operation, its
    arguments without gradient (None for the others), and the code and instruction that called it.
    site: where its kernels find the scales of operands that are delayed, or None.
    """

    __slots__ = ["op", "params", "parents", "saved", "backward", "shapes", "formats"]
    __slots__ += ["precision", "module", "watched", "hooks", "call", "site", "__weakref__"]
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
    site: Any

    def __init__(
        self,
        op: str,
        params: dict,
        parents: tuple,
        saved: Any,
        backward: Callable,
        outputs: tuple,
        precision: policy.Precision,
        call: Any,
    ) -> None:
        self.op, self.params, self.parents, self.call, self.site = op, params, parents, call, None
        self.saved, self.backward, self.watched, self.hooks = saved, backward, (), None
        self.precision, self.module = precision, module_path.get()
        self.shapes = tuple([out.shape for out in outputs])
        formats = precision.gradient_formats
        self.formats = tuple([formats[out.dtype] if out.ndim else out.dtype for out in outputs])

    def watch(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Remember the version of each tensor whose array is among the saved ones. pairs: of
        arguments and results, and their arrays."""
        saved = {*map(id, self.saved)}
        self.watched = [
            (t.storage, t.storage.version)
            for t, array in pairs
            if id(array) in saved and isinstance(t, Tensor)
        ]

    def release(self) -> None:
        """Let go of what backward needed."""
        for observer in observers:
            observer.on_release(self)
        self.saved = self.watched = None

    if IN_BROWSER:
        __del__ = small_stack.put_parents_aside
