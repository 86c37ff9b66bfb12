"""Activations as layers, with PyTorch's arguments and defaults. Shapes are those of the input.

inplace, which saves memory in PyTorch, overwrites nothing here: the tape may need what was there.
"""

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.nn import functional as F
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.numerics.formats import float32


class _WithSettings(Module):
    """An activation whose settings, named in `settings`, stand in its repr as PyTorch's do."""

    settings: tuple[str, ...] = ()
    inplace = False

    def _promise(self, inplace):
        check_flag(f"{type(self).__name__}: inplace", inplace)
        self.inplace = inplace

    def extra_repr(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in self.settings]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


class ReLU(_WithSettings):
    """max(x, 0).

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    def __init__(self, inplace: bool = False) -> None:
        self._promise(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class ReLU6(_WithSettings):
    """x between 0 and 6.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    def __init__(self, inplace: bool = False) -> None:
        self._promise(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu6(x)


class LeakyReLU(_WithSettings):
    """x, or negative_slope times x where x <= 0.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self.negative_slope = negative_slope
        self._promise(inplace)

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
    """x, or alpha (e^x - 1) where x <= 0.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.alpha = alpha
        self._promise(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.elu(x, self.alpha)


class CELU(_WithSettings):
    """x, or alpha (e^(x / alpha) - 1) where x <= 0.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.alpha = alpha
        self._promise(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.celu(x, self.alpha)


class SELU(_WithSettings):
    """1.0507 x, or 1.7581 (e^x - 1) where x <= 0.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    def __init__(self, inplace: bool = False) -> None:
        self._promise(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.selu(x)


class GELU(_WithSettings):
    """x times the normal distribution at x; approximate="tanh": by a tanh in its place."""

    settings = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate=self.approximate)


class SiLU(_WithSettings):
    """x times its sigmoid.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    def __init__(self, inplace: bool = False) -> None:
        self._promise(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(x)


class Mish(_WithSettings):
    """x tanh(softplus(x)).

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    def __init__(self, inplace: bool = False) -> None:
        self._promise(inplace)

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

    def __init__(self) -> None:
        pass  # so that arguments that it does not take are refused by its name

    def forward(self, x: Tensor) -> Tensor:
        return F.softsign(x)


class Hardtanh(_WithSettings):
    """x between min_val and max_val.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    settings = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        self.min_val, self.max_val = min_val, max_val
        self._promise(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.hardtanh(x, self.min_val, self.max_val)


class Hardsigmoid(_WithSettings):
    """(x + 3) / 6 between 0 and 1.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    def __init__(self, inplace: bool = False) -> None:
        self._promise(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.hardsigmoid(x)


class Hardswish(_WithSettings):
    """x (x + 3) / 6, with the second factor between 0 and 1.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    def __init__(self, inplace: bool = False) -> None:
        self._promise(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return F.hardswish(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def __init__(self) -> None:
        pass  # so that arguments that it does not take are refused by its name

    def forward(self, x: Tensor) -> Tensor:
        return F.tanh(x)


class Sigmoid(Module):
    """1 / (1 + e^-x)."""

    def __init__(self) -> None:
        pass  # so that arguments that it does not take are refused by its name

    def forward(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def __init__(self) -> None:
        pass  # so that arguments that it does not take are refused by its name

    def forward(self, x: Tensor) -> Tensor:
        return F.logsigmoid(x)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def __init__(self) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return F.tanhshrink(x)


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


class Softmin(_WithSettings):
    """softmax of -x along `dim`."""

    settings = ("dim",)

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.softmin(x, self.dim)


class LogSoftmax(_WithSettings):
    """The logarithm of softmax along `dim`."""

    settings = ("dim",)

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.log_softmax(x, self.dim)
