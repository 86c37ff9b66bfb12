"""What a step of a task may see of its backward pass."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from minifp.autograd import tape
from minifp.numerics.formats import as_native


@contextmanager
def observe_gradients(look: Callable[[Any], Any]) -> Iterator[None]:
    """Call look(gradient) with the gradient of each operation's result, in the `with` block, as
    soon as backward has it: the last operation's first.

    A gradient is an array of NumPy's, or on a GPU of CuPy's, of the result's shape, in the format
    in which it is stored, and multiplied by the loss scale: what is 0 in it was lost. `look` only
    looks, and keeps none of them.
    """

    def on_gradient(node, gradient):
        look(as_native(gradient))

    def nothing(*_):
        pass

    observer = SimpleNamespace(on_record=nothing, on_gradient=on_gradient, on_release=nothing)
    tape.observers.append(observer)
    try:
        yield
    finally:
        tape.observers.remove(observer)
