"""minifp: learn how mixed-precision training works, from plain Python.

The public names, in reading order.
"""

__version__ = "0.1.0"

from minifp import data, errors, nn, optim
from minifp.backend import kernel
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
from minifp.gradient_check import GradcheckError, gradcheck
from minifp.loss_scale import DynamicLossScale, NoLossScale, StaticLossScale
from minifp.mixed import MixedOptimizer, StepResult
from minifp.nn import functional
from minifp.ops import *
from minifp.ops import PrecisionWarning
from minifp.policy import Precision, get_precision, precision, set_precision
from minifp.random import get_state, manual_seed, set_state
from minifp.recording import op
from minifp.tape import Tensor, no_grad
