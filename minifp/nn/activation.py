"""Activations as layers, with PyTorch's arguments and defaults. Shapes are those of the input."""

import numpy as np

from minifp.formats import float32
from minifp.nn import functional as F
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.tape import Tensor


class _WithSettings(Module):
    """An activation whose settings, named in `settings`, stand in its repr as PyTorch's do."""

    settings: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self.settings)


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class ReLU6(Module):
    """x between 0 and 6."""

    def forward(self, x: Tensor) -> Tensor:
        return F.relu6(x)


class LeakyReLU(_WithSettings):
    """x, or negative_slope times x where x <= 0."""

    settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.negative_slope)


class PReLU(_WithSettings):
    """x, or weight times x where x <= 0.   weight: (num_parameters), `init`; 1 or the channels."""

    settings = ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        positive(num_parameters=num_parameters)
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(np.full((num_parameters,), init, float32))

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight)


class ELU(_WithSettings):
    """x, or alpha (e^x - 1) where x <= 0."""

    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return F.elu(x, self.alpha)


class CELU(_WithSettings):
    """x, or alpha (e^(x / alpha) - 1) where x <= 0."""

    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return F.celu(x, self.alpha)


class SELU(Module):
    """1.0507 x, or 1.7581 (e^x - 1) where x <= 0."""

    def forward(self, x: Tensor) -> Tensor:
        return F.selu(x)


class GELU(_WithSettings):
    """x times the normal distribution at x; approximate="tanh": by a tanh in its place."""

    settings = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate=self.approximate)


class SiLU(Module):
    """x times its sigmoid."""

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(x)


class Mish(Module):
    """x tanh(softplus(x))."""

    def forward(self, x: Tensor) -> Tensor:
        return F.mish(x)


class Softplus(_WithSettings):
    """log(1 + e^(beta x)) / beta, or x itself where beta x > threshold."""

    settings = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(x, self.beta, self.threshold)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.softsign(x)


class Hardtanh(_WithSettings):
    """x between min_val and max_val."""

    settings = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        self.min_val, self.max_val = min_val, max_val

    def forward(self, x: Tensor) -> Tensor:
        return F.hardtanh(x, self.min_val, self.max_val)


class Hardsigmoid(Module):
    """(x + 3) / 6 between 0 and 1."""

    def forward(self, x: Tensor) -> Tensor:
        return F.hardsigmoid(x)


class Hardswish(Module):
    """x (x + 3) / 6, with the second factor between 0 and 1."""

    def forward(self, x: Tensor) -> Tensor:
        return F.hardswish(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Tensor) -> Tensor:
        return F.tanh(x)


class Sigmoid(Module):
    """1 / (1 + e^-x)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, x: Tensor) -> Tensor:
        return F.logsigmoid(x)


class GLU(_WithSettings):
    """The first half along `dim` times the sigmoid of the second: half the size."""

    settings = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.glu(x, self.dim)


class Softmax(_WithSettings):
    """Positive numbers that sum to 1 along `dim`."""

    settings = ("dim",)

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(x, self.dim)


class LogSoftmax(_WithSettings):
    """The logarithm of softmax along `dim`."""

    settings = ("dim",)

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.log_softmax(x, self.dim)
