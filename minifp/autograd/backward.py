"""Backward: the walk from losses to leaves, each vertex after all that read from it.

A vertex is a Node or a leaf. Gradients that meet at one are summed in float32 and rounded once, in
the format in which a gradient of that value is stored; then its hooks see them, then its backward.
"""

import math
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from minifp.autograd.gradient_clip import in_seed, is_partly_consumed, is_unseeded
from minifp.autograd.gradient_sum import GradientSum, unshared
from minifp.autograd.tape import PARTLY, Node, Tensor, observers
from minifp.errors import ArgumentError, DTypeError, ShapeError, TapeError
from minifp.numerics import policy
from minifp.numerics.formats import downcast
from minifp.runtime.cuda.arrays import is_on_device, to_host
from minifp.runtime.device import full, placed

Tensors: TypeAlias = Tensor | Iterable[Tensor]


def backward(
    self: Tensor, gradient: Any = None, *, seed: float = 1.0, retain_graph: bool = False
) -> None:
    """Add seed * d(self)/d(leaf) to `leaf.grad`, for every leaf this tensor depends on.

    gradient: what to multiply by instead of 1, of this tensor's shape; needed unless it has one
        element. seed: a factor, entered here once, in the format of this tensor's gradient.
    retain_graph: keep what backward needs, for a second one (two losses on one trunk).
    Raises TapeError, with nothing changed, where there is nothing to differentiate, a second
    backward needs what the first released, or a stored tensor was changed in place since. A
    gradient of another seed is brought to this one's, in float32.
    """
    order = propagate(self, gradient, seed, retain_graph)
    if not retain_graph:
        forget(order)


def propagate(y: Tensor, gradient: Any, seed: float, retain_graph: bool) -> list:
    """Do what `backward` does, and return the vertices it went through, the last first.

    They can be replayed (see replay.py) until somebody forgets them.
    """
    if y.vertex is None:
        raise TapeError("backward() with nothing to differentiate: no tensor requires a gradient")
    order = list(toposort([y.vertex]))
    arrived = _walk(order, [(y, first_gradient(y, gradient, seed))], seed, retain_graph)
    leaves = [(vertex, found[0]) for vertex, found in arrived if isinstance(vertex, Tensor)]
    for leaf, gradient in unshared(leaves):
        leaf.grad = _added(leaf, gradient, seed)
        leaf.grad.unseeded |= seed == 1
    return order


def forget(order: list) -> None:
    """Let go of what operations were called with, which was kept to do them again."""
    for vertex in order:
        if type(vertex) is Node:
            vertex.call = None


def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, allow_unused: bool = False, *, seed: float = 1.0,
) -> tuple:  # fmt: skip
    """The gradients of the sum of `outputs` for each of `inputs`, as a tuple; no leaf's changes.

    outputs, inputs: a tensor or several; inputs may also be values in the middle of a graph.
    grad_outputs: for each output what to multiply by, of its shape; None for a scalar's 1.
    retain_graph: keep what backward needs. allow_unused: None for an input that no output depends
    on, instead of a TapeError. seed: as in `Tensor.backward`.
    Raises ArgumentError for create_graph=True: gradients of gradients are not recorded.
    """
    if create_graph:
        raise ArgumentError(
            "grad: create_graph=True: gradients of gradients are not recorded; for a gradient "
            "penalty, write the gradient with operations"
        )
    outputs, inputs = _several("outputs", outputs), _several("inputs", inputs)
    given = (None,) * len(outputs) if grad_outputs is None else grad_outputs
    given = (given,) if isinstance(given, (Tensor, np.ndarray)) else tuple(given)
    if len(given) != len(outputs):
        raise ArgumentError(f"grad: {len(given)} grad_outputs for {len(outputs)} outputs")
    for name, tensors in (("output", outputs), ("input", inputs)):
        for i, t in enumerate(tensors):
            if t.vertex is None:
                raise TapeError(f"grad: {name} {i}, of shape {t.shape}, requires no gradient")
    firsts = [(y, first_gradient(y, g, seed)) for y, g in zip(outputs, given)]
    wanted = {(x.vertex, x.index) for x in inputs}
    order = _leading_to({v for v, _ in wanted}, list(toposort([y.vertex for y in outputs])))
    found = {
        (vertex, i): gradient
        for vertex, arrived in _walk(order, firsts, seed, retain_graph)
        for i, gradient in arrived.items()
        if (vertex, i) in wanted
    }
    missing = [i for i, x in enumerate(inputs) if (x.vertex, x.index) not in found]
    if missing and not allow_unused:
        raise TapeError(
            f"grad: no output depends on input {missing[0]}, of shape "
            f"{inputs[missing[0]].shape}; allow_unused=True gives None for it"
        )
    pairs = [(x, found[x.vertex, x.index]) for x in inputs if (x.vertex, x.index) in found]
    gradients = iter([_as_gradient(g, seed) for _, g in unshared(pairs)])
    return tuple(None if i in missing else next(gradients) for i in range(len(inputs)))


def _several(name, tensors):
    tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise DTypeError(f"grad: {name}[{i}] is a {type(t).__name__}: expected a tensor")
    return tensors


def first_gradient(y, gradient, seed):
    """What the walk begins with: seed times `gradient`, or times 1, as it is stored."""
    if gradient is None and y.array.size != 1:
        raise ShapeError(
            f"backward() starts from a scalar, not from shape {y.shape}: "
            "reduce it (.sum(), .mean()) or pass gradient="
        )
    is_number = isinstance(seed, (int, float, np.number)) and not isinstance(seed, bool)
    if not is_number and not hasattr(seed, "gradient"):
        raise DTypeError(f"backward: seed={seed!r}: expected a number")
    if is_number and not (seed and math.isfinite(seed)):  # by which gradients could not be divided
        raise ArgumentError(f"backward: seed={seed!r}: expected a finite number other than 0")
    format = format_of(y.vertex, y.index)
    if gradient is None and hasattr(seed, "gradient"):  # one that only the GPU knows
        return seed.gradient(y.shape, format)
    if gradient is None:
        return full(y.shape, seed, format, like=y.array)
    first: Any = gradient
    if is_on_device(getattr(first, "array", first)):
        first = to_host(getattr(first, "array", first))
    try:
        first = np.asarray(first.array if isinstance(first, Tensor) else first, float)
    except (TypeError, ValueError):
        raise DTypeError(
            f"backward: gradient is a {type(gradient).__name__}: expected a tensor of shape "
            f"{y.shape}"
        ) from None
    if first.shape != y.shape:
        raise ShapeError(f"gradient of shape {first.shape} for a tensor of shape {y.shape}")
    return placed(downcast(np.asarray(first * seed), format), like=y.array)


# ---- the walk -----------------------------------------------------------------------------------


def toposort(ends):
    """Every vertex `ends` depend on, each after all the vertices that read from it."""
    readers, stack = dict.fromkeys(ends, 0), list(dict.fromkeys(ends))
    while stack:
        for parent, _ in stack.pop().parents:
            if parent is not None:
                if parent not in readers:
                    stack.append(parent)
                readers[parent] = readers.get(parent, 0) + 1
    ready = [end for end in dict.fromkeys(ends) if readers[end] == 0]
    while ready:
        vertex = ready.pop()
        yield vertex
        for parent, _ in vertex.parents:
            if parent is not None:
                readers[parent] -= 1
                if readers[parent] == 0:
                    ready.append(parent)


def _leading_to(wanted, order):
    """The vertices of a topological order through which the wanted ones are reached."""
    leading = set(wanted)
    for vertex in reversed(order):
        if any(parent in leading for parent, _ in vertex.parents):
            leading.add(vertex)
    return [vertex for vertex in order if vertex in leading]


def _walk(order, firsts, seed, retain_graph):
    """Take gradients through the vertices of `order`: (vertex, its gradients by index) of each.

    The caller gets those of leaves, and of what lies between, one after the other; what nobody
    keeps is freed as the walk goes on.
    """
    reached: set = set(order)
    goes_on = {v for v in order if any(parent in reached for parent, _ in v.parents)}
    sums: dict = {}
    for vertex in order:
        if vertex in goes_on:
            _check_before_backward(vertex)
    for observer in observers:
        if hasattr(observer, "on_seed"):
            observer.on_seed(seed)
    for y, first in firsts:
        meet(sums, y.vertex, y.index, first)
    for vertex in order:
        if vertex not in sums:
            continue
        arrived = {i: s.rounded(format_of(vertex, i)) for i, s in sums.pop(vertex).items()}
        if vertex.hooks:
            arrived = {i: _after_hooks(vertex, i, g, seed) for i, g in arrived.items()}
        for gradient in arrived.values():
            for observer in observers:
                observer.on_gradient(vertex, gradient)
        yield vertex, arrived
        if vertex not in goes_on:  # a leaf, or where fp.grad ends
            continue
        wanted = [parent in reached for parent, _ in vertex.parents]
        for (parent, i), g, go in zip(
            vertex.parents, run_backward(vertex, arrived, wanted), wanted
        ):
            if go:
                meet(sums, parent, i, g, vertex.precision)
        if not retain_graph:
            vertex.release()


def meet(sums, vertex, index, gradient, precision=None):
    """Add a gradient to those that have arrived at one output of a vertex."""
    met = sums.setdefault(vertex, {})
    if index in met:
        met[index].add(gradient, precision or policy.get_precision())
    else:
        met[index] = GradientSum(gradient)


def run_backward(node, arrived, wanted=None):
    """The gradient of each argument of a node, None where none is wanted.

    arrived: the gradients of its outputs, by index. wanted: for each argument whether its gradient
    is (by default wherever it has one).
    """
    wanted = [v is not None for v, _ in node.parents] if wanted is None else wanted
    to = tuple(format_of(v, i) if go else None for (v, i), go in zip(node.parents, wanted))
    dys = tuple(
        arrived[i] if i in arrived else full(shape, 0, format, like=any_of(arrived))
        for i, (shape, format) in enumerate(zip(node.shapes, node.formats))
    )
    with policy.precision(node.precision):
        gradients = node.backward(*dys, *node.saved, to=to, **node.params)
    if not isinstance(gradients, tuple) or len(gradients) != len(to):
        raise TapeError(f"backward of {node.op}: expected a tuple of {len(to)} gradients")
    for (vertex, i), format, g in zip(node.parents, to, gradients):
        if format is not None:
            shape = vertex.shape if isinstance(vertex, Tensor) else vertex.shapes[i]
            if g is None or (g.shape, g.dtype) != (shape, format):
                got = "none" if g is None else f"one of shape {g.shape}, {g.dtype}"
                raise TapeError(
                    f"backward of {node.op}: expected a gradient of shape {shape}, {format}; "
                    f"got {got}"
                )
    return gradients


def any_of(arrived):
    """One of the gradients that arrived at a node."""
    return next(iter(arrived.values()))


def format_of(vertex, index):
    """The format in which a gradient of this value is stored."""
    return vertex.gradient_dtype if isinstance(vertex, Tensor) else vertex.formats[index]


def _check_before_backward(vertex):
    if vertex.saved is None:
        raise TapeError(
            f"backward through {vertex.op} a second time: the first released what it needs; "
            "pass retain_graph=True to the first"
        )
    if any(storage.version != version for storage, version in vertex.watched):
        raise TapeError(
            f"a tensor that backward of {vertex.op} needs was changed in place after {vertex.op} "
            "stored it; change a clone, or call backward() before the change"
        )


def _added(leaf, gradient, seed):
    """A leaf's gradient with this one added; from the second on, in float32, and in its seed."""
    held = leaf.grad
    if held is None:
        return _as_gradient(gradient, seed)
    precision = leaf.precision or policy.get_precision()
    total = _as_gradient(GradientSum(in_seed(held, seed)).add(gradient, precision).total, seed)
    total.consumed, total.unseeded = PARTLY if is_partly_consumed(held) else None, is_unseeded(held)
    return total


def _as_gradient(array, seed):
    gradient = Tensor(array)
    gradient.seed = seed
    return gradient


# ---- hooks --------------------------------------------------------------------------------------


class HookHandle:
    """A hook in a list of them, as registering returns it: `remove()` takes it away again."""

    def __init__(self, hooks: list, hook: Callable):
        self.hooks, self.hook = hooks, hook
        hooks.append(self)

    def remove(self) -> None:
        """Take the hook away; a second time does nothing."""
        self.hooks[:] = [handle for handle in self.hooks if handle is not self]


def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> HookHandle:
    """Call `hook(gradient)` whenever backward has this tensor's gradient; returns a handle.

    The gradient is whole (all that meet are summed) and in the format in which it is stored; it is
    still multiplied by the loss scale, `gradient.seed`. What the hook returns, unless None, takes
    its place, rounded to that format. Raises TapeError for a tensor that has no gradient.
    """
    if self.vertex is None:
        raise TapeError("register_hook on a tensor that requires no gradient")
    if not callable(hook):
        raise ArgumentError(f"register_hook: {hook!r} is no function")
    if self.vertex.hooks is None:
        self.vertex.hooks = {}
    return HookHandle(self.vertex.hooks.setdefault(self.index, []), hook)


def retain_grad(self: Tensor) -> None:
    """Let a tensor that an operation made keep its gradient in `.grad`, as leaves do."""
    if self.vertex is None:
        raise TapeError("retain_grad on a tensor that requires no gradient")
    held = (self.vertex.hooks or {}).get(self.index, ())
    kept = [handle.hook.tensor() for handle in held if isinstance(handle.hook, Keep)]
    if self.node is not None and not any(tensor is self for tensor in kept):
        register_hook(self, Keep(self))


class Keep:
    """The hook of retain_grad. The node keeps the hook, which must not keep the tensor."""

    def __init__(self, tensor):
        self.tensor = weakref.ref(tensor)

    def __call__(self, gradient):
        """Add a gradient to the tensor's own, if there still is a tensor."""
        tensor = self.tensor()
        if tensor is not None:
            tensor.grad = _added(tensor, gradient.array.copy(), gradient.seed)


def _after_hooks(vertex, index, gradient, seed):
    """The gradient after the hooks of one output have seen, or replaced, it."""
    handles = list(vertex.hooks.get(index, ()))
    handles.sort(
        key=lambda handle: isinstance(handle.hook, Keep)
    )  # what is kept is what they leave
    for handle in handles:
        given = handle.hook(_as_gradient(gradient, seed))
        if given is None:
            continue
        given = placed(given.array if isinstance(given, Tensor) else given, like=gradient)
        if given.shape != gradient.shape or given.dtype.kind not in "fiu":
            raise TapeError(
                f"a gradient hook returned {given.dtype} of shape {given.shape}, expected a "
                f"gradient of shape {gradient.shape}, or None"
            )
        gradient = downcast(given, gradient.dtype)
    return gradient
