"""minifp: learn how mixed-precision training works, from plain Python.

The public names, in reading order. Layers are in `minifp.nn`, all operations as functions in
`minifp.nn.functional`, update rules and schedules in `minifp.optim`, data sets in `minifp.data`.
"""
# ruff: noqa: I001 (reading order)

__version__ = "0.1.0"

# Number formats, and the precision: which is used for what.
from minifp.formats import bool_, float16, float32, float64, int32, int64, uint8
from minifp.policy import Precision, get_precision, op_list, precision, set_precision

# Tensors, and what records operations on them.
from minifp.tape import Tensor, enable_grad, no_grad, set_grad_enabled
from minifp.tape import is_recording as is_grad_enabled
from minifp.walk import grad
from minifp.ops.creation import PrecisionWarning, as_tensor, from_numpy, tensor
from minifp.ops.filling import arange, empty, eye, full, linspace, ones, zeros
from minifp.ops.filling import empty_like, full_like, ones_like, zeros_like
from minifp.ops.sampling import rand, rand_like, randint, randint_like, randn, randn_like, randperm
from minifp.random import get_state, manual_seed, set_state

# Operations on arrays; those on layers' inputs are in minifp.nn.functional.
from minifp.ops.pointwise import abs, add, clamp, div, floor_divide, maximum, minimum, mul, neg
from minifp.ops.pointwise import pow, remainder, square, sub
from minifp.ops.elementary import cos, exp, expm1, log, log1p, reciprocal, rsqrt, sigmoid, sin
from minifp.ops.elementary import sqrt, tan, tanh, ceil, floor, round, sign, trunc
from minifp.ops.elementary import acos, asin, atan, cosh, log10, log2, sinh
from minifp.ops.activation import celu, relu, selu
from minifp.ops.error_function import erf
from minifp.ops.gated import prelu
from minifp.ops.selection import lerp, masked_fill, where
from minifp.ops.comparison import eq, ge, gt, isfinite, isinf, isnan, le, lt, ne
from minifp.ops.comparison import logical_and, logical_not, logical_or, logical_xor
from minifp.ops.reduce import all, any, count_nonzero, mean, sum
from minifp.ops.variance import std, var
from minifp.ops.extremes import amax, amin, argmax, argmin, max, min
from minifp.ops.cumulative import cumsum, prod
from minifp.ops.norm import logsumexp, norm
from minifp.ops.sorting import argsort, sort, topk
from minifp.ops.shape import flatten, movedim, permute, ravel, reshape, squeeze, swapaxes, t
from minifp.ops.shape import transpose, unsqueeze
from minifp.ops.stretching import broadcast_to, expand, tile
from minifp.ops.joining import cat, chunk, split, stack, unbind
from minifp.ops.arranging import diagonal, flip, roll, tril, triu
from minifp.ops.gathering import gather, scatter_add, take_along_dim
from minifp.ops.slices import index_add, index_select, repeat_interleave
from minifp.ops.einsum import einsum
from minifp.ops.matmul import addmm, bmm, dot, matmul, mm, mv, outer
from minifp.ops.softmax import log_softmax, softmax
from minifp import in_place, methods  # what a Tensor can do is attached to it by these

# Models, data, optimizers.
from minifp import data, nn, optim
from minifp.nn import functional

# Mixed precision: the loss scale, and the optimizer that joins it with master weights.
from minifp.loss_scale import DynamicLossScale, NoLossScale, StaticLossScale
from minifp.mixed import MixedOptimizer, StepResult

# Saving and resuming.
from minifp.checkpoint import load, save

# Comparing precisions.
from minifp.task import Task
from minifp.tasks import load_task
from minifp.lab import Comparison, compare

# Operations of one's own, and a check of their gradients.
from minifp.backend import kernel
from minifp.recording import op
from minifp.gradient_check import GradcheckError, gradcheck

# What can go wrong.
from minifp import errors
from minifp.errors import ArgumentError, CheckpointError, DataError, DeviceError, DTypeError
from minifp.errors import MinifpError, PrecisionError, ShapeError, TapeError, TrainingError

__all__ = [
    "ArgumentError", "CheckpointError", "Comparison", "DTypeError", "DataError", "DeviceError",
    "DynamicLossScale", "GradcheckError", "MinifpError", "MixedOptimizer", "NoLossScale",
    "Precision", "PrecisionError", "PrecisionWarning", "ShapeError", "StaticLossScale",
    "StepResult", "TapeError", "Task", "Tensor", "TrainingError", "abs", "acos", "add", "addmm",
    "all", "amax", "amin", "any", "arange", "argmax", "argmin", "argsort", "as_tensor", "asin",
    "atan", "bmm", "bool_", "broadcast_to", "cat", "ceil", "celu", "chunk", "clamp", "compare",
    "cos", "cosh", "count_nonzero", "cumsum", "data", "diagonal", "div", "dot", "einsum", "empty",
    "empty_like", "enable_grad", "eq", "erf", "errors", "exp", "expand", "expm1", "eye", "flatten",
    "flip", "float16", "float32", "float64", "floor", "floor_divide", "from_numpy", "full",
    "full_like", "functional", "gather", "ge", "get_precision", "get_state", "grad", "gradcheck",
    "gt", "index_add", "index_select", "int32", "int64", "is_grad_enabled", "isfinite", "isinf",
    "isnan", "kernel", "le", "lerp", "linspace", "load", "load_task", "log", "log10", "log1p",
    "log2", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp",
    "lt", "manual_seed", "masked_fill", "matmul", "max", "maximum", "mean", "min", "minimum", "mm",
    "movedim", "mul", "mv", "ne", "neg", "nn", "no_grad", "norm", "ones", "ones_like", "op",
    "op_list", "optim", "outer", "permute", "pow", "precision", "prelu", "prod", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "ravel",
    "reciprocal", "relu", "remainder", "repeat_interleave", "reshape", "roll", "round", "rsqrt",
    "save", "scatter_add", "selu", "set_grad_enabled", "set_precision", "set_state", "sigmoid",
    "sign", "sin", "sinh", "softmax", "sort", "split", "sqrt", "square", "squeeze", "stack", "std",
    "sub", "sum", "swapaxes", "t", "take_along_dim", "tan", "tanh", "tensor", "tile", "topk",
    "transpose", "tril", "triu", "trunc", "uint8", "unbind", "unsqueeze", "var", "where", "zeros",
    "zeros_like",
]  # fmt: skip
