"""Casts of weights that are done once inside of an autocast region, as PyTorch's cache keeps them.

A weight that several operations read is cast once for all of them, and their gradients meet at that
cast. It is done anew after the weight was written to, and after a backward that released it.
"""

from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.grad_mode import is_recording
from minifp.autograd.tape import Tensor


class Region(NamedTuple):
    """An autocast region. casts: (weight, array, version, cast) by id and format; None: nothing
    is kept. outer: the region around it."""

    casts: dict[tuple[int, np.dtype], tuple] | None
    outer: "Region | None"


innermost: ContextVar[Region | None] = ContextVar("cast_cache", default=None)


def enter(keeps: bool) -> None:
    """Begin a region inside of those that are there. keeps: whether casts are kept."""
    outer = innermost.get()
    known = None if outer is None else outer.casts
    innermost.set(Region(({} if known is None else known) if keeps else None, outer))


def leave() -> None:
    """End the innermost region; with the outermost all casts are forgotten."""
    region = innermost.get()
    innermost.set(None if region is None else region.outer)


def cast_once(x: Any, dtype: np.dtype) -> Tensor:
    """x in another format; of a trained leaf the cast that this region has, if it still holds."""
    if not isinstance(x, Tensor):
        x = Tensor(x)
    region = innermost.get()
    if region is None or region.casts is None or x.gradient_node is not x or not is_recording():
        return x.to(dtype=dtype)
    key = id(x), dtype
    weight, array, version, cast = region.casts.get(key, (None, None, None, None))
    is_known = weight is x and array is x.array and version == x.storage.version
    if not is_known or cast.node.saved is None:
        cast = x.to(dtype=dtype)
        region.casts[key] = x, x.array, x.storage.version, cast
    return cast
