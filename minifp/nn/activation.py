"""Activations as layers, with PyTorch's arguments and defaults. Shapes are those of the input.

inplace saves no memory here: where gradients are recorded, the tape may need what was there.
"""

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import ShapeError
from minifp.nn import functional as F
from minifp.nn.checks import positive
from minifp.nn.function_layer import FunctionLayer
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.numerics.formats import float32


class ReLU(FunctionLayer, of=F.relu):
    """max(x, 0).

    inplace: whether the input becomes the result, which is then the input.
    """

    inplace: bool = False


class ReLU6(FunctionLayer, of=F.relu6):
    """x between 0 and 6.

    inplace: whether the input becomes the result, which is then the input.
    """

    inplace: bool = False


class LeakyReLU(FunctionLayer, of=F.leaky_relu):
    """x, or negative_slope times x where x <= 0.

    inplace: whether the input becomes the result, which is then the input.
    """

    negative_slope: float = 0.01
    inplace: bool = False


class PReLU(Module):
    """x, or weight times x where x <= 0.   weight: (num_parameters), `init`; 1 or the channels."""

    multiplies = False

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        positive(num_parameters=num_parameters)
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(np.full((num_parameters,), init, float32))

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class ELU(FunctionLayer, of=F.elu):
    """x, or alpha (e^x - 1) where x <= 0.

    inplace: whether the input becomes the result, which is then the input.
    """

    alpha: float = 1.0
    inplace: bool = False


class CELU(FunctionLayer, of=F.celu):
    """x, or alpha (e^(x / alpha) - 1) where x <= 0.

    inplace: whether the input becomes the result, which is then the input.
    """

    alpha: float = 1.0
    inplace: bool = False


class SELU(FunctionLayer, of=F.selu):
    """1.0507 x, or 1.7581 (e^x - 1) where x <= 0.

    inplace: whether the input becomes the result, which is then the input.
    """

    inplace: bool = False


class GELU(FunctionLayer, of=F.gelu):
    """x times the normal distribution at x; approximate="tanh": by a tanh in its place."""

    approximate: str = "none"


class SiLU(FunctionLayer, of=F.silu):
    """x times its sigmoid.

    inplace: whether the input becomes the result, which is then the input.
    """

    inplace: bool = False


class Mish(FunctionLayer, of=F.mish):
    """x tanh(softplus(x)).

    inplace: whether the input becomes the result, which is then the input.
    """

    inplace: bool = False


class Softplus(FunctionLayer, of=F.softplus):
    """log(1 + e^(beta x)) / beta, or x itself where beta x > threshold."""

    beta: float = 1.0
    threshold: float = 20.0


class Softsign(FunctionLayer, of=F.softsign):
    """x / (1 + |x|)."""


class Hardtanh(FunctionLayer, of=F.hardtanh):
    """x between min_val and max_val.

    inplace: whether the input becomes the result, which is then the input.
    """

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False


class Hardsigmoid(FunctionLayer, of=F.hardsigmoid):
    """(x + 3) / 6 between 0 and 1.

    inplace: whether the input becomes the result, which is then the input.
    """

    inplace: bool = False


class Hardswish(FunctionLayer, of=F.hardswish):
    """x (x + 3) / 6, with the second factor between 0 and 1.

    inplace: whether the input becomes the result, which is then the input.
    """

    inplace: bool = False


class Tanh(FunctionLayer, of=F.tanh):
    """The hyperbolic tangent."""


class Sigmoid(FunctionLayer, of=F.sigmoid):
    """1 / (1 + e^-x)."""


class LogSigmoid(FunctionLayer, of=F.logsigmoid):
    """The logarithm of the sigmoid."""


class Tanhshrink(FunctionLayer, of=F.tanhshrink):
    """x - tanh(x)."""


class GLU(FunctionLayer, of=F.glu):
    """The first half along `dim` times the sigmoid of the second: half the size."""

    dim: int = -1


class Softmax(FunctionLayer, of=F.softmax):
    """Positive numbers that sum to 1 along `dim`; for None see F.softmax."""

    dim: int | None = None


class Softmin(FunctionLayer, of=F.softmin):
    """softmax of -x along `dim`."""

    dim: int | None = None


class LogSoftmax(FunctionLayer, of=F.log_softmax):
    """The logarithm of softmax along `dim`."""

    dim: int | None = None


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    multiplies = False

    def forward(self, input: Tensor) -> Tensor:
        """Raises ShapeError for other shapes."""
        if input.ndim not in (3, 4):
            raise ShapeError(
                f"Softmax2d: input of shape {input.shape}: expected (N, C, H, W) or (C, H, W)"
            )
        return F.softmax(input, -3)
