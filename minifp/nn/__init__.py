"""Layers and the Module they are made of, by PyTorch's names."""

from minifp.nn import detection, functional, init, utils
from minifp.nn.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softsign,
    Tanh,
    Tanhshrink,
)
from minifp.nn.adaptive_softmax import AdaptiveLogSoftmaxWithLoss
from minifp.nn.alignment import BahdanauAttention, LuongAttention
from minifp.nn.attention import MultiheadAttention
from minifp.nn.cells import GRUCell, LSTMCell, RNNCell
from minifp.nn.container import ModuleDict, ModuleList, Sequential
from minifp.nn.conv import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d
from minifp.nn.detection import RoIAlign, RoIPool
from minifp.nn.dropout import Dropout, Dropout1d, Dropout2d
from minifp.nn.embedding import Embedding
from minifp.nn.folding import Fold, PixelShuffle, PixelUnshuffle, Unfold
from minifp.nn.lazy import (
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyConv1d,
    LazyConv2d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyInstanceNorm1d,
    LazyInstanceNorm2d,
    LazyLinear,
)
from minifp.nn.linear import Flatten, Identity, Linear, Unflatten
from minifp.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    CTCLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    PairwiseDistance,
    SmoothL1Loss,
)
from minifp.nn.module import Module
from minifp.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)
from minifp.nn.padding import (
    CircularPad1d,
    CircularPad2d,
    ConstantPad1d,
    ConstantPad2d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReplicationPad1d,
    ReplicationPad2d,
    ZeroPad1d,
    ZeroPad2d,
)
from minifp.nn.parameter import Buffer, Parameter, UninitializedParameter
from minifp.nn.parameter_container import ParameterDict, ParameterList
from minifp.nn.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AvgPool1d,
    AvgPool2d,
    MaxPool1d,
    MaxPool2d,
)
from minifp.nn.recurrent import GRU, LSTM, RNN
from minifp.nn.refused import LAYERS as _refused
from minifp.nn.rnn_base import RNNBase
from minifp.nn.sampled_softmax import SampledSoftmaxLoss
from minifp.nn.sequences import RowConv, SequenceBatchNorm
from minifp.nn.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from minifp.nn.upsampling import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

globals().update(_refused)  # names that refuse when they are made

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveLogSoftmaxWithLoss", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AvgPool1d", "AvgPool2d", "BCELoss", "BCEWithLogitsLoss",
    "BahdanauAttention", "BatchNorm1d", "BatchNorm2d", "Buffer", "CELU", "CTCLoss", "CircularPad1d",
    "CircularPad2d", "ConstantPad1d", "ConstantPad2d", "Conv1d", "Conv2d", "ConvTranspose1d",
    "ConvTranspose2d", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "Dropout",
    "Dropout1d", "Dropout2d", "ELU", "Embedding", "Flatten", "Fold", "GELU", "GLU", "GRU",
    "GRUCell", "GroupNorm", "Hardsigmoid", "Hardswish", "Hardtanh", "HuberLoss", "Identity",
    "InstanceNorm1d", "InstanceNorm2d", "KLDivLoss", "L1Loss", "LSTM", "LSTMCell", "LayerNorm",
    "LeakyReLU", "Linear", "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "LuongAttention",
    "MSELoss", "MaxPool1d", "MaxPool2d", "Mish", "Module", "ModuleDict", "ModuleList",
    "MultiheadAttention", "NLLLoss", "PReLU", "PairwiseDistance", "Parameter", "ParameterDict",
    "ParameterList", "PixelShuffle", "PixelUnshuffle", "RMSNorm", "RNN", "RNNCell", "ReLU", "ReLU6",
    "ReflectionPad1d", "ReflectionPad2d", "ReplicationPad1d", "ReplicationPad2d", "RoIAlign",
    "RoIPool", "RowConv", "SELU", "SampledSoftmaxLoss", "SequenceBatchNorm", "Sequential", "SiLU",
    "Sigmoid", "SmoothL1Loss", "Softmax", "Softmin", "Softplus", "Softsign", "Tanh", "Tanhshrink",
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer", "Unflatten", "Unfold", "Upsample", "UpsamplingBilinear2d",
    "UpsamplingNearest2d", "ZeroPad1d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyConv1d",
    "LazyConv2d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyInstanceNorm1d",
    "LazyInstanceNorm2d", "LazyLinear", "RNNBase", "Softmax2d", "UninitializedParameter",
    "ZeroPad2d", "detection", "functional", "init", "utils",
]  # fmt: skip
