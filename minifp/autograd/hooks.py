"""Hooks on gradients: what sees a gradient when backward has it, and may replace it."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.autograd.gradients import added, as_gradient, multiplied
from minifp.autograd.loss_seed import UNSEEDED
from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, TapeError
from minifp.numerics.formats import downcast
from minifp.runtime.device import placed


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


def after_leaf_hooks(leaf, index, gradient, seeds):
    """The gradient of a leaf after its hooks, which get it without its seed, in float32, and may
    return such a one: rounded no more. An overflow stays, for the step to skip, whatever they say.
    """
    seed = seeds.of_leaves
    plain = gradient if seed == 1 else multiplied(gradient, 1 / seed)
    overflow: Any = None if seeds.whole == 1 else ~np.isfinite(plain)
    before = plain.copy() if overflow is not None and overflow.any() else None
    new = after_hooks(leaf, index, plain, UNSEEDED)
    if new is plain:
        return gradient
    if before is not None:
        new = np.where(overflow, before, new)
    return new if seed == 1 else multiplied(new, float(seed))


def after_hooks(node, index, gradient, seeds):
    """The gradient after the hooks of one output have seen, or replaced, it."""
    handles = list(node.hooks.get(index, ()))
    handles.sort(key=lambda handle: isinstance(handle.hook, Keep))  # which keep what others leave
    for handle in handles:
        if isinstance(handle.hook, Keep):
            handle.hook(as_gradient(seeds.taken_out(gradient), seeds.of_leaves))
            continue
        given = as_gradient(gradient, seeds.whole)
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
