"""Layers and the Module they are made of, by PyTorch's names."""

# ruff: noqa: I001 (a kind may have several lines)

from minifp.nn import detection, functional, init, utils
from minifp.nn.activation import CELU, ELU, GELU, GLU, SELU, Hardsigmoid, Hardswish, Hardtanh
from minifp.nn.activation import LeakyReLU, LogSigmoid, LogSoftmax, Mish, PReLU, ReLU, ReLU6
from minifp.nn.activation import Sigmoid, SiLU, Softmax, Softmax2d, Softmin, Softplus, Softsign
from minifp.nn.activation import Tanh, Tanhshrink
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
from minifp.nn.lazy import LazyBatchNorm1d, LazyBatchNorm2d, LazyConv1d, LazyConv2d
from minifp.nn.lazy import LazyConvTranspose1d, LazyConvTranspose2d, LazyInstanceNorm1d
from minifp.nn.lazy import LazyInstanceNorm2d, LazyLinear
from minifp.nn.linear import Flatten, Identity, Linear, Unflatten
from minifp.nn.loss import BCELoss, BCEWithLogitsLoss, CosineEmbeddingLoss, CosineSimilarity
from minifp.nn.loss import CrossEntropyLoss, CTCLoss, HuberLoss, KLDivLoss, L1Loss, MSELoss
from minifp.nn.loss import NLLLoss, PairwiseDistance, SmoothL1Loss
from minifp.nn.module import Module
from minifp.nn.normalization import BatchNorm1d, BatchNorm2d, GroupNorm, InstanceNorm1d
from minifp.nn.normalization import InstanceNorm2d, LayerNorm, LocalResponseNorm, RMSNorm
from minifp.nn.padding import CircularPad1d, CircularPad2d, ConstantPad1d, ConstantPad2d
from minifp.nn.padding import ReflectionPad1d, ReflectionPad2d, ReplicationPad1d, ReplicationPad2d
from minifp.nn.padding import ZeroPad1d, ZeroPad2d
from minifp.nn.parameter import Buffer, Parameter, UninitializedParameter
from minifp.nn.parameter_container import ParameterDict, ParameterList
from minifp.nn.pooling import AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool1d
from minifp.nn.pooling import AdaptiveMaxPool2d, AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d
from minifp.nn.recurrent import GRU, LSTM, RNN
from minifp.nn.refused import LAYERS as _refused
from minifp.nn.rnn_base import RNNBase
from minifp.nn.sampled_softmax import SampledSoftmaxLoss
from minifp.nn.sequences import RowConv, SequenceBatchNorm
from minifp.nn.transformer import Transformer, TransformerDecoder, TransformerDecoderLayer
from minifp.nn.transformer import TransformerEncoder, TransformerEncoderLayer
from minifp.nn.upsampling import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

globals().update(_refused)  # names that refuse when they are made

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveLogSoftmaxWithLoss"]
__all__ += ["AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AvgPool1d", "AvgPool2d", "BCELoss"]
__all__ += ["BCEWithLogitsLoss", "BahdanauAttention", "BatchNorm1d", "BatchNorm2d", "Buffer"]
__all__ += ["CELU", "CTCLoss", "CircularPad1d", "CircularPad2d", "ConstantPad1d", "ConstantPad2d"]
__all__ += ["Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d", "CosineEmbeddingLoss"]
__all__ += ["CosineSimilarity", "CrossEntropyLoss", "Dropout", "Dropout1d", "Dropout2d", "ELU"]
__all__ += ["Embedding", "Flatten", "Fold", "GELU", "GLU", "GRU", "GRUCell", "GroupNorm"]
__all__ += ["Hardsigmoid", "Hardswish", "Hardtanh", "HuberLoss", "Identity", "InstanceNorm1d"]
__all__ += ["InstanceNorm2d", "KLDivLoss", "L1Loss", "LSTM", "LSTMCell", "LayerNorm"]
__all__ += ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyConv1d", "LazyConv2d"]
__all__ += ["LazyConvTranspose1d", "LazyConvTranspose2d", "LazyInstanceNorm1d"]
__all__ += ["LazyInstanceNorm2d", "LazyLinear", "LeakyReLU", "Linear", "LocalResponseNorm"]
__all__ += ["LogSigmoid", "LogSoftmax", "LuongAttention", "MSELoss", "MaxPool1d", "MaxPool2d"]
__all__ += ["Mish", "Module", "ModuleDict", "ModuleList", "MultiheadAttention", "NLLLoss", "PReLU"]
__all__ += ["PairwiseDistance", "Parameter", "ParameterDict", "ParameterList", "PixelShuffle"]
__all__ += ["PixelUnshuffle", "RMSNorm", "RNN", "RNNBase", "RNNCell", "ReLU", "ReLU6"]
__all__ += ["ReflectionPad1d", "ReflectionPad2d", "ReplicationPad1d", "ReplicationPad2d"]
__all__ += ["RoIAlign", "RoIPool", "RowConv", "SELU", "SampledSoftmaxLoss", "SequenceBatchNorm"]
__all__ += ["Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax", "Softmax2d", "Softmin"]
__all__ += ["Softplus", "Softsign", "Tanh", "Tanhshrink", "Transformer", "TransformerDecoder"]
__all__ += ["TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]
__all__ += ["Unflatten", "Unfold", "UninitializedParameter", "Upsample", "UpsamplingBilinear2d"]
__all__ += ["UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "detection", "functional", "init"]
__all__ += ["utils"]
