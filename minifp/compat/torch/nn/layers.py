"""torch.nn: layers of this face's own functions."""

from dataclasses import KW_ONLY
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.compat.torch.nn import composed as F
from minifp.nn import Parameter, initial, upsampling
from minifp.nn.checks import positive
from minifp.nn.function_layer import FunctionLayer
from minifp.nn.loss import _Loss
from minifp.nn.module import Module

__all__ = [
    "Bilinear", "ChannelShuffle", "GaussianNLLLoss", "Hardshrink", "HingeEmbeddingLoss",
    "LPPool1d", "LPPool2d", "MarginRankingLoss", "MaxUnpool1d", "MaxUnpool2d",
    "MultiLabelSoftMarginLoss", "PoissonNLLLoss", "SoftMarginLoss", "Softshrink", "Threshold",
    "TripletMarginLoss", "Upsample",
]  # fmt: skip


class Bilinear(Module):
    """x1 W x2 + b.   weight: (out, in1, in2)  bias: (out)."""

    def __init__(self, in1: int, in2: int, out_features: int, bias: bool = True) -> None:
        positive(in1_features=in1, in2_features=in2, out_features=out_features)
        bound = in1**-0.5
        self.weight = Parameter(initial.uniform((out_features, in1, in2), bound))
        self.bias = Parameter(initial.uniform((out_features,), bound)) if bias else None

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """x1 (..., in1), x2 (..., in2): the result is (..., out)."""
        return F.bilinear(input1, input2, self.weight, self.bias)


class ChannelShuffle(FunctionLayer, of=F.channel_shuffle):
    """Channels of the groups in turn."""

    groups: int


class Softshrink(FunctionLayer, of=F.softshrink):
    """x nearer to 0 by lambd."""

    lambd: float = 0.5


class Hardshrink(FunctionLayer, of=F.hardshrink):
    """x, and 0 where it is nearer to 0 than lambd."""

    lambd: float = 0.5


class Threshold(FunctionLayer, of=F.threshold):
    """x above the threshold, value elsewhere."""

    threshold: float
    value: float
    inplace: bool = False


class MaxUnpool1d(FunctionLayer, of=F.max_unpool1d):
    """max_unpool1d of what MaxPool1d found, and its indices."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0


class MaxUnpool2d(FunctionLayer, of=F.max_unpool2d):
    """max_unpool2d of what MaxPool2d found, and its indices."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0


class LPPool1d(FunctionLayer, of=F.lp_pool1d):
    """The p-norm of each window of (N, C, L)."""

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


class LPPool2d(FunctionLayer, of=F.lp_pool2d):
    """The p-norm of each window of (N, C, H, W)."""

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


class Upsample(upsampling.Upsample, of=F.interpolate):
    """Pictures, sequences and volumes in another size."""


class SoftMarginLoss(_Loss, of=F.soft_margin_loss):
    """F.soft_margin_loss."""

    _: KW_ONLY
    reduction: str = "mean"


class HingeEmbeddingLoss(_Loss, of=F.hinge_embedding_loss):
    """F.hinge_embedding_loss."""

    margin: float = 1.0
    _: KW_ONLY
    reduction: str = "mean"


class MarginRankingLoss(_Loss, of=F.margin_ranking_loss):
    """F.margin_ranking_loss."""

    margin: float = 0.0
    _: KW_ONLY
    reduction: str = "mean"


class TripletMarginLoss(_Loss, of=F.triplet_margin_loss):
    """F.triplet_margin_loss."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    _: KW_ONLY
    reduction: str = "mean"


class PoissonNLLLoss(_Loss, of=F.poisson_nll_loss):
    """F.poisson_nll_loss."""

    log_input: bool = True
    _: KW_ONLY
    eps: float = 1e-8
    reduction: str = "mean"


class GaussianNLLLoss(_Loss, of=F.gaussian_nll_loss):
    """F.gaussian_nll_loss."""

    _: KW_ONLY
    eps: float = 1e-6
    reduction: str = "mean"


class MultiLabelSoftMarginLoss(_Loss, of=F.multilabel_soft_margin_loss):
    """F.multilabel_soft_margin_loss."""

    weight: Tensor | None = None
    _: KW_ONLY
    reduction: str = "mean"
