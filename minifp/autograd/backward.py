"""Backward: from losses to leaves, each node after all that read from it.

A node is a Node or a leaf. Gradients that meet at one accumulate in float32 and are rounded
once, in the format in which a gradient of that value is stored; then its hooks see them, then its
backward.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from minifp.autograd import flushed
from minifp.autograd.gradients import GradientSum, added
from minifp.autograd.hooks import Keep, after_hooks, after_leaf_hooks
from minifp.autograd.kept_operands import Reading
from minifp.autograd.loss_seed import automatic, seeds_in
from minifp.autograd.replay import unobserved
from minifp.autograd.seeds import Chosen
from minifp.autograd.tape import Node, Tensor, observers
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, DTypeError, ShapeError, TapeError
from minifp.numerics import policy
from minifp.numerics.formats import as_native, as_stored, downcast
from minifp.numerics.operands import OPERANDS
from minifp.runtime.cuda.arrays import is_on_device, to_host
from minifp.runtime.device import full, is_writeable, moved, placed


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
    end = y.node or y
    if y.node is None and y.gradient_dtype is None:
        raise TapeError("backward() has nothing to differentiate: no tensor requires a gradient")
    order = toposort([end])
    seeds = seeds_in(order, seed, [y])
    sums = {end: {y.index: first_gradient(y, gradient, seeds.first)}}
    is_unseeded, scaled = seeds.whole == 1 and not seeds.by_loss, None  # past any loss scale
    watch = flushed.watch_of(order) if is_unseeded and ran_under_autocast(order) else None
    if watch is not None and watch.suspects:
        watch.tries += 1
        for scale in flushed.SCALES:
            scaled = _gradients_beside(order, y, first_gradient(y, gradient, scale))
            if flushed.are_large(scaled):
                break
    if seeds.are_taken_out and automatic[-1].is_alone:
        arrivals = _finite_arrivals(order, y, gradient, seeds, retain_graph)
    else:
        arrivals = backward_through(order, sums, seeds, retain_graph)
    leaves = [(leaf, dys[0]) for leaf, dys in arrivals]
    if watch is not None:
        flushed.look(watch, order, leaves, scaled)
    seed = seeds.of_leaves
    for leaf, gradient in unshared(leaves):
        if leaf._grad is None:
            total = Tensor(gradient)
            total.seed, total.unseeded = seed, is_unseeded
        else:
            total = added(leaf, gradient, seed, is_unseeded)
        leaf._grad = total
    return order


def _finite_arrivals(order, y, gradient, seeds, retain_graph):
    """What arrives at leaves of smaller and smaller seeds, until it is finite."""

    def attempt(seeds, retain_graph):
        sums = {y.gradient_node: {y.index: first_gradient(y, gradient, seeds.first)}}
        return {leaf: g[0] for leaf, g in backward_through(order, sums, seeds, retain_graph)}

    gradients = without_overflow(attempt, order, [y], seeds, retain_graph)
    return [(leaf, [gradient]) for leaf, gradient in gradients.items()]


def unshared(gradients):
    """The (leaf, gradient) pairs, with a copy of each gradient whose memory another one has.

    `x + y` hands one array to both; changing one of them in place must not change the other.
    """
    seen, pairs = set(), []
    for leaf, gradient in gradients:
        memory = id(gradient) if gradient.base is None else id(gradient.base)
        is_own = type(gradient) is np.ndarray and gradient.flags.writeable
        if memory in seen or not (is_own or is_writeable(gradient)):
            gradient = gradient.copy()
        seen.add(memory)
        pairs.append((leaf, gradient))
    return pairs


def ran_under_autocast(order: list) -> bool:
    """Whether autocast has cast the inputs of some operation among these nodes."""
    return any(n.precision.operations is not None for n in order if type(n) is Node)


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


def first_gradient(y, gradient, seed):
    """What backward begins with: seed times `gradient`, or times 1, as it is stored."""
    format = y.gradient_dtype if y.node is None else y.node.formats[y.index]
    if gradient is None:
        return _first_of_one(y, seed, format)
    array: Any = getattr(gradient, "array", gradient)
    if type(array) is np.ndarray and array.shape == y.array.shape and array.dtype == format:
        if type(seed) is float and seed == 1 and type(y.array) is np.ndarray:
            return array.copy()
    _check_seed(seed)
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


def _first_of_one(y, seed, format):
    """The same of one element, times 1. Raises ShapeError for more."""
    if y.array.size != 1:
        raise ShapeError(
            f"backward() needs a scalar, got shape {y.shape}: reduce it (.sum(), .mean()) or "
            "pass gradient="
        )
    _check_seed(seed)
    if hasattr(seed, "gradient"):  # one that only the GPU knows
        return seed.gradient(y.shape, format)
    if format.kind == "V" or type(y.array) is not np.ndarray:  # codes; or on a GPU
        return full(y.shape, as_stored(seed, format), format, like=y.array)
    return np.full(y.shape, seed, format)


def _check_seed(seed):
    """Raise for a seed by which gradients could not be divided."""
    is_number = isinstance(seed, (int, float, np.number)) and not isinstance(seed, bool)
    if not is_number and not hasattr(seed, "gradient"):
        raise DTypeError(f"backward: seed={seed!r}: expected a number")
    if is_number and not (seed and math.isfinite(seed)):
        raise ArgumentError(f"backward: seed={seed!r}: expected a finite number other than 0")


STEP = 8.0  # by which a scale is lowered that made gradients overflow
SMALLEST = STEP**-8  # below which it is not lowered


def without_overflow(attempt, order, outputs, seeds, retain_graph):
    """The gradients of attempts with smaller and smaller seeds, until none is Inf or NaN: what
    fp.grad returns no step can skip, nor weights that a program changes by hand. Where outputs are
    not finite there is one attempt."""
    keepers = [(t, t.grad) for t in _keepers(order)]
    once = not all(_is_finite(y.array) for y in outputs)
    while True:
        gradients = attempt(seeds, True)
        if once or seeds.whole <= SMALLEST or all(map(_is_finite, gradients.values())):
            break
        lower = max(seeds.whole / STEP, SMALLEST)
        seeds = seeds._replace(first=lower, whole=lower)
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
                if type(parent) is Node:
                    stack.append(parent)
    ready, order = [end for end in dict.fromkeys(ends) if readers[end] == 0], []
    while ready:
        node = ready.pop()
        order.append(node)
        for parent, _ in node.parents:
            if parent is not None:
                readers[parent] = left = readers[parent] - 1
                if not left:
                    ready.append(parent)
    return order


def backward_through(order, sums, seeds, retain_graph, ends=()):
    """Take gradients through the nodes of `order`: (node, its gradients by index) of each leaf, and
    of each node in `ends`.

    sums: those that backward begins with, by node and index, where all others arrive until they
    are taken. seeds: what they are multiplied by (a Seeds). What nobody keeps is freed on the way.
    """
    formats = _formats_in(order, ends)
    for observer in observers:
        if hasattr(observer, "on_seed"):
            observer.on_seed(seeds.whole)
    takes_out, arrivals = seeds.are_taken_out, []
    for node, to in formats.items():
        dys, is_leaf = sums.pop(node, None), type(node) is not Node
        if dys is None:
            continue
        if GradientSum in map(type, dys.values()):
            dys = rounded(node, dys)
        if node.hooks and not (is_leaf and takes_out):
            after = after_leaf_hooks if is_leaf else after_hooks
            dys = {i: after(node, i, dy, seeds) for i, dy in dys.items()}
        for observer in observers:
            for gradient in dys.values():
                observer.on_gradient(node, gradient)
        if takes_out and is_leaf:  # before anyone reads the gradient
            dys = {i: seeds.taken_out(dy) for i, dy in dys.items()}
            if node.hooks:
                dys = {i: after_leaf_hooks(node, i, dy, seeds) for i, dy in dys.items()}
        if is_leaf or node in ends:
            arrivals.append((node, dys))
        if to:
            # Not named, so that they are freed before the next node's are made.
            arrive(sums, node.parents, run_backward(node, dys, to), node.precision)
            if not retain_graph:
                node.release()
    return arrivals


def _formats_in(order, ends):
    """By node, in this order, for each argument the format of its gradient, None where none is
    wanted: it goes to no node of these. () for a leaf, and where fp.grad ends.

    Raises TapeError for a node whose backward cannot be done."""
    formats: dict[Any, tuple] = dict.fromkeys(order, ())
    for node in [node for node in order if type(node) is Node]:
        to = formats[node] = tuple(
            [
                None if v not in formats else v.formats[i] if type(v) is Node else v.gradient_dtype
                for v, i in node.parents
            ]
        )
        if node in ends and all(format is None for format in to):
            formats[node] = ()
        elif node.saved is None or True in [s.version != v for s, v in node.watched]:
            _refuse(node)
    return formats


def arrive(sums, places, gradients, precision):
    """Take note of the gradients, or None, that come to places, (node, index of its output) each:
    of one that comes alone as it is, which is as it shall be stored; of several as a sum."""
    for (node, i), gradient in zip(places, gradients):
        if gradient is None:
            continue
        of_node = sums.setdefault(node, {})
        if i in of_node:
            before = of_node[i]
            total = before if type(before) is GradientSum else GradientSum(before)
            gradient = total.add(gradient, precision)
        of_node[i] = gradient


def rounded(node, dys):
    """The gradients that have come to the outputs of a node, by index, sums rounded once."""
    return {
        i: g.rounded(format_of(node, i)) if type(g) is GradientSum else g for i, g in dys.items()
    }


def run_backward(node, dys, to=None):
    """The gradient of each argument of a node, None where none is wanted.

    dys: the gradients of its outputs, by index. to: for each argument the format of its gradient,
    None where none is wanted (by default, that of each which has one).
    """
    if to is None:
        to = tuple([None if v is None else format_of(v, i) for v, i in node.parents])
    run, saved, precision = node.backward, node.saved, node.precision
    if node.site is not None:
        run = partial(node.site.backward, run)
    if precision.saved == OPERANDS:
        reading = Reading(node)
        run, saved = partial(reading.run, run), reading.saved
    args = [dys[i] if i in dys else _zeros(node, i, dys) for i in range(len(node.shapes))]
    if precision is policy.active.get().value:
        gradients = run(*args, *saved, to=to, **node.params)
    else:
        with policy.precision(precision):
            gradients = run(*args, *saved, to=to, **node.params)
    if not isinstance(gradients, tuple) or len(gradients) != len(to):
        raise TapeError(f"backward of {node.op}: expected a tuple of {len(to)} gradients")
    for (parent, i), format, g in zip(node.parents, to, gradients):
        if format is not None:
            shape = parent.shapes[i] if type(parent) is Node else parent.array.shape
            if g is None or g.shape != shape or g.dtype != format:
                got = "none" if g is None else f"one of shape {g.shape}, {name_of(g.dtype)}"
                raise TapeError(
                    f"backward of {node.op}: expected a gradient of shape {shape}, {format}; got "
                    f"{got}"
                )
        elif g is not None:  # which nobody wants
            gradients = tuple([None if f is None else g for f, g in zip(to, gradients)])
    return gradients


def _zeros(node, i, dys):
    """The gradient of an output that nothing reads."""
    return full(node.shapes[i], 0, node.formats[i], like=any_of(dys))


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
