"""The operations, one family a file: equation, shapes and source, then the NumPy reference kernels
with their rules, then the operation with its backward. Add one by writing such a file, in which
`public` declares what users see of it, and running `python scripts/write_listings.py`.

Where two functions bear a name, as softmax and softmax_op, the one is what users call, by PyTorch's
arguments: it checks them and fills in what is missing. The other is what the tape records and does
again: of arrays, with all settings said.
"""
# ruff: noqa: I001 (by kind)

# ---- written by scripts/write_listings.py: do not edit ----
from minifp.ops.convolution.conv import conv1d, conv2d
from minifp.ops.convolution.conv_transpose import conv_transpose1d, conv_transpose2d
from minifp.ops.convolution.folding import fold, unfold
from minifp.ops.convolution.row_conv import row_conv
from minifp.ops.creation import as_tensor, from_dlpack, from_numpy, tensor
from minifp.ops.detection.box_coding import decode_boxes, encode_boxes
from minifp.ops.detection.box_iou import box_iou, generalized_box_iou, generalized_box_iou_loss
from minifp.ops.detection.boxes import box_area, box_convert, clip_boxes_to_image
from minifp.ops.detection.boxes import remove_small_boxes
from minifp.ops.detection.nms import batched_nms, nms
from minifp.ops.detection.roi_align import roi_align
from minifp.ops.detection.roi_pool import roi_pool
from minifp.ops.factories.full import arange, empty, empty_like, eye, full, full_like, linspace
from minifp.ops.factories.full import ones, ones_like, zeros, zeros_like
from minifp.ops.factories.sampling import bernoulli, multinomial, normal, rand, rand_like, randint
from minifp.ops.factories.sampling import randint_like, randn, randn_like, randperm
from minifp.ops.inspection import clone, detach, finfo, iinfo, is_floating_point, is_tensor, numel
from minifp.ops.losses.binary_cross_entropy import binary_cross_entropy
from minifp.ops.losses.binary_cross_entropy import binary_cross_entropy_with_logits
from minifp.ops.losses.cosine_embedding_loss import cosine_embedding_loss
from minifp.ops.losses.cross_entropy import cross_entropy
from minifp.ops.losses.ctc_decode import ctc_beam_search_decode, ctc_greedy_decode
from minifp.ops.losses.ctc_loss import ctc_loss
from minifp.ops.losses.kl_div import kl_div
from minifp.ops.losses.nll_loss import nll_loss
from minifp.ops.losses.regression_loss import huber_loss, l1_loss, mse_loss, smooth_l1_loss
from minifp.ops.losses.sigmoid_focal_loss import sigmoid_focal_loss
from minifp.ops.normalization.batch_norm import batch_norm
from minifp.ops.normalization.group_norm import group_norm, instance_norm
from minifp.ops.normalization.layer_norm import layer_norm
from minifp.ops.normalization.local_response_norm import local_response_norm
from minifp.ops.normalization.normalize import normalize
from minifp.ops.normalization.rms_norm import rms_norm
from minifp.ops.normalization.softmax import log_softmax, softmax, softmin
from minifp.ops.pointwise.activation import celu, celu_, elu, elu_, hardsigmoid, hardswish
from minifp.ops.pointwise.activation import hardtanh, hardtanh_, leaky_relu, leaky_relu_
from minifp.ops.pointwise.activation import logsigmoid, mish, relu, relu6, relu_, selu, selu_, silu
from minifp.ops.pointwise.activation import softplus, softsign, tanhshrink
from minifp.ops.pointwise.arithmetic import abs, abs as absolute, add, div, div as divide
from minifp.ops.pointwise.arithmetic import div as true_divide, floor_divide, maximum, minimum, mul
from minifp.ops.pointwise.arithmetic import mul as multiply, neg, neg as negative, pow, remainder
from minifp.ops.pointwise.arithmetic import square, sub, sub as subtract
from minifp.ops.pointwise.clamp import clamp, clamp as clip
from minifp.ops.pointwise.comparison import allclose, bitwise_and, bitwise_not, bitwise_or
from minifp.ops.pointwise.comparison import bitwise_xor, eq, equal, ge, ge as greater_equal, gt
from minifp.ops.pointwise.comparison import gt as greater, isclose, isfinite, isinf, isnan, le
from minifp.ops.pointwise.comparison import le as less_equal, logical_and, logical_not, logical_or
from minifp.ops.pointwise.comparison import logical_xor, lt, lt as less, ne, ne as not_equal
from minifp.ops.pointwise.dropout import dropout, dropout1d, dropout2d
from minifp.ops.pointwise.error_function import erf, gelu
from minifp.ops.pointwise.glu_prelu import glu, prelu
from minifp.ops.pointwise.products_added import addcdiv, addcmul
from minifp.ops.pointwise.unary_math import acos, acos as arccos, asin, asin as arcsin, atan
from minifp.ops.pointwise.unary_math import atan as arctan, ceil, cos, cosh, exp, expm1, floor, log
from minifp.ops.pointwise.unary_math import log10, log1p, log2, reciprocal, round, rsqrt, sigmoid
from minifp.ops.pointwise.unary_math import sign, sin, sinh, sqrt, tan, tanh, trunc, trunc as fix
from minifp.ops.pooling.avg_pool import adaptive_avg_pool1d, adaptive_avg_pool2d, avg_pool1d
from minifp.ops.pooling.avg_pool import avg_pool2d
from minifp.ops.pooling.interpolate import interpolate
from minifp.ops.pooling.max_pool import adaptive_max_pool1d, adaptive_max_pool2d, max_pool1d
from minifp.ops.pooling.max_pool import max_pool2d
from minifp.ops.products.attention import scaled_dot_product_attention
from minifp.ops.products.einsum import einsum
from minifp.ops.products.linear import linear
from minifp.ops.products.matmul import addmm, bmm, dot, matmul, mm, mv, outer, outer as ger
from minifp.ops.recurrent.gru import gru
from minifp.ops.recurrent.lstm import lstm
from minifp.ops.recurrent.rnn import rnn
from minifp.ops.reduce import all, any, count_nonzero, mean, sum
from minifp.ops.reductions.counting import bincount, unique
from minifp.ops.reductions.cumulative import cumprod, cumsum, prod
from minifp.ops.reductions.differences import diff
from minifp.ops.reductions.median import median
from minifp.ops.reductions.min_max import amax, amin, argmax, argmin, max, min
from minifp.ops.reductions.norm import logsumexp, norm
from minifp.ops.reductions.similarity import cosine_similarity, pairwise_distance
from minifp.ops.reductions.sorting import argsort, sort, topk
from minifp.ops.reductions.variance import std, var
from minifp.ops.shaping.concat import cat, cat as concat, cat as concatenate, chunk, hstack
from minifp.ops.shaping.concat import meshgrid, narrow, select, split, stack, unbind, vstack
from minifp.ops.shaping.embedding import embedding
from minifp.ops.shaping.expand import broadcast_to, expand, expand_as, repeat, tile
from minifp.ops.shaping.gather_scatter import gather, one_hot, scatter, scatter_add, take_along_dim
from minifp.ops.shaping.matrices import diag, take, trace, tril_indices, triu_indices
from minifp.ops.shaping.padding import pad
from minifp.ops.shaping.rearrange import diagonal, flip, pixel_shuffle, pixel_unshuffle, roll, tril
from minifp.ops.shaping.rearrange import triu
from minifp.ops.shaping.resizing import resize_, resize_as_, squeeze_, t_, transpose_, unsqueeze_
from minifp.ops.shaping.shape import contiguous, flatten, movedim, movedim as moveaxis, permute
from minifp.ops.shaping.shape import ravel, reshape, squeeze, t, transpose, transpose as swapaxes
from minifp.ops.shaping.shape import transpose as swapdims, unflatten, unsqueeze, view, view_as
from minifp.ops.shaping.slices import index_add, index_select, repeat_interleave
from minifp.ops.shaping.where import lerp, masked_fill, masked_select, nonzero, where
from minifp.ops.shaping.writing import fill_diagonal_, index_copy, index_copy_, index_fill
from minifp.ops.shaping.writing import index_fill_, index_put, index_put_, masked_scatter
from minifp.ops.shaping.writing import masked_scatter_
# ---- written until here ----
