"""torch.nn.modules.utils: sizes as tuples."""

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["_ntuple", "_pair", "_single", "_triple"]


def _ntuple(n: int) -> Callable[[Any], tuple]:
    """A function that makes a tuple of n of one value, and of several a tuple of them."""
    return lambda x: tuple(x) if isinstance(x, Iterable) else (x,) * n


_single, _pair, _triple = _ntuple(1), _ntuple(2), _ntuple(3)
