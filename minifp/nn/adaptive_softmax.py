"""A softmax over many classes, of which rare ones lie in clusters (Grave et al. 2017,
arXiv:1609.04309)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.nn.checks import class_numbers, positive, rows_of_features
from minifp.nn.container import ModuleList, Sequential
from minifp.nn.linear import Linear
from minifp.nn.module import Module
from minifp.runtime.device import device_of


class ASMoutput(NamedTuple):
    """output: the log-probability of each target, (N). loss: the mean of -output, float32."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """log softmax over n_classes in two steps: a head, and clusters of rare classes.

    cutoffs: where clusters begin, rising integers below n_classes. Classes are numbered by falling
    frequency: 0 to cutoffs[0] - 1 are in the head, beside an entry for each cluster; cluster i has
    those from cutoffs[i] to the next one, and its inputs are narrowed to in_features // div_value
    ** (i + 1) first. Only rows of a cluster compute it. head_bias: whether the head has a bias.

    Parameters head.weight, (head.bias), and tail.i.0.weight, tail.i.1.weight of each cluster, as in
    PyTorch. Raises ArgumentError for cutoffs or a div_value that cannot be.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
    ) -> None:
        positive(in_features=in_features, n_classes=n_classes)
        self.cutoffs = _checked(cutoffs, n_classes)
        self.in_features, self.n_classes, self.div_value = in_features, n_classes, div_value
        clusters = len(self.cutoffs) - 1
        self.head = Linear(in_features, self.cutoffs[0] + clusters, bias=head_bias)
        sizes = [_narrowed(in_features, div_value, i) for i in range(clusters)]
        self.tail = ModuleList(
            Sequential(Linear(in_features, n, bias=False), Linear(n, high - low, bias=False))
            for n, low, high in zip(sizes, self.cutoffs, self.cutoffs[1:])
        )

    def forward(self, input: Tensor, target: Tensor) -> ASMoutput:
        """(output (N), loss) for input (N, in_features) and target (N), or without N.

        Raises DTypeError, ShapeError or ArgumentError for targets that are no classes of the rows.
        """
        name = type(self).__name__
        rows_of_features(name, input, self.in_features, dims=(1, 2))
        classes = class_numbers(name, input, target, self.n_classes)
        if input.ndim == 1:
            output, loss = self.forward(ops.unsqueeze(input, 0), Tensor(classes[None]))
            return ASMoutput(ops.squeeze(output, 0), loss)
        which = np.searchsorted(self.cutoffs[:-1], classes, side="right")
        in_head = np.where(which == 0, classes, self.cutoffs[0] + which - 1)
        logits = self.head(input)
        output, loss = _log_probability(logits, in_head)
        rest, order = [], []
        for i, (module, low) in enumerate(zip(self.tail, self.cutoffs)):
            rows = np.flatnonzero(which == i + 1)
            if len(rows):
                there, more = _log_probability(module(input[rows]), classes[rows] - low)
                rest.append(there)
                order.append(rows)
                loss = loss + more
        if rest:
            output = output + _placed(rest, order, len(classes))
        return ASMoutput(output, loss / max(len(classes), 1))

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, (N, n_classes), for input (N, in_features)."""
        head = F.log_softmax(self.head(input), 1)
        first = self.cutoffs[0]
        parts = [head[:, :first]]
        for i, module in enumerate(self.tail):
            parts.append(F.log_softmax(module(input), 1) + head[:, first + i : first + i + 1])
        return ops.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row, (N) integers, as PyTorch takes it: of the head's own
        classes where one of them has its highest score, else of all."""
        best = ops.argmax(self.head(input), 1).numpy().copy()
        rows = np.flatnonzero(best >= self.cutoffs[0])
        if len(rows):
            best[rows] = ops.argmax(self.log_prob(input[rows]), 1).numpy()
        return ops.tensor(best, device=device_of(input.array))

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.n_classes}, cutoffs={self.cutoffs[:-1]}"


def _checked(cutoffs, classes):
    """The cutoffs, and the number of classes behind them."""
    cuts = list(cutoffs)
    whole = all(isinstance(c, (int, np.integer)) and not isinstance(c, bool) for c in cuts)
    rising = whole and all(a < b for a, b in zip([0, *cuts], [*cuts, classes]))
    if not cuts or not rising:
        raise ArgumentError(
            f"AdaptiveLogSoftmaxWithLoss: cutoffs={cutoffs!r}: expected rising integers from 1 to "
            f"{classes - 1}"
        )
    return [*map(int, cuts), classes]


def _narrowed(features, div_value, i):
    """How wide the inputs of cluster i are."""
    size = int(features // div_value ** (i + 1)) if div_value > 0 else 0
    if size < 1:
        raise ArgumentError(
            f"AdaptiveLogSoftmaxWithLoss: div_value={div_value!r} leaves none of the {features} "
            f"inputs for cluster {i}: expected a smaller div_value, or fewer cutoffs"
        )
    return size


def _log_probability(logits, classes):
    """(log-probability of each row's class (N), minus their sum in float32): the latter is what is
    trained, so that no gradient depends on how the former are rounded."""
    classes = ops.tensor(classes, device=device_of(logits.array))
    each = F.cross_entropy(logits, classes, reduction="none")
    return -each, F.cross_entropy(logits, classes, reduction="sum")


def _placed(parts, rows, count):
    """Numbers of some rows each as those of all (count), 0 elsewhere."""
    joined, at = ops.cat(parts), np.concatenate(rows)
    if len(at) < count:
        joined = ops.cat([joined, ops.zeros_like(joined[:1])])
    order = np.full(count, len(at))
    order[at] = np.arange(len(at))
    return joined[order]
