"""torch.X of what minifp writes by other names: made of its operations, as PyTorch defines it."""

from statistics import NormalDist
from typing import Any

import numpy as np

from minifp.autograd.function import FunctionContext
from minifp.autograd.tape import Tensor
from minifp.compat.torch import tensors
from minifp.errors import ShapeError, TapeError
from minifp.nn import Module
from minifp.ops import arange, as_tensor
from minifp.ops.windows import window_count

__all__ = ["bucketize", "cdist", "erfinv", "fmod", "var_mean"]


def bucketize(input: Any, boundaries: Any, *, right: bool = False, **settings: Any) -> Tensor:
    """Before which of the boundaries (n) each number stands; after equal ones with right=True."""
    edges, numbers = (as_tensor(x).detach().numpy() for x in (boundaries, input))
    return Tensor(np.asarray(np.searchsorted(edges, numbers, "right" if right else "left")))


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, **settings: Any) -> Tensor:
    """The distances of (..., n, d) from (..., m, d): (..., n, m)."""
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


def erfinv(input: Tensor) -> Tensor:
    """The number whose erf is the input's. Raises TapeError for one that has a gradient."""
    if input.requires_grad:
        raise TapeError("erfinv has no gradient here: expected a tensor without one")
    before, inverse = input.numpy(), NormalDist().inv_cdf
    ends = {-1.0: -np.inf, 1.0: np.inf}
    numbers = [
        ends[v] if v in ends else inverse((v + 1) / 2) / 2**0.5 if abs(v) < 1 else np.nan
        for v in before.astype(np.float64).ravel().tolist()
    ]
    return Tensor(np.array(numbers, before.dtype).reshape(before.shape))


def fmod(input: Tensor, other: Any) -> Tensor:
    """What is left of a division that is cut off towards 0; it has the input's sign."""
    return input - (input / other).detach().trunc() * other


def var_mean(input: Tensor, dim: Any = None, **settings: Any) -> tuple[Tensor, Tensor]:
    """x.var(dim), and x.mean(dim)."""
    keeps = {"keepdim": settings.get("keepdim", False)}
    return input.var(dim, **settings), input.mean(dim, **keeps)


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """The windows along an axis, each with its places behind all axes: x.unfold(...)."""
    count = window_count(input.shape[dimension], size, step, 0) if step > 0 else 0
    if size < 1 or count < 1:
        shape = tuple(input.shape)
        raise ShapeError(f"unfold({dimension}, {size}, {step}) of shape {shape}: expected windows")
    places = (arange(count).unsqueeze(1) * step + arange(size)).flatten()
    axis = dimension % input.ndim
    return input.index_select(axis, places).unflatten(axis, (count, size)).movedim(axis + 1, -1)


METHODS = (*__all__, "unfold")


def attach() -> None:
    """Let tensors have these as methods, and modules and the ctx of a Function what PyTorch's have
    and scripts call by its name."""
    for name in METHODS:
        tensors.attach(name, globals()[name])
    setattr(Module, "__getattr__", object.__getattribute__)  # noqa: B010
    setattr(FunctionContext, "saved_variables", property(lambda ctx: ctx.saved_tensors))  # noqa: B010
