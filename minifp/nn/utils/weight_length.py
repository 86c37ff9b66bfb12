"""Weights as a length and a direction: w = g v / |v| (Salimans and Kingma 2016, arXiv:1602.07868).

|v| is that of each slice along `dim`, or, without one, of the whole. `weight_norm` is PyTorch's
older function, which computes the weight when the module is called, with the keys weight_g and
weight_v; `parametrizations.weight_norm` computes it when it is read, of original0 and original1.
"""

from typing import Any

from minifp import ops
from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.nn.module import Module
from minifp.nn.utils.parametrize import like, own_parameter, register_parametrization, unrounded
from minifp.numerics import policy
from minifp.ops.arguments import as_axis


def length(v: Tensor, dim: int | None) -> Tensor:
    """The norm of each slice along an axis, with the others of size 1; of all for None."""
    if dim is None:
        return ops.norm(v)
    axis = as_axis(dim, v.ndim, "weight_norm: dim")
    others = tuple(i for i in range(v.ndim) if i != axis)
    return ops.norm(v, dim=others, keepdim=True) if others else abs(v)


def weight_of(g: Tensor, v: Tensor, dim: int | None) -> Tensor:
    """g v / |v|."""
    return v * (g / length(v, dim))


class WeightNorm:
    """What computes a weight before its module is called."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, dim

    def compute(self, module: Module) -> Tensor:
        """The weight as it is now."""
        g, v = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return weight_of(g, v, self.dim)

    def __call__(self, module: Module, args: Any) -> None:
        vars(module)[self.name] = self.compute(module)


def computing(kind: type, module: Module, name: str) -> Any:
    """The handle of the hook of a kind that computes a weight; None where there is none."""
    for handle in module._before_forward:
        if isinstance(handle.hook, kind) and getattr(handle.hook, "name", "") == name:
            return handle
    return None


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a parameter of a module, of name_g and name_v, whenever the module is called.

    Returns the module. Raises ArgumentError where it has no such parameter, ShapeError for an axis
    that is not there.
    """
    parameter = own_parameter("weight_norm", module, name)
    v = unrounded(parameter)
    with no_grad(), policy.precision(policy.DOUBLE):
        g = length(v, dim)
    del vars(module)[name]
    setattr(module, f"{name}_g", like(g, parameter))
    setattr(module, f"{name}_v", like(v, parameter))
    hook = WeightNorm(name, dim)
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo it: the parameter has the numbers that were computed. Raises ArgumentError."""
    handle = computing(WeightNorm, module, name)
    if handle is None:
        raise ArgumentError(f"remove_weight_norm: {name!r} of {module!r} has no weight_norm")
    with no_grad():
        weight = handle.hook.compute(module)
    handle.remove()
    parameter = like(weight, vars(module)[f"{name}_v"])
    for part in (name, f"{name}_g", f"{name}_v"):
        del vars(module)[part]
    module.register_parameter(name, parameter)
    return module


class _WeightNorm(Module):
    multiplies = False

    def __init__(self, dim: int | None) -> None:
        self.dim = dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return weight_of(g, v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The length and the direction of a weight."""
        return length(weight, self.dim), weight


def parametrized_weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a parameter of a module of parametrizations.NAME.original0, its length, and
    original1, its direction. Raises as weight_norm does."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
