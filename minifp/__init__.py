"""minifp: learn how mixed-precision training works, from plain Python.

The public names, in reading order. Layers are in `minifp.nn`, all operations as functions in
`minifp.nn.functional`, update rules and schedules in `minifp.optim`, data sets in `minifp.data`.
"""
# ruff: noqa: I001 (reading order)

__version__ = "0.1.0"

# Number formats, and the precision: which is used for what.
from minifp.numerics.formats import bool_, float16, float32, float64, int32, int64, uint8
from minifp.numerics.formats import (
    bool_ as bool,
    float16 as half,
    float32 as float,
    float64 as double,
)
from minifp.numerics.formats import int32 as int, int64 as long
from minifp.ops.inspection import finfo, iinfo, is_floating_point, is_tensor, numel
from math import inf, nan, pi
from minifp.numerics.policy import Precision, get_precision, op_list, precision, set_precision

# Tensors, and what records operations on them.
from minifp.autograd.tape import Tensor
from minifp.autograd.grad_mode import enable_grad, no_grad, set_grad_enabled
from minifp.autograd.grad_mode import is_recording as is_grad_enabled
from minifp.autograd.backward import grad
from minifp.ops.creation import PrecisionWarning, as_tensor, from_numpy, tensor
from minifp.ops.factories.full import arange, empty, eye, full, linspace, ones, zeros
from minifp.ops.factories.full import empty_like, full_like, ones_like, zeros_like
from minifp.ops.factories.sampling import (
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)
from minifp.ops.factories.sampling import bernoulli, multinomial, normal
from minifp.runtime.random import get_state, manual_seed, set_state

# Operations on arrays; those on layers' inputs are in minifp.nn.functional.
from minifp.ops.pointwise.arithmetic import abs, add, div, floor_divide, maximum, minimum, mul, neg
from minifp.ops.pointwise.arithmetic import pow, remainder, square, sub
from minifp.ops.pointwise.clamp import clamp, clip
from minifp.ops.inspection import clone, detach
from minifp.ops.pointwise.unary_math import (
    cos,
    exp,
    expm1,
    log,
    log1p,
    reciprocal,
    rsqrt,
    sigmoid,
    sin,
)
from minifp.ops.pointwise.unary_math import sqrt, tan, tanh, ceil, floor, round, sign, trunc
from minifp.ops.pointwise.unary_math import acos, asin, atan, cosh, log10, log2, sinh
from minifp.ops.pointwise.activation import celu, relu, selu
from minifp.ops.pointwise.error_function import erf
from minifp.ops.pointwise.glu_prelu import prelu
from minifp.ops.shaping.where import lerp, masked_fill, masked_select, nonzero, where
from minifp.ops.pointwise.comparison import eq, ge, gt, isfinite, isinf, isnan, le, lt, ne
from minifp.ops.pointwise.comparison import (
    allclose,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
)
from minifp.ops.pointwise.comparison import equal, isclose
from minifp.ops.pointwise.comparison import logical_and, logical_not, logical_or, logical_xor
from minifp.ops.reduce import all, any, count_nonzero, mean, sum
from minifp.ops.reductions.variance import std, var
from minifp.ops.reductions.min_max import amax, amin, argmax, argmin, max, min
from minifp.ops.reductions.cumulative import cumprod, cumsum, prod
from minifp.ops.reductions.norm import logsumexp, norm
from minifp.ops.reductions.sorting import argsort, sort, topk
from minifp.ops.shaping.shape import flatten, movedim, permute, ravel, reshape, squeeze, swapaxes, t
from minifp.ops.shaping.shape import transpose, unflatten, unsqueeze
from minifp.ops.shaping.expand import broadcast_to, expand, tile
from minifp.ops.shaping.concat import (
    cat,
    chunk,
    concat,
    concatenate,
    hstack,
    meshgrid,
    narrow,
    select,
)
from minifp.ops.shaping.concat import split, stack, unbind, vstack
from minifp.ops.shaping.rearrange import diagonal, flip, roll, tril, triu
from minifp.ops.shaping.gather_scatter import gather, scatter, scatter_add, take_along_dim
from minifp.ops.shaping.slices import index_add, index_select, repeat_interleave
from minifp.ops.products.einsum import einsum
from minifp.ops.products.matmul import addmm, bmm, dot, matmul, mm, mv, outer
from minifp.ops.normalization.softmax import log_softmax, softmax
from minifp.ops.shaping.rearrange import pixel_shuffle, pixel_unshuffle
from minifp.ops.pooling.avg_pool import adaptive_avg_pool1d, avg_pool1d
from minifp.ops.normalization.batch_norm import batch_norm
from minifp.ops.losses.binary_cross_entropy import binary_cross_entropy_with_logits
from minifp.ops.convolution.conv import conv1d, conv2d
from minifp.ops.convolution.conv_transpose import conv_transpose1d, conv_transpose2d
from minifp.ops.losses.cosine_embedding_loss import cosine_embedding_loss
from minifp.ops.losses.ctc_loss import ctc_loss
from minifp.ops.pointwise.dropout import dropout
from minifp.ops.shaping.embedding import embedding
from minifp.ops.normalization.group_norm import group_norm
from minifp.ops.losses.kl_div import kl_div
from minifp.ops.normalization.layer_norm import layer_norm
from minifp.ops.pooling.max_pool import adaptive_max_pool1d, max_pool1d, max_pool2d
from minifp.ops.normalization.rms_norm import rms_norm
from minifp.ops.reductions.similarity import cosine_similarity, pairwise_distance
from minifp.ops import in_place
from minifp.ops import methods  # what a Tensor can do is attached to it by these

# Models, data, optimizers.
from minifp import data, nn, optim
from minifp.nn import functional

# Mixed precision: the loss scale, and the optimizer that joins it with master weights.
from minifp.training.loss_scale import DynamicLossScale, NoLossScale, StaticLossScale
from minifp.training.mixed import MixedOptimizer
from minifp.training.step_result import StepResult
from minifp.training.graphs import capture
from minifp.runtime.device import set_default_device

# Saving and resuming.
from minifp.saving.checkpoint import load, save

# Comparing precisions.
from minifp.lab.task import Task
from minifp.lab.tasks import load_task
from minifp.lab import Comparison, compare

# What number formats do to numbers; and how a Tensor shows itself in a notebook.
from minifp.scope.findings import Findings
from minifp.scope.microscope import Microscope, microscope
from minifp.scope.explaining.explain import explain
from minifp.scope import in_notebooks

# The threads of kernels on the CPU.
from minifp.runtime.cpu.threads import get_num_threads, set_num_threads

# Operations of one's own, and a check of their gradients.
from minifp.numerics.kernels import kernel
from minifp.autograd.op import op
from minifp.autograd.gradient_check import GradcheckError, gradcheck

# What can go wrong.
from minifp import errors
from minifp.errors import ArgumentError, CaptureError, CheckpointError, DataError, DeviceError
from minifp.errors import DTypeError, FileError
from minifp.errors import MinifpError, MisuseWarning, OutOfMemory, PrecisionError, ShapeError
from minifp.errors import TapeError, TrainingError, UnknownNameError
from minifp.compat import unknown_names  # refuses names that are not there

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
