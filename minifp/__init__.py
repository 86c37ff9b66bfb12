"""minifp: learn how mixed-precision training works, from plain Python.

The public names, in reading order. Layers are in `minifp.nn`, all operations as functions in
`minifp.nn.functional`, update rules and schedules in `minifp.optim`, data sets in `minifp.data`.
"""
# ruff: noqa: I001 (reading order)

__version__ = "0.1.0"

# Number formats, and the precision: which is used for what.
from minifp.formats import bool_, float16, float32, float64, int32, int64, uint8
from minifp.formats import bool_ as bool, float16 as half, float32 as float, float64 as double
from minifp.formats import int32 as int, int64 as long
from minifp.ops.querying import finfo, iinfo, is_floating_point, is_tensor, numel
from math import inf, nan, pi
from minifp.policy import Precision, get_precision, op_list, precision, set_precision

# Tensors, and what records operations on them.
from minifp.tape import Tensor
from minifp.grad_mode import enable_grad, no_grad, set_grad_enabled
from minifp.grad_mode import is_recording as is_grad_enabled
from minifp.walk import grad
from minifp.ops.creation import PrecisionWarning, as_tensor, from_numpy, tensor
from minifp.ops.filling import arange, empty, eye, full, linspace, ones, zeros
from minifp.ops.filling import empty_like, full_like, ones_like, zeros_like
from minifp.ops.sampling import rand, rand_like, randint, randint_like, randn, randn_like, randperm
from minifp.ops.sampling import bernoulli, multinomial, normal
from minifp.random import get_state, manual_seed, set_state

# Operations on arrays; those on layers' inputs are in minifp.nn.functional.
from minifp.ops.pointwise import abs, add, div, floor_divide, maximum, minimum, mul, neg
from minifp.ops.pointwise import pow, remainder, square, sub
from minifp.ops.clamping import clamp, clip
from minifp.ops.querying import clone, detach
from minifp.ops.elementary import cos, exp, expm1, log, log1p, reciprocal, rsqrt, sigmoid, sin
from minifp.ops.elementary import sqrt, tan, tanh, ceil, floor, round, sign, trunc
from minifp.ops.elementary import acos, asin, atan, cosh, log10, log2, sinh
from minifp.ops.activation import celu, relu, selu
from minifp.ops.error_function import erf
from minifp.ops.gated import prelu
from minifp.ops.selection import lerp, masked_fill, masked_select, nonzero, where
from minifp.ops.comparison import eq, ge, gt, isfinite, isinf, isnan, le, lt, ne
from minifp.ops.comparison import allclose, bitwise_and, bitwise_not, bitwise_or, bitwise_xor
from minifp.ops.comparison import equal, isclose
from minifp.ops.comparison import logical_and, logical_not, logical_or, logical_xor
from minifp.ops.reduce import all, any, count_nonzero, mean, sum
from minifp.ops.variance import std, var
from minifp.ops.extremes import amax, amin, argmax, argmin, max, min
from minifp.ops.cumulative import cumprod, cumsum, prod
from minifp.ops.norm import logsumexp, norm
from minifp.ops.sorting import argsort, sort, topk
from minifp.ops.shape import flatten, movedim, permute, ravel, reshape, squeeze, swapaxes, t
from minifp.ops.shape import transpose, unflatten, unsqueeze
from minifp.ops.stretching import broadcast_to, expand, tile
from minifp.ops.joining import cat, chunk, concat, concatenate, hstack, meshgrid, narrow, select
from minifp.ops.joining import split, stack, unbind, vstack
from minifp.ops.arranging import diagonal, flip, roll, tril, triu
from minifp.ops.gathering import gather, scatter, scatter_add, take_along_dim
from minifp.ops.slices import index_add, index_select, repeat_interleave
from minifp.ops.einsum import einsum
from minifp.ops.matmul import addmm, bmm, dot, matmul, mm, mv, outer
from minifp.ops.softmax import log_softmax, softmax
from minifp.ops.arranging import pixel_shuffle, pixel_unshuffle
from minifp.ops.avg_pool import adaptive_avg_pool1d, avg_pool1d
from minifp.ops.batch_norm import batch_norm
from minifp.ops.binary_cross_entropy import binary_cross_entropy_with_logits
from minifp.ops.conv import conv1d, conv2d
from minifp.ops.conv_transpose import conv_transpose1d, conv_transpose2d
from minifp.ops.cosine_embedding_loss import cosine_embedding_loss
from minifp.ops.ctc_loss import ctc_loss
from minifp.ops.dropout import dropout
from minifp.ops.embedding import embedding
from minifp.ops.group_norm import group_norm
from minifp.ops.kl_div import kl_div
from minifp.ops.layer_norm import layer_norm
from minifp.ops.max_pool import adaptive_max_pool1d, max_pool1d, max_pool2d
from minifp.ops.rms_norm import rms_norm
from minifp.ops.similarity import cosine_similarity, pairwise_distance
from minifp import in_place, methods  # what a Tensor can do is attached to it by these

# Models, data, optimizers.
from minifp import data, nn, optim
from minifp.nn import functional

# Mixed precision: the loss scale, and the optimizer that joins it with master weights.
from minifp.loss_scale import DynamicLossScale, NoLossScale, StaticLossScale
from minifp.mixed import MixedOptimizer
from minifp.step_result import StepResult
from minifp.graphs import capture
from minifp.device import set_default_device

# Saving and resuming.
from minifp.checkpoint import load, save

# Comparing precisions.
from minifp.task import Task
from minifp.tasks import load_task
from minifp.lab import Comparison, compare

# What number formats do to numbers; and how a Tensor shows itself in a notebook.
from minifp.scope.findings import Findings
from minifp.scope.microscope import Microscope, microscope
from minifp.scope.explaining.explain import explain
from minifp.scope import in_notebooks

# The threads of kernels on the CPU.
from minifp.cpu.threads import get_num_threads, set_num_threads

# Operations of one's own, and a check of their gradients.
from minifp.backend import kernel
from minifp.recording import op
from minifp.gradient_check import GradcheckError, gradcheck

# What can go wrong.
from minifp import errors
from minifp.errors import ArgumentError, CaptureError, CheckpointError, DataError, DeviceError
from minifp.errors import DTypeError, FileError
from minifp.errors import MinifpError, MisuseWarning, OutOfMemory, PrecisionError, ShapeError
from minifp.errors import TapeError, TrainingError, UnknownNameError
from minifp import unknown_names  # refuses names that are not there

__all__ = [
    "ArgumentError", "CaptureError", "CheckpointError", "Comparison", "DTypeError", "DataError",
    "DeviceError", "DynamicLossScale", "FileError",
    "Findings", "GradcheckError", "Microscope", "MinifpError",
    "MisuseWarning", "MixedOptimizer", "NoLossScale", "OutOfMemory", "Precision", "PrecisionError",
    "PrecisionWarning", "ShapeError", "StaticLossScale", "StepResult", "TapeError", "Task",
    "Tensor", "TrainingError", "UnknownNameError", "abs", "acos",
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "add",
    "addmm", "all", "allclose", "amax", "amin", "any", "arange", "argmax", "argmin", "argsort",
    "as_tensor", "asin", "atan", "avg_pool1d", "batch_norm", "bernoulli",
    "binary_cross_entropy_with_logits", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
    "bmm", "bool", "bool_", "broadcast_to", "capture", "cat", "ceil", "celu", "chunk", "clamp",
    "clip", "clone", "compare", "concat", "concatenate", "conv1d", "conv2d", "conv_transpose1d",
    "conv_transpose2d", "cos", "cosh", "cosine_embedding_loss", "cosine_similarity",
    "count_nonzero", "ctc_loss", "cumprod", "cumsum", "data", "detach", "diagonal", "div", "dot",
    "double", "dropout", "einsum", "embedding", "empty", "empty_like", "enable_grad", "eq", "equal",
    "erf", "errors", "exp", "expand", "explain", "expm1", "eye", "finfo", "flatten", "flip",
    "float", "float16", "float32", "float64", "floor", "floor_divide", "from_numpy", "full",
    "full_like", "functional", "gather", "ge", "get_num_threads", "get_precision", "get_state",
    "grad", "gradcheck", "group_norm", "gt", "half", "hstack", "iinfo", "index_add", "index_select",
    "inf", "int", "int32", "int64", "is_floating_point", "is_grad_enabled", "is_tensor", "isclose",
    "isfinite", "isinf", "isnan", "kernel", "kl_div", "layer_norm", "le", "lerp", "linspace",
    "load", "load_task", "log", "log10", "log1p", "log2", "log_softmax", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logsumexp", "long", "lt", "manual_seed",
    "masked_fill", "masked_select", "matmul", "max", "max_pool1d", "max_pool2d", "maximum", "mean",
    "meshgrid", "microscope", "min", "minimum", "mm", "movedim", "mul", "multinomial", "mv", "nan",
    "narrow", "ne", "neg", "nn", "no_grad", "nonzero", "norm", "normal", "numel", "ones",
    "ones_like", "op", "op_list", "optim", "outer", "pairwise_distance", "permute", "pi",
    "pixel_shuffle", "pixel_unshuffle", "pow", "precision", "prelu", "prod", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "randperm", "ravel", "reciprocal", "relu",
    "remainder", "repeat_interleave", "reshape", "rms_norm", "roll", "round", "rsqrt", "save",
    "scatter", "scatter_add", "select", "selu", "set_default_device", "set_grad_enabled",
    "set_num_threads", "set_precision", "set_state", "sigmoid", "sign", "sin", "sinh", "softmax",
    "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "swapaxes", "t",
    "take_along_dim", "tan", "tanh", "tensor", "tile", "topk", "transpose", "tril", "triu", "trunc",
    "uint8", "unbind", "unflatten", "unsqueeze", "var", "vstack", "where", "zeros", "zeros_like",
]  # fmt: skip
