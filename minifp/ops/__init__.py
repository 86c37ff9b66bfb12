"""The operations, one family a file: equation, shapes and source, then the NumPy reference kernels
with their rules, then the operation with its backward. Add one by writing such a file and naming it
here."""

from minifp.ops import in_place, methods
from minifp.ops.batch_norm import batch_norm, batch_norm_statistics
from minifp.ops.conv2d import conv2d
from minifp.ops.creation import (
    PrecisionWarning,
    arange,
    full,
    ones,
    ones_like,
    rand,
    randn,
    tensor,
    zeros,
    zeros_like,
)
from minifp.ops.dropout import dropout
from minifp.ops.embedding import embedding
from minifp.ops.layer_norm import layer_norm
from minifp.ops.linear import linear
from minifp.ops.loss import cross_entropy, mse_loss
from minifp.ops.lstm import lstm
from minifp.ops.matmul import matmul
from minifp.ops.pointwise import (
    abs,
    add,
    clamp,
    cos,
    div,
    eq,
    exp,
    ge,
    gt,
    isfinite,
    isnan,
    le,
    log,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    neg,
    pow,
    relu,
    sigmoid,
    sin,
    sqrt,
    square,
    sub,
    tanh,
    where,
)
from minifp.ops.pool2d import avg_pool2d, max_pool2d
from minifp.ops.reduce import amax, amin, argmax, argmin, mean, sum, var
from minifp.ops.shape import (
    cat,
    chunk,
    expand,
    flatten,
    permute,
    reshape,
    split,
    squeeze,
    stack,
    transpose,
    unsqueeze,
)
from minifp.ops.softmax import log_softmax, softmax
