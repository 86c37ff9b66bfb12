"""Weights divided by their largest singular value (Miyato et al. 2018, arXiv:1802.05957).

That is sigma = u W v for the first singular vectors, which the power iteration v = Wu / |Wu|,
u = Wv / |Wv| goes towards, some steps in each forward of training. W is the weight as a matrix
(size of `dim`, all others). `spectral_norm` is PyTorch's older function, with the keys weight_orig,
weight_u and weight_v; `parametrizations.spectral_norm` has original, 0._u and 0._v.
"""

from typing import Any

import numpy as np

from minifp import ops
from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.checks import check_count, check_range
from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.nn import initial
from minifp.nn.conv import ConvTranspose1d, ConvTranspose2d
from minifp.nn.module import Module
from minifp.nn.parameter import Buffer
from minifp.nn.utils.parametrize import like, own_parameter, register_parametrization, unrounded
from minifp.nn.utils.weight_length import computing
from minifp.numerics import policy
from minifp.ops.arguments import as_axis


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as (size of dim, all others)."""
    moved = weight if dim == 0 else ops.movedim(weight, dim, 0)
    return moved.reshape(moved.shape[0], -1)


def iterate(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """Go so many steps towards the first singular vectors, in u and v."""
    with no_grad(), policy.precision(policy.SINGLE):
        for _ in range(steps):
            u.copy_(F.normalize(ops.mv(matrix, v), dim=0, eps=eps))
            v.copy_(F.normalize(ops.mv(matrix.t(), u), dim=0, eps=eps))


def iterate_from_left(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """The same, each step with v first, as PyTorch's older function goes."""
    with no_grad(), policy.precision(policy.SINGLE):
        for _ in range(steps):
            v.copy_(F.normalize(ops.mv(matrix.t(), u), dim=0, eps=eps))
            u.copy_(F.normalize(ops.mv(matrix, v), dim=0, eps=eps))


def divided(weight: Tensor, matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The weight divided by u W v."""
    return weight / ops.dot(u.clone(), ops.mv(matrix, v.clone()))


def _vectors(matrix, eps):
    """Two random directions, in float32 whatever the precision, as initial weights are drawn."""
    drawn = [initial.normal((n,)) for n in matrix.shape]
    return [Tensor(x / x.dtype.type(max(np.linalg.norm(x), eps))) for x in drawn]


def _checked(function, module, name, steps, eps, dim):
    """The parameter and its axis."""
    parameter = own_parameter(function, module, name)
    check_count(f"{function}: n_power_iterations", steps)
    check_range(f"{function}: eps", eps)
    if dim is None:
        dim = int(isinstance(module, (ConvTranspose1d, ConvTranspose2d)))
    return parameter, as_axis(dim, parameter.ndim, f"{function}: dim")


class SpectralNorm:
    """What computes a weight before its module is called."""

    def __init__(self, name: str, steps: int, eps: float, dim: int) -> None:
        self.name, self.steps, self.eps, self.dim = name, steps, eps, dim

    def compute(self, module: Module, steps: int) -> Tensor:
        """The weight as it is after so many steps more."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = as_matrix(weight, self.dim).type_as(u)
        iterate_from_left(matrix, u, v, steps, self.eps)
        return divided(weight, matrix, u, v)

    def __call__(self, module: Module, args: Any) -> None:
        vars(module)[self.name] = self.compute(module, self.steps if module.training else 0)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Compute a parameter of a module, of name_orig, whenever the module is called.

    n_power_iterations: steps in each forward in training. eps: the smallest length that vectors are
    divided by. dim: the axis of outputs, by default 1 of a transposed convolution and 0 of others.
    Returns the module. Raises ArgumentError where it has no such parameter, ShapeError for an axis
    that is not there.
    """
    parameter, axis = _checked("spectral_norm", module, name, n_power_iterations, eps, dim)
    u, v = _vectors(as_matrix(parameter.detach(), axis), eps)
    del vars(module)[name]
    setattr(module, f"{name}_orig", parameter)
    vars(module)[name] = parameter.detach()
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(SpectralNorm(name, n_power_iterations, eps, axis))
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo it: the parameter has the numbers that were computed. Raises ArgumentError."""
    handle = computing(SpectralNorm, module, name)
    if handle is None:
        raise ArgumentError(f"remove_spectral_norm: {name!r} of {module!r} has no spectral_norm")
    with no_grad():
        weight = handle.hook.compute(module, 0)
    handle.remove()
    parameter = like(weight, vars(module)[f"{name}_orig"])
    for part in (name, f"{name}_orig", f"{name}_u", f"{name}_v"):
        del vars(module)[part]
    module.register_parameter(name, parameter)
    return module


class _SpectralNorm(Module):
    multiplies = True
    _u: Buffer
    _v: Buffer

    def __init__(self, weight: Tensor, steps: int, eps: float, dim: int) -> None:
        self.steps, self.eps, self.dim = steps, eps, dim
        if weight.ndim > 1:
            matrix = as_matrix(weight, dim)
            u, v = _vectors(matrix, eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            iterate(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim).type_as(self._u)
        if self.training:
            iterate(matrix, self._u, self._v, self.steps, self.eps)
        return divided(weight, matrix, self._u, self._v)


def parametrized_spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Compute a parameter of a module of parametrizations.NAME.original, with the singular vectors
    in 0._u and 0._v, which begin with 15 steps. Arguments and errors as of spectral_norm."""
    parameter, axis = _checked("spectral_norm", module, name, n_power_iterations, eps, dim)
    made = _SpectralNorm(unrounded(parameter), n_power_iterations, eps, axis)
    return register_parametrization(module, name, made)
