"""Doing recorded operations again: the same step on the same numbers, or on others.

A Node keeps what it was called with until `backward.forget`. So a graph can be made a second time,
by calling its operations one after the other: in the same formats, to see where a value that is
not finite arose (see fault_search.py), or in wider ones, to see what the formats did (see scope/).
Nothing random is drawn, no weight and no `.grad` is touched, and no observer sees it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minifp.autograd import tape
from minifp.autograd.grad_mode import enable_grad
from minifp.autograd.tape import Node, Tensor, module_path
from minifp.errors import TapeError
from minifp.numerics import kernels, policy
from minifp.numerics.amax_history import unchanged
from minifp.numerics.formats import is_float
from minifp.numerics.policy import Precision
from minifp.runtime import observing
from minifp.runtime.device import is_array

Outputs = dict[Any, tuple[Tensor, ...]]


@contextmanager
def unobserved() -> Iterator[None]:
    """Let no observer of the tape and of kernels see what is done in the `with` block, and no
    history of operands."""
    with observing.unobserved(tape.observers, kernels.observers), unchanged():
        yield


def leaf_like(leaf: Tensor, array: Any = None) -> Tensor:
    """A leaf on the array of another one (or on `array`), with gradients in the same format."""
    new = Tensor(leaf.array if array is None else array)
    new.storage.version, new.storage.histories = leaf.storage.version, leaf.storage.histories
    new.gradient_dtype = leaf.gradient_dtype if array is None else array.dtype
    return new


def again(node: Node, arguments: list, precision: Precision | None = None) -> tuple[Tensor, ...]:
    """What an operation returns for these arguments (tensors, arrays, ...), recorded anew.

    precision: instead of the one under which it ran. Raises TapeError where the call is forgotten.
    """
    if node.call is None:
        raise TapeError(f"{node.op} cannot be repeated: its arguments were already released")
    operation: Any = node.call[0]
    path = module_path.set(node.module)
    try:
        with policy.precision(precision or node.precision), enable_grad():
            if operation.derived is not None:
                arrays = [getattr(a, "array", a) for a in arguments]
                fresh = operation.derived(*arrays, **node.params)
                pairs = zip(arguments, arrays, fresh)
                arguments = [a if new is array else new for a, array, new in pairs]
            results = operation(*arguments, **node.params)
    finally:
        module_path.reset(path)
    return results if isinstance(results, tuple) else (results,)


def arguments_of(node: Node, outputs: Outputs, entering: Callable | None = None) -> list:
    """The arguments of an operation: outputs of what came before, and what it was given.

    entering: a function of what it was given, as to widen it.
    """
    constants = node.call[1] if node.call is not None else (None,) * len(node.parents)
    return [
        outputs[parent][i] if parent is not None else a if entering is None else entering(a)
        for (parent, i), a in zip(node.parents, constants)
    ]


def arrays_among(values: Any) -> list:
    """The floating arrays among arguments or results."""
    arrays = [getattr(v, "array", v) for v in values]
    return [a for a in arrays if is_array(a) and is_float(a.dtype)]
