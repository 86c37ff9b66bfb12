"""Backward: from losses to leaves, each node after all that read from it.

A node is a Node or a leaf. Gradients that meet at one accumulate in float32 and are rounded
once, in the format in which a gradient of that value is stored; then its hooks see them, then its
backward.
"""

import math
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from minifp.autograd import flushed
from minifp.autograd.gradient_clip import in_seed, is_partly_consumed, is_unseeded, multiplied
from minifp.autograd.gradient_sum import GradientSum, sum_of, unshared
from minifp.autograd.kept_operands import Reading
from minifp.autograd.loss_seed import UNSEEDED, Seeds, seeds_in
from minifp.autograd.replay import unobserved
from minifp.autograd.seeds import Chosen
from minifp.autograd.tape import PARTLY, Node, Tensor, observers
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, DTypeError, ShapeError, TapeError
from minifp.numerics import policy
from minifp.numerics.formats import as_native, as_stored, downcast
from minifp.numerics.operands import OPERANDS
from minifp.runtime.cuda.arrays import is_on_device, to_host
from minifp.runtime.device import full, moved, placed

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
    seed = Chosen(seed) if type(seed) in (float, int) and seed != 1 else seed
    order = propagate(self, gradient, seed, retain_graph)
    if not retain_graph:
        forget(order)


def propagate(y: Tensor, gradient: Any, seed: float, retain_graph: bool) -> list:
    """Do what `backward` does, and return the nodes it went through, the last first.

    They can be replayed (see replay.py) until somebody forgets them.
    """
    end = y.gradient_node
    if end is None:
        raise TapeError("backward() has nothing to differentiate: no tensor requires a gradient")
    order = toposort([end])
    seeds = seeds_in(order, seed, [y])
    sums = {end: {y.index: first_gradient(y, gradient, seeds.first)}}
    is_unseeded, scaled = seeds.are_unknown, None
    watch = flushed.watch_of(order) if is_unseeded else None
    if watch is not None and watch.suspects:
        watch.tries += 1
        for scale in flushed.SCALES:
            scaled = _gradients_beside(order, y, first_gradient(y, gradient, scale))
            if flushed.are_large(scaled):
                break
    of_leaves = _backward_through(order, sums, seeds, retain_graph)
    leaves = [(leaf, dys[0]) for leaf, dys in of_leaves]
    if watch is not None:
        flushed.look(watch, order, leaves, scaled)
    for leaf, gradient in unshared(leaves):
        total = Tensor(gradient) if leaf._grad is None else added(leaf, gradient, seeds.of_leaves)
        total.seed, total.unseeded = seeds.of_leaves, total.unseeded or is_unseeded
        leaf._grad = total
    return order


def _gradients_beside(order, y, first):
    """The gradient of each leaf in a backward that nobody sees, and that lets go of nothing."""
    sums: dict = {y.gradient_node: {y.index: first}}
    gradients: dict = {}
    with unobserved(), np.errstate(all="ignore"):
        for node in order:
            if node not in sums:
                continue
            dys = rounded(node, sums.pop(node))
            if type(node) is not Node:
                gradients[node] = dys[0]
            else:
                arrive(sums, node.parents, run_backward(node, dys), node.precision)
    return gradients


def forget(order: list) -> None:
    """Let go of what operations were called with, which was kept to do them again."""
    for node in order:
        if type(node) is Node:
            node.call = None


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
    seed = Chosen(seed) if type(seed) in (float, int) and seed != 1 else seed
    if create_graph:
        raise ArgumentError(
            "grad: create_graph=True: gradients of gradients are not supported; for a gradient "
            "penalty, compute the gradient with operations"
        )
    outputs, inputs = _several("outputs", outputs), _several("inputs", inputs)
    if isinstance(grad_outputs, (Tensor, np.ndarray)):
        grad_outputs = (grad_outputs,)
    factors = (None,) * len(outputs) if grad_outputs is None else tuple(grad_outputs)
    if len(factors) != len(outputs):
        raise ArgumentError(f"grad: {len(factors)} grad_outputs for {len(outputs)} outputs")
    for name, tensors in (("output", outputs), ("input", inputs)):
        for i, t in enumerate(tensors):
            if t.gradient_node is None:
                raise TapeError(f"grad: {name} {i}, of shape {t.shape}, requires no gradient")
    wanted = {(x.gradient_node, x.index) for x in inputs}
    ends = {v for v, _ in wanted}
    order = _leading_to(ends, toposort([y.gradient_node for y in outputs]))
    seeds = seeds_in(order, seed, outputs)

    def attempt(seeds, retain_graph):
        sums: dict = {}
        firsts = [first_gradient(y, g, seeds.first) for y, g in zip(outputs, factors)]
        places = [(y.gradient_node, y.index) for y in outputs]
        arrive(sums, places, firsts, policy.get_precision())
        return {
            (node, i): gradient if isinstance(node, Tensor) else seeds.taken_out(gradient)
            for node, dys in _backward_through(order, sums, seeds, retain_graph, ends)
            for i, gradient in dys.items()
            if (node, i) in wanted
        }

    if seeds.are_taken_out:
        gradients = _without_overflow(attempt, order, outputs, seeds, retain_graph)
    else:
        gradients = attempt(seeds, retain_graph)
    return _of_inputs(inputs, gradients, seeds, allow_unused)


def _of_inputs(inputs, gradients, seeds, allow_unused):
    """The gradients by place as Tensors, in the order of inputs; None for what has none."""
    places = [(x.gradient_node, x.index) for x in inputs]
    missing = [i for i, place in enumerate(places) if place not in gradients]
    if missing and not allow_unused:
        raise TapeError(
            f"grad: no output depends on input {missing[0]}, of shape "
            f"{inputs[missing[0]].shape}; allow_unused=True gives None for it"
        )
    pairs = [(x, gradients[place]) for x, place in zip(inputs, places) if place in gradients]
    results = iter([_as_gradient(g, seeds.of_leaves) for _, g in unshared(pairs)])
    return tuple(None if i in missing else next(results) for i in range(len(inputs)))


STEP = 8.0  # by which a scale is lowered that made gradients overflow


def _without_overflow(attempt, order, outputs, seeds, retain_graph):
    """The gradients of attempts with smaller and smaller seeds, until none is Inf or NaN: what
    fp.grad returns no step can skip. Where outputs are not finite there is one attempt."""
    keepers = [(t, t.grad) for t in _keepers(order)]
    once = not all(_is_finite(y.array) for y in outputs)
    while True:
        gradients = attempt(seeds, True)
        if once or seeds.whole == 1 or all(map(_is_finite, gradients.values())):
            break
        lower = max(seeds.whole / STEP, 1.0)
        seeds = Seeds(lower, lower, seeds.of_leaves)
        for tensor, before in keepers:
            tensor.grad = before
    for node in order if not retain_graph else ():
        if type(node) is Node:
            node.release()
    return gradients


def _keepers(order):
    """The tensors whose `retain_grad` is among the hooks."""
    of_nodes = [handles for node in order if node.hooks for handles in node.hooks.values()]
    hooks = [handle.hook for handles in of_nodes for handle in handles]
    tensors = [hook.tensor() for hook in hooks if isinstance(hook, Keep)]
    return [t for t in tensors if t is not None]


def _is_finite(array):
    return bool(np.isfinite(as_native(moved(array, "cpu"))).all())


def _several(name, tensors):
    if not isinstance(tensors, (Tensor, Iterable)):
        raise DTypeError(
            f"grad: {name} is a {type(tensors).__name__}: expected a tensor, or several"
        )
    tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise DTypeError(f"grad: {name}[{i}] is a {type(t).__name__}: expected a tensor")
    return tensors


def first_gradient(y, gradient, seed):
    """What backward begins with: seed times `gradient`, or times 1, as it is stored."""
    if gradient is None and y.array.size != 1:
        raise ShapeError(
            f"backward() needs a scalar, got shape {y.shape}: reduce it (.sum(), .mean()) or "
            "pass gradient="
        )
    is_number = isinstance(seed, (int, float, np.number)) and not isinstance(seed, bool)
    if not is_number and not hasattr(seed, "gradient"):
        raise DTypeError(f"backward: seed={seed!r}: expected a number")
    if is_number and not (seed and math.isfinite(seed)):  # by which gradients could not be divided
        raise ArgumentError(f"backward: seed={seed!r}: expected a finite number other than 0")
    format = y.gradient_dtype if y.node is None else y.node.formats[y.index]
    if gradient is None and hasattr(seed, "gradient"):  # one that only the GPU knows
        return seed.gradient(y.shape, format)
    if gradient is None:
        return full(y.shape, as_stored(seed, format), format, like=y.array)
    array: Any = getattr(gradient, "array", gradient)
    is_here = type(array) is type(y.array) is np.ndarray
    if is_here and array.shape == y.shape and array.dtype == format and seed == 1:
        return array.copy()
    first: Any = gradient
    if is_on_device(getattr(first, "array", first)):
        first = to_host(getattr(first, "array", first))
    try:
        first = np.asarray(first.array if isinstance(first, Tensor) else first)
        first = np.asarray(as_native(first), float)
    except (TypeError, ValueError):
        raise DTypeError(
            f"backward: gradient is a {type(gradient).__name__}: expected a tensor of shape "
            f"{y.shape}"
        ) from None
    if first.shape != y.shape:
        raise ShapeError(f"gradient of shape {first.shape} for a tensor of shape {y.shape}")
    return placed(downcast(np.asarray(first * seed), format), like=y.array)


# ---- from node to node ---------------------------------------------------------------------------


def toposort(ends):
    """Every node `ends` depend on, each after all the nodes that read from it."""
    readers, stack = dict.fromkeys(ends, 0), list(dict.fromkeys(ends))
    while stack:
        for parent, _ in stack.pop().parents:
            if parent in readers:
                readers[parent] += 1
            elif parent is not None:
                readers[parent] = 1
                stack.append(parent)
    ready, order = [end for end in dict.fromkeys(ends) if readers[end] == 0], []
    while ready:
        node = ready.pop()
        order.append(node)
        for parent, _ in node.parents:
            if parent is not None:
                readers[parent] -= 1
                if readers[parent] == 0:
                    ready.append(parent)
    return order


def _leading_to(wanted, order):
    """The nodes of a topological order through which the wanted ones are reached."""
    leading = set(wanted)
    for node in reversed(order):
        if any(parent in leading for parent, _ in node.parents):
            leading.add(node)
    return [node for node in order if node in leading]


def _backward_through(order, sums, seeds, retain_graph, ends=()):
    """Take gradients through the nodes of `order`: (node, its gradients by index) of each leaf, and
    of each node in `ends`.

    sums: those that backward begins with, by node and index, where all others arrive until they
    are taken. seeds: what they are multiplied by (a Seeds). What nobody keeps is freed on the way.
    """
    reached: set = set(order)
    # What each node's backward makes gradients for; of a leaf, and where fp.grad ends, nothing.
    goes_to = {v: [parent in reached for parent, _ in v.parents] for v in order}
    for node, wanted in goes_to.items():
        if True not in wanted:
            continue
        if node.saved is None or True in [s.version != v for s, v in node.watched]:
            _refuse(node)
    for observer in observers:
        if hasattr(observer, "on_seed"):
            observer.on_seed(seeds.whole)
    takes_out, arrivals = seeds.are_taken_out, []
    for node, wanted in goes_to.items():
        if node not in sums:
            continue
        dys, is_leaf = sums.pop(node), type(node) is not Node
        if GradientSum in map(type, dys.values()):
            dys = rounded(node, dys)
        if node.hooks and not (is_leaf and takes_out):
            after = _after_leaf_hooks if is_leaf else _after_hooks
            dys = {i: after(node, i, dy, seeds) for i, dy in dys.items()}
        for observer in observers:
            for gradient in dys.values():
                observer.on_gradient(node, gradient)
        if is_leaf and takes_out:  # before anyone reads the gradient
            dys = {i: seeds.taken_out(dy) for i, dy in dys.items()}
            if node.hooks:
                dys = {i: _after_leaf_hooks(node, i, dy, seeds) for i, dy in dys.items()}
        if is_leaf or node in ends:
            arrivals.append((node, dys))
        if True not in wanted:
            continue
        # Not named, so that they are freed before the next node's are made.
        arrive(sums, node.parents, run_backward(node, dys, wanted), node.precision)
        if not retain_graph:
            node.release()
    return arrivals


def arrive(sums, places, gradients, precision):
    """Take note of the gradients, or None, that come to places, (node, index of its output) each:
    of one that comes alone as it is, which is as it shall be stored; of several as a sum."""
    for (node, i), gradient in zip(places, gradients):
        if gradient is None:
            continue
        of_node = sums.setdefault(node, {})
        before = of_node.get(i)
        if before is not None:
            total = before if type(before) is GradientSum else GradientSum(before)
            gradient = total.add(gradient, precision)
        of_node[i] = gradient


def rounded(node, dys):
    """The gradients that have come to the outputs of a node, by index, sums rounded once."""
    return {
        i: g.rounded(format_of(node, i)) if type(g) is GradientSum else g for i, g in dys.items()
    }


def run_backward(node, dys, wanted=None):
    """The gradient of each argument of a node, None where none is wanted.

    dys: the gradients of its outputs, by index. wanted: for each argument whether its gradient
    is (by default wherever it has one).
    """
    parents = node.parents
    wanted = [v is not None for v, _ in parents] if wanted is None else wanted
    to = tuple(
        [
            None if not go else v.formats[i] if type(v) is Node else v.gradient_dtype
            for (v, i), go in zip(parents, wanted)
        ]
    )
    if len(dys) < len(node.shapes):
        pairs = zip(node.shapes, node.formats)
        dys = {
            i: dys[i] if i in dys else full(shape, 0, format, like=any_of(dys))
            for i, (shape, format) in enumerate(pairs)
        }
    all_dys = [dys[i] for i in range(len(dys))]
    run, saved = node.backward, node.saved
    run = run if node.site is None else partial(node.site.backward, run)
    if node.precision.saved == OPERANDS:
        reading = Reading(node)
        run, saved = partial(reading.run, run), reading.saved
    if node.precision is policy.active.get().value:
        gradients = run(*all_dys, *saved, to=to, **node.params)
    else:
        with policy.precision(node.precision):
            gradients = run(*all_dys, *saved, to=to, **node.params)
    if not isinstance(gradients, tuple) or len(gradients) != len(to):
        raise TapeError(f"backward of {node.op}: expected a tuple of {len(to)} gradients")
    for k, ((parent, i), format, g) in enumerate(zip(parents, to, gradients)):
        if format is None:
            if g is not None:
                gradients = (*gradients[:k], None, *gradients[k + 1 :])
            continue
        shape = parent.shapes[i] if type(parent) is Node else parent.array.shape
        if g is None or g.shape != shape or g.dtype != format:
            got = "none" if g is None else f"one of shape {g.shape}, {name_of(g.dtype)}"
            raise TapeError(
                f"backward of {node.op}: expected a gradient of shape {shape}, {format}; got {got}"
            )
    return gradients


def any_of(dys):
    """One of the gradients of a node's outputs."""
    return next(iter(dys.values()))


def format_of(node, index):
    """The format in which a gradient of this value is stored."""
    return node.formats[index] if type(node) is Node else node.gradient_dtype


def _refuse(node):
    """Say why a backward cannot be done."""
    if node.saved is None:
        raise TapeError(
            f"backward through {node.op} a second time: the first backward released the saved "
            "tensors; pass retain_graph=True to the first"
        )
    raise TapeError(
        f"a tensor that backward of {node.op} needs was changed in place after {node.op} "
        "saved it; change a clone, or call backward() before the change"
    )


def added(leaf, gradient, seed):
    """A leaf's gradient with this one added; from the second on, in float32, and in its seed."""
    held = leaf._grad
    if held is None:
        return _as_gradient(gradient, seed)
    precision = leaf.precision or policy.active.get().value
    before = held.array if held.seed is seed else in_seed(held, seed)
    total = _as_gradient(sum_of(before, gradient, precision), seed)
    if held.consumed is not None and is_partly_consumed(held):
        total.consumed = PARTLY
    total.unseeded = is_unseeded(held)
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

    The gradient is whole (all that meet are summed). A leaf's, as a parameter's, is without the
    loss scale, in float32; one in the middle of a graph is in the format in which it is stored, and
    still multiplied by the loss scale, `gradient.seed`. What the hook returns, unless None, takes
    its place, in that format; but Inf and NaN that were there under a loss scale stay, for the step
    to see. Raises TapeError for a tensor that has no gradient.
    """
    if self.gradient_node is None:
        raise TapeError("register_hook on a tensor that requires no gradient")
    if not callable(hook):
        raise ArgumentError(f"register_hook: {hook!r} is not a function")
    if self.gradient_node.hooks is None:
        self.gradient_node.hooks = {}
    return HookHandle(self.gradient_node.hooks.setdefault(self.index, []), hook)


def retain_grad(self: Tensor) -> None:
    """Let a tensor that an operation made keep its gradient in `.grad`, as leaves do."""
    if self.gradient_node is None:
        raise TapeError("retain_grad on a tensor that requires no gradient")
    handles = (self.gradient_node.hooks or {}).get(self.index, ())
    tensors = [handle.hook.tensor() for handle in handles if isinstance(handle.hook, Keep)]
    if self.node is not None and not any(tensor is self for tensor in tensors):
        register_hook(self, Keep(self))


class Keep:
    """The hook of retain_grad. The node keeps the hook, which must not keep the tensor."""

    def __init__(self, tensor):
        self.tensor = weakref.ref(tensor)

    def __call__(self, gradient):
        """Add a gradient to the tensor's own, if there still is a tensor."""
        tensor = self.tensor()
        if tensor is not None:
            tensor.grad = added(tensor, gradient.array.copy(), gradient.seed)


def _after_leaf_hooks(leaf, index, gradient, seeds):
    """The gradient of a leaf after its hooks, which get it without its seed, in float32, and may
    return such a one: rounded no more. An overflow stays, for the step to skip, whatever they say.
    """
    seed = seeds.of_leaves
    plain = gradient if seed == 1 else multiplied(gradient, 1 / seed)
    overflow: Any = None if seeds.whole == 1 else ~np.isfinite(plain)
    before = plain.copy() if overflow is not None and overflow.any() else None
    new = _after_hooks(leaf, index, plain, UNSEEDED)
    if new is plain:
        return gradient
    if before is not None:
        new = np.where(overflow, before, new)
    return new if seed == 1 else multiplied(new, float(seed))


def _after_hooks(node, index, gradient, seeds):
    """The gradient after the hooks of one output have seen, or replaced, it."""
    handles = list(node.hooks.get(index, ()))
    handles.sort(key=lambda handle: isinstance(handle.hook, Keep))  # which keep what others leave
    for handle in handles:
        if isinstance(handle.hook, Keep):
            handle.hook(_as_gradient(seeds.taken_out(gradient), seeds.of_leaves))
            continue
        given = _as_gradient(gradient, seeds.whole)
        new = handle.hook(given)
        if new is None:
            gradient = gradient.copy() if given.storage.version else gradient  # written in place
            continue
        new = placed(new.array if isinstance(new, Tensor) else new, like=gradient)
        if new.shape != gradient.shape or new.dtype.kind not in "fiuV":
            raise TapeError(
                f"a gradient hook returned {name_of(new.dtype)} of shape {new.shape}, expected a "
                f"gradient of shape {gradient.shape}, or None"
            )
        gradient = downcast(new, gradient.dtype)
    return gradient
