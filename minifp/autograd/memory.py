"""`x.data = y` gives x the memory of y; `write` writes numbers into the memory that x has.

After the first both tensors are the same numbers, as in PyTorch, and tensors that were on the
memory of x before keep theirs. An optimizer takes up what its parameters were given at its next
step (optim/weights.py); a captured step is captured anew (training/graph_cuda.py).
"""

from collections.abc import Iterable
from typing import Any
from weakref import ref

from minifp.autograd.scaled import in_seed_of
from minifp.autograd.storage import Storage, seen_by
from minifp.autograd.tape import Tensor, drop_gradients
from minifp.autograd.unrounded import begin_unrounded
from minifp.checks import check_flag
from minifp.errors import ShapeError
from minifp.numerics.formats import downcast, float32, upcast, wider
from minifp.runtime.cuda import capturing
from minifp.runtime.device import as_array, device_of, is_writeable, placed

# Of those who must know which tensors were given other memory: (tensor, array before) by id.
watching: list[dict[int, tuple]] = []


def write(tensor: Tensor, value: Any) -> None:
    """Write numbers (an array, or a tensor with its unrounded ones) into a tensor, which rounds
    them; a parameter keeps them unrounded too. Raises ShapeError for another shape."""
    if isinstance(value, Tensor):
        value = _numbers(value)
    value = as_array(value)
    if value.shape != tensor.shape:
        raise ShapeError(f"a tensor of shape {tensor.shape} cannot take shape {value.shape}")
    if tensor.precision is not None:
        begin_unrounded(tensor)
    tensor.storage.write(tensor.array, value)


def give_memory(tensor: Tensor, value: Any) -> None:
    """Give a tensor the memory of another one: `tensor.data = value`.

    Of an array, a tensor that cannot be written to (such as of a state_dict), or one of another
    format or on another device, the numbers are copied; but float32 numbers for a parameter in
    fewer bits become the unrounded ones behind what it stores. Raises ShapeError for another shape.
    """
    if isinstance(value, Tensor) and value.seed != tensor.seed:
        value = in_seed_of(tensor, value)
    array = value.array if isinstance(value, Tensor) else as_array(value)
    if array is tensor.array:  # x.data += y, which has written already
        return
    if array.shape != tensor.shape:
        raise ShapeError(
            f".data of shape {tensor.shape} cannot be set to a tensor of shape {array.shape}"
        )
    capturing.refuse(
        "gives a tensor other memory (x.data = y; x.data.copy_(y) writes into its own memory)"
    )
    if not (isinstance(value, Tensor) and is_writeable(array)):
        value = Tensor(placed(array.copy(), like=tensor.array))
    for departures in watching:
        if id(tensor) not in departures or departures[id(tensor)][0]() is not tensor:
            departures[id(tensor)] = ref(tensor), tensor.array
    before = tensor.storage
    tensor.array, tensor.storage = _memory_for(tensor, value)
    tensor.storage.take_histories(before)
    before.leave(tensor)
    if tensor.storage.sharing is None:
        tensor.storage.share(value)
    tensor.storage.share(tensor)
    tensor.consumed = None


def _memory_for(tensor, other):
    """The array and the storage that numbers of `other` have as a tensor stores them."""
    own, array, storage = tensor.array, other.array, other.storage
    wide, is_near = wider(own.dtype, float32), device_of(array) == device_of(own)
    keeps = tensor.precision is not None and own.dtype != wide
    if is_near and array.dtype == own.dtype:
        if keeps:
            begin_unrounded(other)
        return array, storage
    if keeps and is_near and array.dtype == wide and array.flags.c_contiguous:
        if storage.unrounded is None:
            storage.keep(as_array(downcast(array, own.dtype)), array)
        stored, numbers = storage.unrounded
        rounded = seen_by(array, numbers, stored)
        if rounded is not None and rounded.dtype == own.dtype:
            return rounded, storage
    new, numbers = Storage(), placed(_numbers(other), like=own)
    stored = as_array(downcast(numbers, own.dtype))
    stored = stored.copy() if stored is numbers else stored
    if keeps:
        exact = as_array(upcast(downcast(numbers, wide), wide))
        new.keep(stored, exact.copy() if exact is numbers else exact)
    return stored, new


def _numbers(t):
    exact = t.exact
    return t.array if exact is None else exact


def clear_gradients(tensors: Iterable[Tensor], set_to_none: Any) -> None:
    """Drop the gradients, or, with set_to_none=False, write zeros into those that there are.

    Raises ArgumentError for what is not True or False."""
    check_flag("zero_grad: set_to_none", set_to_none)
    if set_to_none:
        return drop_gradients(tensors)
    for t in tensors:
        if t.grad is not None:
            t.grad.zero_()
