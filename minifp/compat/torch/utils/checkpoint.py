"""torch.utils.checkpoint: activations are kept, not computed anew."""

from collections.abc import Callable
from typing import Any

from minifp.compat.torch.nothing import answers, say_once

__all__ = ["checkpoint", "checkpoint_sequential", "get_device_states", "set_device_states"]
get_device_states = answers(([], []))  # of GPUs
set_device_states = answers(None)


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: Any = None, **settings: Any
) -> Any:
    """The function's result; nothing is computed twice."""
    say_once("utils.checkpoint", "activations are kept, which takes memory and no time")
    return function(*args, **settings)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: Any = None, **settings: Any
) -> Any:
    """What functions give, one after the other."""
    for function in functions:
        input = checkpoint(function, input)
    return input
