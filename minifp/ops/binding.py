"""In-place operations where gradients are recorded: a tensor is bound to the new numbers.

x += y, x.relu_(), x[i] = v: on a tensor that was recorded, or with one, x stands from then on for
the result of the recorded operation, for whoever holds x. The memory that x had is left as it was,
for backward passes that need it. Tensors that see the same memory, as views of x and what x is a
view of, are bound to the same change: the largest of them to its numbers with the new ones in
their place, the others to views of that.
"""

from typing import Any

import numpy as np

from minifp.autograd.grad_mode import is_recording
from minifp.autograd.hooks import Keep, retain_grad
from minifp.autograd.memory import write
from minifp.autograd.storage import Detached, Storage, overlap
from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import name_of
from minifp.errors import DTypeError, ShapeError, TapeError
from minifp.numerics.formats import is_float
from minifp.ops.pointwise.arithmetic import cast, move
from minifp.ops.shaping.parts import Part, laid_as, part_in, part_of, put
from minifp.runtime.device import device_of


def refuse(name: str) -> None:
    """Raise what is to say of a leaf that requires a gradient."""
    raise TapeError(
        f"{name} on a tensor that requires a gradient, or a view of one, while recording: use "
        "fp.no_grad(), or the operation that returns a new tensor"
    )


def is_bound(x: Tensor, others: Any, name: str) -> bool:
    """Whether an operation that writes into x binds it: x was recorded, or what is written is.

    Raises TapeError for a leaf that requires a gradient, and for what cannot be bound.
    """
    if not is_recording():
        return False
    if x.node is not None:
        return True
    if x.requires_grad:
        refuse(name)
    if not any(isinstance(t, Tensor) and t.requires_grad for t in others):
        return False
    if x.precision is not None or type(x.storage) is not Storage or not is_float(x.dtype):
        kind = "a parameter, or of integers" if type(x.storage) is Storage else "of a state_dict"
        raise TapeError(
            f"{name} with a tensor that requires a gradient, on one that is {kind}: its gradient "
            "would be lost: use fp.no_grad(), or .detach() what is written"
        )
    return True


def bind(x: Tensor, y: Tensor, name: str) -> Tensor:
    """Let x be y from now on, and those on its memory see that. Returns x.

    Raises ShapeError, DTypeError and TapeError, by the name of the operation, for what x cannot be.
    """
    if y.shape != x.shape:
        raise ShapeError(f"{name}: a result of shape {y.shape} does not fit shape {x.shape}")
    if not is_float(y.dtype):
        raise DTypeError(f"{name}: a result of {name_of(y.dtype)} for a tensor of {x.dtype}")
    if x.array.size and any(n > 1 and not s for n, s in zip(x.shape, x.array.strides)):
        raise TapeError(f"{name} on an expanded tensor, which cannot be written to: clone it")
    y = y if y.dtype == x.dtype else cast(y, dtype=x.dtype)
    y = y if y.device == x.device else move(y, device=device_of(x.array))
    sharers = [t for t in x.storage.sharers() if t is not x and t.array.size]
    if any(meet(x.array, t.array) for t in sharers):
        _bind_together(x, y, sharers, name)
    else:
        array = laid_as(x.array, y.array)
        become(x, y, array, y.storage if array is y.array else Storage())
    return x


def meet(a: Any, b: Any) -> bool:
    """Whether two arrays have an element in common; on a GPU, whether they may have."""
    return np.shares_memory(a, b) if type(a) is type(b) is np.ndarray else overlap(a, b)


def _bind_together(x, y, sharers, name):
    """The same where others see elements of x."""
    apart = {id(known()) for known in x.storage.sharing if type(known) is Detached}
    alike = [t for t in sharers if t.requires_grad == x.requires_grad]
    if any(t.is_leaf and (t.requires_grad or t.precision) for t in sharers):
        refuse(name)
    if not x.requires_grad and (apart or len(alike) < len(sharers)):
        raise TapeError(
            f"{name} with a tensor that requires a gradient, on memory that x.detach() or x.data "
            "shares: write into a copy, .clone(), or .detach() what is written"
        )
    whole, parts = x, dict[int, Part]()
    for t in sorted((x, *alike), key=lambda t: -t.array.size):
        if id(x) not in parts:
            whole, parts = t, _parts_of(t, (x, *sharers))
    if id(x) not in parts:
        raise TapeError(
            f"{name}: other tensors see parts of the same memory, and none sees all of it: write "
            "into a copy, .clone()"
        )
    own = parts[id(x)]
    new = y if whole is x and own.fits(y.array) else put(whole, y, place=own)
    new.storage.share(new)
    recorded = {id(t) for t in (x, *alike)}
    for t in (x, *sharers):
        if id(t) in parts:
            seen = new if t is whole else part_of(new, part=parts[id(t)])
            origin = seen if id(t) in recorded else Tensor(seen.array)
            become(t, y if t is x else origin, seen.array, new.storage)
            if id(t) in apart:
                new.storage.sharing[-1] = Detached(t)


def _parts_of(whole, tensors):
    """The parts of a tensor that others see, by id, of those that see something of it; none at all
    where one of them sees more."""
    there = [t for t in tensors if meet(t.array, whole.array)]
    parts = {id(t): part_in(whole.array, t.array) for t in there}
    return {} if None in parts.values() else parts


def become(t, origin, array, storage):
    """Let t have an array, and be made as `origin` was. A gradient that it retains is the new
    one's."""
    handles = (t.node.hooks or {}).get(t.index, ()) if t.node is not None else ()
    retained = [h for h in handles if isinstance(h.hook, Keep) and h.hook.tensor() is t]
    if t.storage.sharing is not None:
        t.storage.leave(t)
    t.array, t.storage, t.node, t.index = array, storage, origin.node, origin.index
    t.seed, t.consumed, t.unseeded = origin.seed, origin.consumed, origin.unseeded
    if storage.sharing is not None:
        storage.share(t)
    for handle in retained:
        handle.remove()
        retain_grad(t)


# ---- writing, or binding -------------------------------------------------------------------------


def numbers_of(t: Any) -> Any:
    """What is written into: the unrounded numbers, where there are any, or those that are stored.

    Else a part that is written over, or a clamp, would round all the masters at every step.
    """
    exact = t.exact
    return t.array if exact is None else exact


def overwritten(x: Tensor, y: Tensor, name: str) -> Tensor:
    """x, which has become what an operation made of it, y: bound to that, or written into.

    Raises TapeError for a leaf that requires a gradient, DTypeError for integers that would be
    rounded, and for x that is no tensor. name: of the operation, for messages.
    """
    if not isinstance(x, Tensor):
        raise DTypeError(f"{name} of a {type(x).__name__}: expected a tensor")
    if y is x:
        return x
    if is_bound(x, (y,), name):
        return bind(x, y, name)
    check_writeable(x, name)
    check_kind(x, y, name)
    return write_numbers(x, numbers_of(y))


def check_writeable(x: Tensor, name: str) -> None:
    """Raise TapeError for a tensor with elements on one place, and have what it writes into."""
    if not x.storage.takes(x.array):
        raise TapeError(f"{name} on an expanded tensor, which cannot be written to: clone it")
    x.storage.refresh()


def check_kind(x: Tensor, value: Any, name: str) -> None:
    """Raise DTypeError for floating numbers that integers would round."""
    if is_float(value.dtype) and not is_float(x.dtype):
        raise DTypeError(f"{name}: a result of {name_of(value.dtype)} for a tensor of {x.dtype}")


def write_numbers(x: Tensor, value: Any) -> Tensor:
    """Write an array that broadcasts into a tensor, and return that."""
    write(x, np.broadcast_to(value, x.shape))  # counts as a change, for tape and masters
    return x
