"""Operations that no GPU does: on the CPU, with tensors copied there and back."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.numerics.device_references import left_to_cpu
from minifp.numerics.kernels import warn_of_host
from minifp.ops.pointwise.arithmetic import move
from minifp.runtime.device import device_of
from minifp.typing import F


def on_host(why: str) -> Callable[[F], F]:
    """Let a function of tensors take those on a GPU too: it is called on the CPU, and its results
    are moved back. Gradients go the same way. Warns once. why: the reason, for `minifp doctor`."""
    return partial(_on_host, why)


def _on_host(why, fn):
    left_to_cpu[fn.__name__] = why

    @wraps(fn)
    def apply(*args: Any, **settings: Any) -> Any:
        places = {device_of(a.array) for a in args if isinstance(a, Tensor)} - {"cpu"}
        if not places:
            return fn(*args, **settings)
        warn_of_host(fn.__name__)
        given = [_at(a, "cpu") for a in args]
        there = fn(*given, **{name: _at(v, "cpu") for name, v in settings.items()})
        return _all_at(there, places.pop())

    return apply


def _at(a: Any, device: str) -> Any:
    if not isinstance(a, Tensor) or device_of(a.array) == device:
        return a
    return move(a, device=device)


def _all_at(results: Any, device: str) -> Any:
    if isinstance(results, tuple):
        make: Callable[..., Any] = getattr(results, "_make", tuple)  # of named tuples
        return make(_at(part, device) for part in results)
    return _at(results, device)
