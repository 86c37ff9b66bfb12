"""The operations by PyTorch's names, argument order and defaults, to be imported as F."""
# ruff: noqa: I001 (by kind)

# ---- written by scripts/write_listings.py: do not edit ----
# convolution
from minifp.ops import conv1d, conv2d, conv_transpose1d, conv_transpose2d, fold, row_conv, unfold

# detection
from minifp.ops import batched_nms, box_area, box_convert, box_iou, clip_boxes_to_image
from minifp.ops import decode_boxes, encode_boxes, generalized_box_iou, generalized_box_iou_loss
from minifp.ops import nms, remove_small_boxes, roi_align, roi_pool

# losses
from minifp.ops import binary_cross_entropy, binary_cross_entropy_with_logits
from minifp.ops import cosine_embedding_loss, cross_entropy, ctc_beam_search_decode
from minifp.ops import ctc_greedy_decode, ctc_loss, huber_loss, kl_div, l1_loss, mse_loss, nll_loss
from minifp.ops import sigmoid_focal_loss, smooth_l1_loss

# normalization
from minifp.ops import batch_norm, group_norm, instance_norm, layer_norm, local_response_norm
from minifp.ops import log_softmax, normalize, rms_norm, softmax, softmin

# pointwise
from minifp.ops import celu, celu_, dropout, dropout1d, dropout2d, elu, elu_, gelu, glu
from minifp.ops import hardsigmoid, hardswish, hardtanh, hardtanh_, leaky_relu, leaky_relu_
from minifp.ops import logsigmoid, mish, prelu, relu, relu6, relu_, selu, selu_, sigmoid, silu
from minifp.ops import softplus, softsign, tanh, tanhshrink

# pooling
from minifp.ops import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d
from minifp.ops import adaptive_max_pool2d, avg_pool1d, avg_pool2d, interpolate, max_pool1d
from minifp.ops import max_pool2d

# products
from minifp.ops import linear, scaled_dot_product_attention

# recurrent
from minifp.ops import gru, lstm, rnn

# reductions
from minifp.ops import cosine_similarity, pairwise_distance

# shaping
from minifp.ops import embedding, one_hot, pad, pixel_shuffle, pixel_unshuffle

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d"]
__all__ += ["adaptive_max_pool2d", "avg_pool1d", "avg_pool2d", "batch_norm", "batched_nms"]
__all__ += ["binary_cross_entropy", "binary_cross_entropy_with_logits", "box_area", "box_convert"]
__all__ += ["box_iou", "celu", "celu_", "clip_boxes_to_image", "conv1d", "conv2d"]
__all__ += ["conv_transpose1d", "conv_transpose2d", "cosine_embedding_loss", "cosine_similarity"]
__all__ += ["cross_entropy", "ctc_beam_search_decode", "ctc_greedy_decode", "ctc_loss"]
__all__ += ["decode_boxes", "dropout", "dropout1d", "dropout2d", "elu", "elu_", "embedding"]
__all__ += ["encode_boxes", "fold", "gelu", "generalized_box_iou", "generalized_box_iou_loss"]
__all__ += ["glu", "group_norm", "gru", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_"]
__all__ += ["huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm"]
__all__ += ["leaky_relu", "leaky_relu_", "linear", "local_response_norm", "log_softmax"]
__all__ += ["logsigmoid", "lstm", "max_pool1d", "max_pool2d", "mish", "mse_loss", "nll_loss"]
__all__ += ["nms", "normalize", "one_hot", "pad", "pairwise_distance", "pixel_shuffle"]
__all__ += ["pixel_unshuffle", "prelu", "relu", "relu6", "relu_", "remove_small_boxes", "rms_norm"]
__all__ += ["rnn", "roi_align", "roi_pool", "row_conv", "scaled_dot_product_attention", "selu"]
__all__ += ["selu_", "sigmoid", "sigmoid_focal_loss", "silu", "smooth_l1_loss", "softmax"]
__all__ += ["softmin", "softplus", "softsign", "tanh", "tanhshrink", "unfold"]
# ---- written until here ----
