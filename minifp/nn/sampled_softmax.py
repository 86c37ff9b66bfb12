"""Softmax over many classes, trained on a sample of them (Jean et al. 2015, arXiv:1412.2007; as
used by Jozefowicz et al. 2016, arXiv:1602.02410).

    s_j = w_j x + b_j - log E_j,   j: the target, and classes drawn for the whole batch
    L = -log softmax(s)_target

E_j is how often class j is expected among what is drawn, so that the expected gradient is about
that of the softmax over all classes. Classes are numbered by falling frequency and drawn from

    P(j) = log((j + 2) / (j + 1)) / log(V + 1)

without repetition: what is drawn again is drawn anew, and of T draws E_j = 1 - (1 - P(j))^T. A
class that is the target of a row does not count against it (its score there is -Inf).
"""

import math

import numpy as np

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.nn import initial
from minifp.nn.checks import class_numbers, positive, rows_of_features
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.runtime import random
from minifp.runtime.device import device_of

PURPOSE = "sampled softmax"


def log_uniform(classes: np.ndarray, n_classes: int) -> np.ndarray:
    """P of each of these classes, float64."""
    return np.log1p(1 / (np.asarray(classes, np.float64) + 1)) / math.log(n_classes + 1)


def drawn_classes(n_classes: int, count: int) -> tuple[np.ndarray, int]:
    """`count` different classes, (count) int64 in the order in which they were drawn, and how many
    draws it took."""
    found = np.empty(0, np.int64)
    chunk, tries = 2 * count, 0
    while True:
        u = (random.integers(0, 2**32, (chunk,), purpose=PURPOSE) + 0.5) / 2**32
        more = np.minimum(np.expm1(u * math.log(n_classes + 1)).astype(np.int64), n_classes - 1)
        both = np.concatenate([found, more])
        _, first = np.unique(both, return_index=True)
        first.sort()
        if len(first) >= count:
            return both[first[:count]], tries + int(first[count - 1]) - len(found) + 1
        found, tries = both[first], tries + chunk


class SampledSoftmaxLoss(Module):
    """The cross entropy of a linear layer over n_classes, in training over n_samples of them.

    Classes are numbered by falling frequency. weight: (n_classes, in_features), U(-a, a) with a =
    1 / sqrt(in_features), and bias (n_classes), zeros: those of a Linear over all classes; `weight`
    may be an embedding's (tied). In evaluation mode the loss is over all classes.

    Raises ArgumentError unless n_samples is less than n_classes.
    """

    def __init__(self, in_features: int, n_classes: int, n_samples: int, bias: bool = True) -> None:
        positive(in_features=in_features, n_classes=n_classes, n_samples=n_samples)
        if n_samples >= n_classes:
            raise ArgumentError(
                f"SampledSoftmaxLoss: n_samples={n_samples} of {n_classes} classes: expected fewer"
            )
        self.in_features, self.n_classes, self.n_samples = in_features, n_classes, n_samples
        bound = 1 / math.sqrt(in_features)
        self.weight = Parameter(initial.uniform((n_classes, in_features), bound))
        self.bias = Parameter(initial.zeros((n_classes,))) if bias else None

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean loss, in nats, float32: input (N, in_features), target (N) class numbers.

        Raises DTypeError, ShapeError or ArgumentError for targets that are no classes of the rows.
        """
        if not self.training:
            return F.cross_entropy(self.scores(input), target)
        samples, tries = drawn_classes(self.n_classes, self.n_samples)
        return self.loss_against(input, target, samples, tries)

    def loss_against(
        self, input: Tensor, target: Tensor, samples: np.ndarray, tries: int
    ) -> Tensor:
        """The loss where these classes (n_samples) came out of so many draws."""
        rows_of_features("SampledSoftmaxLoss", input, self.in_features)
        classes = class_numbers("SampledSoftmaxLoss", input, target, self.n_classes)
        place = device_of(input.array)
        log_odds = self._log_expected(np.concatenate([classes, samples]), tries)
        both = ops.tensor(np.concatenate([classes, samples]), device=place)
        w = F.embedding(both, self.weight)
        b = -ops.tensor(log_odds, device=place)
        if self.bias is not None:
            b = b + self.bias[both]
        n = len(classes)
        own = ops.unsqueeze(ops.einsum("np,np->n", input, w[:n]) + b[:n], 1)
        others = F.linear(input, w[n:], b[n:])
        hits = ops.tensor(classes[:, None] == samples, device=place)
        others = ops.where(hits, -math.inf, others)
        zeros = ops.zeros(n, dtype="int64", device=place)
        return F.cross_entropy(ops.cat([own, others], 1), zeros)

    def _log_expected(self, classes, tries):
        """log E of classes after so many draws, float32."""
        p = log_uniform(classes, self.n_classes)
        return np.log(-np.expm1(tries * np.log1p(-p))).astype(np.float32)

    def scores(self, input: Tensor) -> Tensor:
        """The scores of all classes, (..., n_classes)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        bias = "" if self.bias is not None else ", bias=False"
        return f"{self.in_features}, {self.n_classes}, {self.n_samples}{bias}"
