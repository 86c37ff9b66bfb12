"""Losses as layers: `loss = nn.CrossEntropyLoss()`, then `loss(model(x), t)`, a float32 scalar.

Each is the function of the same name in minifp.nn.functional, which says what is expected and what
is raised. Weights are buffers: saved with the model, in the format in which they were given.
"""

from dataclasses import KW_ONLY
from typing import ClassVar

from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError
from minifp.nn import functional as F
from minifp.nn.function_layer import FunctionLayer
from minifp.nn.parameter import Buffer
from minifp.ops.losses.loss import REDUCTIONS, check_reduction
from minifp.runtime.device import is_array_like


class _Loss(FunctionLayer):
    """reduction: "mean", "sum" or "none". Weights are tensors, of which it has copies, or None."""

    shown = ()
    reduction: str
    reductions: ClassVar[tuple[str, ...]] = REDUCTIONS

    def __post_init__(self) -> None:
        layer = type(self).__name__
        check_reduction(layer, self.reduction, self.reductions)
        for name in {"weight", "pos_weight"}.intersection(self.settings):
            weight = self.__dict__.pop(name)
            if weight is not None and not is_array_like(weight):
                what = type(weight).__name__
                raise DTypeError(f"{layer}: {name} is a {what}: expected a tensor")
            if weight is not None:
                array = weight.array if isinstance(weight, Tensor) else weight
                weight = Buffer(array.copy())
            setattr(self, name, weight)


class CrossEntropyLoss(_Loss, of=F.cross_entropy):
    """Softmax cross entropy of logits (N, C, ...) with class numbers, or class probabilities.

    weight: of each class, (C), a buffer.
    """

    weight: Tensor | None = None
    _: KW_ONLY
    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0


class NLLLoss(_Loss, of=F.nll_loss):
    """Negative log-likelihood of log-probabilities (N, C, ...) with class numbers.

    weight: of each class, (C), a buffer.
    """

    weight: Tensor | None = None
    _: KW_ONLY
    ignore_index: int = -100
    reduction: str = "mean"


class MSELoss(_Loss, of=F.mse_loss):
    """Squared differences."""

    _: KW_ONLY
    reduction: str = "mean"


class L1Loss(_Loss, of=F.l1_loss):
    """Absolute differences."""

    _: KW_ONLY
    reduction: str = "mean"


class SmoothL1Loss(_Loss, of=F.smooth_l1_loss):
    """Squared differences (over 2 beta) below `beta`, absolute ones (less beta / 2) above."""

    _: KW_ONLY
    reduction: str = "mean"
    beta: float = 1.0


class HuberLoss(_Loss, of=F.huber_loss):
    """Half the squared differences up to `delta`, delta (|d| - delta / 2) above."""

    reduction: str = "mean"
    delta: float = 1.0


class BCEWithLogitsLoss(_Loss, of=F.binary_cross_entropy_with_logits):
    """Binary cross entropy of logits with targets between 0 and 1.

    weight, pos_weight: of elements and of positive targets, buffers.
    """

    weight: Tensor | None = None
    _: KW_ONLY
    reduction: str = "mean"
    pos_weight: Tensor | None = None


class BCELoss(_Loss, of=F.binary_cross_entropy):
    """Binary cross entropy of probabilities. In float16 use BCEWithLogitsLoss instead.

    weight: of elements, a buffer.
    """

    weight: Tensor | None = None
    _: KW_ONLY
    reduction: str = "mean"


class KLDivLoss(_Loss, of=F.kl_div):
    """Divergence of log-probabilities from probabilities (or from logarithms, log_target).

    reduction: also "batchmean", which is the divergence as it is defined.
    """

    reductions = ("batchmean", *REDUCTIONS)
    _: KW_ONLY
    reduction: str = "mean"
    log_target: bool = False


class CosineEmbeddingLoss(_Loss, of=F.cosine_embedding_loss):
    """1 - cosine of pairs whose target is 1; the cosine above `margin` of those with -1."""

    margin: float = 0.0
    _: KW_ONLY
    reduction: str = "mean"


class CTCLoss(_Loss, of=F.ctc_loss):
    """Connectionist temporal classification: labels whose places in the input are not known."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False


class CosineSimilarity(FunctionLayer, of=F.cosine_similarity):
    """The cosine of the angle between two tensors along `dim`."""

    shown = ()
    dim: int = 1
    eps: float = 1e-8


class PairwiseDistance(FunctionLayer, of=F.pairwise_distance):
    """The p-norm of x1 - x2 + eps along the last axis."""

    shown = ()
    p: float = 2.0
    eps: float = 1e-6
    keepdim: bool = False
