"""Layers that are one product of matrices, and those that only reshape."""

import math
from typing import Any

import numpy as np

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError, ShapeError
from minifp.nn import initial
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.ops.arguments import as_axis
from minifp.typing import Ints


class Linear(Module):
    """y = x weightT + bias.   weight: (out, in)  bias: (out); both U(-1/sqrt(in), 1/sqrt(in))."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        positive(in_features=in_features, out_features=out_features)
        bound = 1 / math.sqrt(in_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(initial.uniform((out_features, in_features), bound))
        self.bias = Parameter(initial.uniform((out_features,), bound)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """x (..., in): the result is (..., out)."""
        return ops.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class Flatten(Module):
    """All axes but the first as one (or those from start_dim to end_dim)."""

    multiplies = False

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return ops.flatten(x, self.start_dim, self.end_dim)


class Unflatten(Module):
    """One axis as several: those of `unflattened_size`, in which one size may be -1."""

    multiplies = False

    def __init__(self, dim: int, unflattened_size: Ints) -> None:
        sizes = unflattened_size
        sizes = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
        for n in (dim, *sizes):
            if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
                raise DTypeError(f"Unflatten({dim!r}, {unflattened_size!r}): expected integers")
        self.dim, self.unflattened_size = dim, sizes

    def forward(self, x: Tensor) -> Tensor:
        axis = as_axis(self.dim, x.ndim, "Unflatten: dim")
        sizes, n = list(self.unflattened_size), x.shape[axis]
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = n // max(-math.prod(sizes), 1)
        if math.prod(sizes) != n or min(sizes, default=0) < 0:
            raise ShapeError(
                f"Unflatten: axis {axis} of a tensor of shape {x.shape} as "
                f"{self.unflattened_size}: expected sizes whose product is {n}"
            )
        return ops.reshape(x, *x.shape[:axis], *sizes, *x.shape[axis + 1 :])

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Identity(Module):
    """What it is given, as it is; arguments to make it with are taken and forgotten."""

    multiplies = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, input: Any) -> Any:
        return input
