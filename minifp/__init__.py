"""minifp: learn how mixed-precision training works, from plain Python.

The public names, in reading order. Layers are in `minifp.nn`, all operations as functions in
`minifp.nn.functional`, update rules and schedules in `minifp.optim`, data sets in `minifp.data`.
"""
# ruff: noqa: E402, I001 (reading order)

__version__ = "0.1.0"

# Number formats, and the precision: which is used for what.
from minifp.numerics.dtypes import bool_, float16, float32, float64, int32, int64, uint8
from minifp.numerics.dtypes import bfloat16, dtype, float8_e4m3fn, float8_e5m2
from minifp.numerics.dtypes import (
    bool_ as bool,
    float16 as half,
    float32 as float,
    float64 as double,
)
from minifp.numerics.dtypes import int32 as int, int64 as long
from minifp.numerics.number_format import Format
from math import inf, nan, pi
from minifp.numerics.op_listing import op_list
from minifp.numerics.policy import Precision, get_precision, precision, set_precision

# Tensors, and what records operations on them.
from minifp.autograd.tape import Tensor
from minifp.runtime.shapes import Size
from minifp.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from minifp.autograd.grad_mode import is_recording as is_grad_enabled
from minifp.autograd.input_gradients import grad
from minifp.runtime.random import get_state, manual_seed, set_state

# Operations, and what makes tensors; those on layers' inputs are in minifp.nn.functional.
# ---- written by scripts/write_listings.py: do not edit ----
# convolution
from minifp.ops import conv1d, conv2d, conv_transpose1d, conv_transpose2d

# creation
from minifp.ops import as_tensor, from_dlpack, from_numpy, tensor

# factories
from minifp.ops import arange, bernoulli, empty, empty_like, eye, full, full_like, linspace
from minifp.ops import multinomial, normal, ones, ones_like, rand, rand_like, randint, randint_like
from minifp.ops import randn, randn_like, randperm, zeros, zeros_like

# inspection
from minifp.ops import clone, detach, finfo, iinfo, is_floating_point, is_tensor, numel

# losses
from minifp.ops import binary_cross_entropy_with_logits, cosine_embedding_loss, ctc_loss, kl_div

# normalization
from minifp.ops import batch_norm, group_norm, layer_norm, log_softmax, rms_norm, softmax

# pointwise
from minifp.ops import abs, absolute, acos, add, addcdiv, addcmul, allclose, arccos, arcsin, arctan
from minifp.ops import asin, atan, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, ceil, celu
from minifp.ops import clamp, clip, cos, cosh, div, divide, dropout, eq, equal, erf, exp, expm1
from minifp.ops import fix, floor, floor_divide, ge, greater, greater_equal, gt, isclose, isfinite
from minifp.ops import isinf, isnan, le, less, less_equal, log, log10, log1p, log2, logical_and
from minifp.ops import logical_not, logical_or, logical_xor, lt, maximum, minimum, mul, multiply
from minifp.ops import ne, neg, negative, not_equal, pow, prelu, reciprocal, relu, remainder, round
from minifp.ops import rsqrt, selu, sigmoid, sign, sin, sinh, sqrt, square, sub, subtract, tan
from minifp.ops import tanh, true_divide, trunc

# pooling
from minifp.ops import adaptive_avg_pool1d, adaptive_max_pool1d, avg_pool1d, max_pool1d, max_pool2d

# products
from minifp.ops import addmm, bmm, dot, einsum, ger, matmul, mm, mv, outer

# reduce
from minifp.ops import all, any, count_nonzero, mean, sum

# reductions
from minifp.ops import amax, amin, argmax, argmin, argsort, bincount, cosine_similarity, cumprod
from minifp.ops import cumsum, diff, logsumexp, max, median, min, norm, pairwise_distance, prod
from minifp.ops import sort, std, topk, unique, var

# shaping
from minifp.ops import broadcast_to, cat, chunk, concat, concatenate, diag, diagonal, embedding
from minifp.ops import expand, flatten, flip, gather, hstack, index_add, index_select, lerp
from minifp.ops import masked_fill, masked_select, meshgrid, moveaxis, movedim, narrow, nonzero
from minifp.ops import permute, pixel_shuffle, pixel_unshuffle, ravel, repeat_interleave, reshape
from minifp.ops import roll, scatter, scatter_add, select, split, squeeze, stack, swapaxes
from minifp.ops import swapdims, t, take, take_along_dim, tile, trace, transpose, tril
from minifp.ops import tril_indices, triu, triu_indices, unbind, unflatten, unsqueeze, vstack, where

# ---- written until here ----
from minifp.ops import in_place
from minifp.ops import methods, numpy_functions, protocols  # which attach what a Tensor can do

# Models, data, optimizers.
from minifp import data, models, nn, optim, utils
from minifp.nn import functional
from minifp.nn.assign_precision import assign_precision
from minifp.nn.operand_histories import operand_histories

# Mixed precision: the loss scale, and the optimizer that joins it with master weights.
from minifp.training.loss_scale import (
    DynamicLossScale,
    LogNormalLossScale,
    NoLossScale,
    StaticLossScale,
)
from minifp.training.mixed import MixedOptimizer
from minifp.training.step_result import StepResult
from minifp.training.graphs import capture
from minifp.runtime.device import device, set_default_device
from minifp.runtime.cuda.math_modes import get_gpu_math, set_gpu_math

# The same by the names of other systems.
from minifp import autograd
from minifp.compat import amp, cuda, paddle
from minifp.compat.typed_tensors import BFloat16Tensor, BoolTensor, ByteTensor, DoubleTensor
from minifp.compat.typed_tensors import FloatTensor, HalfTensor, IntTensor, LongTensor
from minifp.runtime import variables
from minifp.compat.arguments import channels_last, contiguous_format, preserve_format
from minifp.compat.amp import GradScaler, autocast, is_autocast_enabled

# Saving and resuming.
from minifp.saving.checkpoint import load, save

# Comparing precisions; what number formats do to numbers: imported when first asked for.
from typing import TYPE_CHECKING
from minifp import lab
from minifp.runtime import late

if TYPE_CHECKING:
    from minifp.lab.task import EarlyStopping, Task
    from minifp.lab.metrics import Metric
    from minifp.lab.tasks import load_task
    from minifp.lab import Capacity, Comparison, Inference, Plan
    from minifp.lab import ablate, compare, evaluate, gallery, largest_batch, merge, plan, sweep
    from minifp.scope.findings import Findings
    from minifp.scope.microscope import Microscope, microscope
    from minifp.scope.summary import Summary, summary
late.attach(__name__)

# What number formats do to one number; and how a Tensor shows itself in a notebook.
from minifp.scope.explaining.explain import explain
from minifp.scope import in_notebooks

# The threads of kernels on the CPU.
from minifp.runtime.cpu.threads import get_num_threads, set_num_threads

# Operations of your own, and a check of their gradients.
from minifp.numerics.kernels import kernel
from minifp.autograd.op import op
from minifp.autograd.gradient_check import GradcheckError, gradcheck

# What can go wrong.
from minifp import errors
from minifp.errors import ArgumentError, CaptureError, CheckpointError, DataError, DeviceError
from minifp.errors import DTypeError, FileError
from minifp.errors import MinifpError, MisuseWarning, OutOfMemory, PrecisionError
from minifp.errors import PrecisionWarning, ShapeError
from minifp.errors import TapeError, TrainingError, UnknownNameError
from minifp.compat import unknown_names  # refuses names that are not there

__all__ = [
    "ArgumentError", "BFloat16Tensor", "BoolTensor", "ByteTensor", "Capacity", "CaptureError",
    "CheckpointError", "Comparison", "DTypeError", "DataError", "DeviceError", "DoubleTensor",
    "DynamicLossScale", "EarlyStopping", "FileError", "Findings", "FloatTensor", "Format",
    "GradScaler", "GradcheckError", "HalfTensor", "Inference", "IntTensor", "LogNormalLossScale",
    "LongTensor", "Metric", "Microscope", "MinifpError", "MisuseWarning", "MixedOptimizer",
    "NoLossScale", "OutOfMemory", "Plan", "Precision", "PrecisionError", "PrecisionWarning",
    "ShapeError", "Size", "StaticLossScale", "StepResult", "Summary", "TapeError", "Task", "Tensor",
    "TrainingError", "UnknownNameError", "ablate", "amp", "assign_precision", "autocast",
    "autograd", "bfloat16", "bool", "bool_", "capture", "channels_last", "compare",
    "contiguous_format", "cuda", "data", "device", "double", "dtype", "enable_grad", "errors",
    "evaluate", "explain", "float", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2",
    "functional", "gallery", "get_gpu_math", "get_num_threads", "get_precision", "get_state",
    "grad", "gradcheck", "half", "inf", "inference_mode", "int", "int32", "int64",
    "is_autocast_enabled", "is_grad_enabled", "kernel", "lab", "largest_batch", "load", "load_task",
    "long", "manual_seed", "merge", "microscope", "models", "nan", "nn", "no_grad", "op", "op_list",
    "operand_histories", "optim", "paddle", "pi", "plan", "precision", "preserve_format", "save",
    "set_default_device", "set_gpu_math", "set_grad_enabled", "set_num_threads", "set_precision",
    "set_state", "summary", "sweep", "uint8", "utils",
]  # fmt: skip
# ---- written by scripts/write_listings.py: do not edit ----
__all__ += ["abs", "absolute", "acos", "adaptive_avg_pool1d", "adaptive_max_pool1d", "add"]
__all__ += ["addcdiv", "addcmul", "addmm", "all", "allclose", "amax", "amin", "any", "arange"]
__all__ += ["arccos", "arcsin", "arctan", "argmax", "argmin", "argsort", "as_tensor", "asin"]
__all__ += ["atan", "avg_pool1d", "batch_norm", "bernoulli", "binary_cross_entropy_with_logits"]
__all__ += ["bincount", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "bmm"]
__all__ += ["broadcast_to", "cat", "ceil", "celu", "chunk", "clamp", "clip", "clone", "concat"]
__all__ += ["concatenate", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "cos"]
__all__ += ["cosh", "cosine_embedding_loss", "cosine_similarity", "count_nonzero", "ctc_loss"]
__all__ += ["cumprod", "cumsum", "detach", "diag", "diagonal", "diff", "div", "divide", "dot"]
__all__ += ["dropout", "einsum", "embedding", "empty", "empty_like", "eq", "equal", "erf", "exp"]
__all__ += ["expand", "expm1", "eye", "finfo", "fix", "flatten", "flip", "floor", "floor_divide"]
__all__ += ["from_dlpack", "from_numpy", "full", "full_like", "gather", "ge", "ger", "greater"]
__all__ += ["greater_equal", "group_norm", "gt", "hstack", "iinfo", "index_add", "index_select"]
__all__ += ["is_floating_point", "is_tensor", "isclose", "isfinite", "isinf", "isnan", "kl_div"]
__all__ += ["layer_norm", "le", "lerp", "less", "less_equal", "linspace", "log", "log10", "log1p"]
__all__ += ["log2", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor"]
__all__ += ["logsumexp", "lt", "masked_fill", "masked_select", "matmul", "max", "max_pool1d"]
__all__ += ["max_pool2d", "maximum", "mean", "median", "meshgrid", "min", "minimum", "mm"]
__all__ += ["moveaxis", "movedim", "mul", "multinomial", "multiply", "mv", "narrow", "ne", "neg"]
__all__ += ["negative", "nonzero", "norm", "normal", "not_equal", "numel", "ones", "ones_like"]
__all__ += ["outer", "pairwise_distance", "permute", "pixel_shuffle", "pixel_unshuffle", "pow"]
__all__ += ["prelu", "prod", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like"]
__all__ += ["randperm", "ravel", "reciprocal", "relu", "remainder", "repeat_interleave", "reshape"]
__all__ += ["rms_norm", "roll", "round", "rsqrt", "scatter", "scatter_add", "select", "selu"]
__all__ += ["sigmoid", "sign", "sin", "sinh", "softmax", "sort", "split", "sqrt", "square"]
__all__ += ["squeeze", "stack", "std", "sub", "subtract", "sum", "swapaxes", "swapdims", "t"]
__all__ += ["take", "take_along_dim", "tan", "tanh", "tensor", "tile", "topk", "trace"]
__all__ += ["transpose", "tril", "tril_indices", "triu", "triu_indices", "true_divide", "trunc"]
__all__ += ["unbind", "unflatten", "unique", "unsqueeze", "var", "vstack", "where", "zeros"]
__all__ += ["zeros_like"]
# ---- written until here ----

variables.check()
amp.automatic.start_from_environment()
