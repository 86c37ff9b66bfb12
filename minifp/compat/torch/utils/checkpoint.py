"""torch.utils.checkpoint: activations are kept, not computed anew."""

from collections.abc import Callable
from typing import Any

from minifp.compat.torch.nothing import say_once

__all__ = ["checkpoint"]


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: Any = None, **settings: Any
) -> Any:
    """The function's result; nothing is computed twice."""
    say_once("utils.checkpoint", "activations are kept, which takes memory and no time")
    return function(*args, **settings)
