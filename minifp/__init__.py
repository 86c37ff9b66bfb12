"""minifp: learn how mixed-precision training works, from plain Python.

The public names, in reading order.
"""

__version__ = "0.1.0"

from minifp import errors
from minifp.errors import (
    ArgumentError,
    DataError,
    DeviceError,
    DTypeError,
    MinifpError,
    PrecisionError,
    ShapeError,
    TapeError,
    TrainingError,
)
from minifp.formats import bool_, float16, float32, float64, int32, int64, uint8
from minifp.policy import Precision, get_precision, precision, set_precision
from minifp.random import get_state, manual_seed, set_state
from minifp.tape import Tensor, no_grad, op
from minifp.backend import kernel
from minifp.ops import *  # noqa: F403
from minifp.ops import PrecisionWarning
from minifp import data, nn, optim
from minifp.nn import functional
from minifp.gradcheck import GradcheckError, gradcheck
from minifp.loss_scale import DynamicLossScale, NoLossScale, StaticLossScale
from minifp.mixed import MixedOptimizer, StepResult
