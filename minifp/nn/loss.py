"""Losses as layers: `loss = nn.CrossEntropyLoss()`, then `loss(model(x), t)`, a float32 scalar.

Each is the function of the same name in minifp.nn.functional, which says what is expected and what
is raised. Weights are buffers: saved with the model, in the format in which they were given.
"""

from collections.abc import Sequence

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError
from minifp.nn import functional as F
from minifp.nn.module import Module
from minifp.nn.parameter import Buffer
from minifp.ops.losses.loss import REDUCTIONS, check_reduction


def _buffer(name, weight):
    if weight is None:
        return None
    if not hasattr(weight, "ndim"):
        raise DTypeError(f"{name} is a {type(weight).__name__}: expected a tensor")
    return Buffer((weight.array if isinstance(weight, Tensor) else weight).copy())


class _Loss(Module):
    """reduction: "mean", "sum" or "none"."""

    reductions: tuple[str, ...] = REDUCTIONS

    def __init__(self, reduction: str) -> None:
        check_reduction(type(self).__name__, reduction, self.reductions)
        self.reduction = reduction


class CrossEntropyLoss(_Loss):
    """Softmax cross entropy of logits (N, C, ...) with class numbers, or class probabilities.

    weight: of each class, (C), a buffer.
    """

    def __init__(
        self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(reduction)
        self.weight = _buffer("CrossEntropyLoss: weight", weight)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            *(input, target, self.weight),
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(_Loss):
    """Negative log-likelihood of log-probabilities (N, C, ...) with class numbers.

    weight: of each class, (C), a buffer.
    """

    def __init__(
        self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = _buffer("NLLLoss: weight", weight), ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class MSELoss(_Loss):
    """Squared differences."""

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Absolute differences."""

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared differences (over 2 beta) below `beta`, absolute ones (less beta / 2) above."""

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half the squared differences up to `delta`, delta (|d| - delta / 2) above."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, self.reduction, self.delta)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of logits with targets between 0 and 1.

    weight, pos_weight: of elements and of positive targets, buffers.
    """

    def __init__(
        self, weight: Tensor | None = None, *, reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reduction)
        self.weight = _buffer("BCEWithLogitsLoss: weight", weight)
        self.pos_weight = _buffer("BCEWithLogitsLoss: pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        settings = {"reduction": self.reduction, "pos_weight": self.pos_weight}
        return F.binary_cross_entropy_with_logits(input, target, self.weight, **settings)


class BCELoss(_Loss):
    """Binary cross entropy of probabilities. In float16 use BCEWithLogitsLoss instead.

    weight: of elements, a buffer.
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = _buffer("BCELoss: weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class KLDivLoss(_Loss):
    """Divergence of log-probabilities from probabilities (or from logarithms, log_target).

    reduction: also "batchmean", which is the divergence as it is defined.
    """

    reductions = ("batchmean", *REDUCTIONS)

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class CosineEmbeddingLoss(_Loss):
    """1 - cosine of pairs whose target is 1; the cosine above `margin` of those with -1."""

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        settings = {"reduction": self.reduction}
        return F.cosine_embedding_loss(input1, input2, target, self.margin, **settings)


class CTCLoss(_Loss):
    """Connectionist temporal classification: labels whose places in the input are not known."""

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor | np.ndarray,
        input_lengths: Tensor | np.ndarray | Sequence[int] | int,
        target_lengths: Tensor | np.ndarray | Sequence[int] | int,
    ) -> Tensor:  # fmt: skip
        settings = self.blank, self.reduction, self.zero_infinity
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, *settings)


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along `dim`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last axis."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)
