"""The operations by PyTorch's names, argument order and defaults, to be imported as F."""
# ruff: noqa: I001 (by kind)

# ---- written by scripts/write_listings.py: do not edit ----
# convolution
from minifp.ops import conv1d, conv2d, conv_transpose1d, conv_transpose2d, fold, row_conv, unfold

# detection
from minifp.ops import (
    batched_nms, box_area, box_convert, box_iou, clip_boxes_to_image, decode_boxes, encode_boxes,
    generalized_box_iou, generalized_box_iou_loss, nms, remove_small_boxes, roi_align, roi_pool,
)  # fmt: skip

# losses
from minifp.ops import (
    binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy,
    ctc_beam_search_decode, ctc_greedy_decode, ctc_loss, huber_loss, kl_div, l1_loss, mse_loss,
    nll_loss, sigmoid_focal_loss, smooth_l1_loss,
)  # fmt: skip

# normalization
from minifp.ops import (
    batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, log_softmax, normalize,
    rms_norm, softmax, softmin,
)  # fmt: skip

# pointwise
from minifp.ops import (
    celu, celu_, dropout, dropout1d, dropout2d, elu, elu_, gelu, glu, hardsigmoid, hardswish,
    hardtanh, hardtanh_, leaky_relu, leaky_relu_, logsigmoid, mish, prelu, relu, relu6, relu_, selu,
    selu_, sigmoid, silu, softplus, softsign, tanh, tanhshrink,
)  # fmt: skip

# pooling
from minifp.ops import (
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d, adaptive_max_pool2d, avg_pool1d,
    avg_pool2d, interpolate, max_pool1d, max_pool2d,
)  # fmt: skip

# products
from minifp.ops import linear, scaled_dot_product_attention

# recurrent
from minifp.ops import gru, lstm, rnn

# reductions
from minifp.ops import cosine_similarity, pairwise_distance

# shaping
from minifp.ops import embedding, one_hot, pad, pixel_shuffle, pixel_unshuffle

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "avg_pool1d", "avg_pool2d", "batch_norm", "batched_nms", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "box_area", "box_convert", "box_iou", "celu", "celu_",
    "clip_boxes_to_image", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d",
    "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_beam_search_decode",
    "ctc_greedy_decode", "ctc_loss", "decode_boxes", "dropout", "dropout1d", "dropout2d", "elu",
    "elu_", "embedding", "encode_boxes", "fold", "gelu", "generalized_box_iou",
    "generalized_box_iou_loss", "glu", "group_norm", "gru", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
    "leaky_relu", "leaky_relu_", "linear", "local_response_norm", "log_softmax", "logsigmoid",
    "lstm", "max_pool1d", "max_pool2d", "mish", "mse_loss", "nll_loss", "nms", "normalize",
    "one_hot", "pad", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu",
    "relu6", "relu_", "remove_small_boxes", "rms_norm", "rnn", "roi_align", "roi_pool", "row_conv",
    "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "sigmoid_focal_loss", "silu",
    "smooth_l1_loss", "softmax", "softmin", "softplus", "softsign", "tanh", "tanhshrink", "unfold",
]  # fmt: skip
# ---- written until here ----
