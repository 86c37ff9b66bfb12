"""Layers of sequences of different lengths that are not recurrent: padding never counts in them."""

import math
from collections.abc import Sequence

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.nn import initial
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.normalization import BatchNorm1d
from minifp.nn.parameter import Parameter
from minifp.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

Lengths = Tensor | np.ndarray | Sequence[int] | None


class SequenceBatchNorm(BatchNorm1d):
    """Batch normalisation whose statistics are those of all steps of all sequences of a batch.

    Amodei et al. 2015 (arXiv:1512.02595, section 3.2): "sequence-wise". Padding is no part of them.
    Arguments, parameters and running statistics are those of BatchNorm1d.
    """

    def forward(  # type: ignore[override]
        self, input: Tensor | PackedSequence, lengths: Lengths = None
    ) -> Tensor | PackedSequence:
        """A PackedSequence of rows (C) or (C, L), or a padded batch (T, B, C) or (T, B, C, L).

        lengths: B integers, the steps of each sequence of a padded batch; None where all have T.
        The result has the input's form; it is 0 in the padding. Raises ArgumentError for other
        shapes, and for lengths that do not fit.
        """
        packed = as_packed(self, input, lengths)
        y = packed._replace(data=super().forward(packed.data))
        return as_given(y, input)


class RowConv(Module):
    """Row convolution: each feature's weighted sum over its own step and the next `context` ones.

    Amodei et al. 2015 (arXiv:1512.02595, section 3.7), where context is tau. weight:
    (features, context + 1), U(-1/sqrt(n), 1/sqrt(n)) with n = context + 1. For layers that may not
    wait for the end of a sequence, as those of two directions must.
    """

    def __init__(self, features: int, context: int) -> None:
        positive(features=features)
        self.features, self.context = features, check_count("RowConv: context", context, least=0)
        steps = context + 1
        self.weight = Parameter(initial.uniform((features, steps), 1 / math.sqrt(steps)))

    def forward(
        self, input: Tensor | PackedSequence, lengths: Lengths = None
    ) -> Tensor | PackedSequence:
        """A PackedSequence of rows (features), or a padded batch (T, B, features).

        lengths: B integers, the steps of each sequence of a padded batch; None where all have T.
        Behind a sequence's last step there are zeros, whatever the padding holds. The result has
        the input's form. Raises ArgumentError for lengths that do not fit.
        """
        packed = as_packed(self, input, lengths)
        padded, steps = pad_packed_sequence(packed)
        y = F.row_conv(padded, self.weight)
        return as_given(repacked(y, steps, packed), input)

    def extra_repr(self) -> str:
        return f"{self.features}, context={self.context}"


def as_packed(layer, input, lengths) -> PackedSequence:
    """The sequences without padding. Raises ArgumentError for lengths of a PackedSequence."""
    if not isinstance(input, PackedSequence):
        if lengths is None:
            lengths = [input.shape[0]] * input.shape[1] if getattr(input, "ndim", 0) > 1 else []
        return pack_padded_sequence(input, lengths, enforce_sorted=False)
    if lengths is not None:
        raise ArgumentError(
            f"{layer!r}: lengths={lengths!r} of a PackedSequence, which has its own"
        )
    return input


def as_given(packed: PackedSequence, input) -> Tensor | PackedSequence:
    """A result in the form of the input: a PackedSequence, or padded to as many steps."""
    if isinstance(input, PackedSequence):
        return packed
    return pad_packed_sequence(packed, total_length=input.shape[0])[0]


def repacked(padded: Tensor, lengths: Tensor, like: PackedSequence) -> PackedSequence:
    """A padded batch packed in the order of another PackedSequence."""
    packed = pack_padded_sequence(padded, lengths, enforce_sorted=False)
    if like.sorted_indices is None:
        return packed._replace(sorted_indices=None, unsorted_indices=None)
    return packed
