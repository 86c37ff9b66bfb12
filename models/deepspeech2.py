"""Deep Speech 2 (Amodei et al. 2015, arXiv:1512.02595): features (N, T, F) -> logits (T', N, C).

Two convolutions over time and frequency, GRU layers, and behind layers of one direction a row
convolution that looks ahead; then a fully connected layer, and the scores of characters, of which
class 0 is the blank of CTC. All normalised over the steps that there are; the activation is
min(max(x, 0), 20).

The sizes. 1512.02595 names for its deployed English network 3 GRU layers of 2,560 in one direction
behind 2 convolutions, and a context of 80 (section 7); table 2 has the convolutions (32 channels
each, 41 x 11 and 21 x 11 of frequency by time, strides 2 x 2 and 2 x 1). Micikevicius et al. 2018
(arXiv:1710.03740, section 4.3) name for English 2 convolutions, 3 GRU layers, 1 row convolution and
about 115 million parameters, for Mandarin "a similar architecture" with 215 million, and no widths.
With 2,560 these layers have 109 million; with one fully connected layer of as many units, which
1512.02595 has in section 3.1, 115.5. So it is in both here; Mandarin's width is then what makes 215
million with some 6,000 characters: 3,368.

Two things differ from 1512.02595: a GRU layer's input is normalised, instead of its product with
the weights, so that a layer stays one kernel; and of two directions the outputs are added up as
there, each of `hidden` units.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError, ShapeError
from minifp.nn import functional as F
from minifp.nn.utils import rnn
from minifp.ops import tensor

HIGHEST = 20.0  # of the activation
Pair = tuple[int, int]


def clipped(x: Tensor) -> Tensor:
    """min(max(x, 0), 20), section 3.1."""
    return F.hardtanh(x, 0.0, HIGHEST)


class SpeechConv(nn.Module):
    """A convolution of (N, C, T, F), normalised over the frames that there are, and clipped.

    Its result is a PackedSequence of rows (C', F'): frames behind an utterance's end are gone.
    """

    def __init__(self, inputs: int, outputs: int, kernel: Pair, stride: Pair) -> None:
        padding = kernel[0] // 2, kernel[1] // 2
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=padding, bias=False)
        self.bn = nn.SequenceBatchNorm(outputs)

    def sizes(self, axis: int, sizes):
        """How many frames (axis 0) or frequencies (1) the results of so many have."""
        k, p, s = (
            pair[axis] for pair in (self.conv.kernel_size, self.conv.padding, self.conv.stride)
        )
        return (sizes + 2 * p - k) // s + 1

    def forward(self, x: Tensor, lengths: np.ndarray) -> rnn.PackedSequence:
        steps = self.conv(x).permute(2, 0, 1, 3)
        packed = rnn.pack_padded_sequence(steps, self.sizes(0, lengths), enforce_sorted=False)
        packed = self.bn(packed)
        return packed._replace(data=clipped(packed.data))


class SpeechGRU(nn.Module):
    """A GRU layer of a normalised input; of two directions the outputs are added up."""

    def __init__(self, inputs: int, hidden: int, bidirectional: bool) -> None:
        self.bn = nn.SequenceBatchNorm(inputs)
        self.gru = nn.GRU(inputs, hidden, bidirectional=bidirectional)

    def forward(self, x: rnn.PackedSequence) -> rnn.PackedSequence:
        y, _ = self.gru(self.bn(x))
        if not self.gru.bidirectional:
            return y
        forward, backward = y.data.chunk(2, -1)
        return y._replace(data=forward + backward)


class DeepSpeech2(nn.Module):
    """The English network: 115.5 million parameters with its defaults.

    classes: characters and the blank. features: F, frequencies or bands of a frame. context: steps
    that the row convolution looks ahead; there is none where bidirectional. fully_connected: its
    units, `hidden` by default. channels, kernels, strides: of the convolutions, each (time,
    frequency); their padding is half of the kernel. dropout: in training, before each GRU layer but
    the first, and before the fully connected layer. Raises ArgumentError for sizes that cannot be.
    """

    def __init__(
        self,
        classes: int = 29,
        features: int = 161,
        hidden: int = 2560,
        layers: int = 3,
        bidirectional: bool = False,
        *,
        context: int = 80,
        fully_connected: int | None = None,
        channels: Sequence[int] = (32, 32),
        kernels: Sequence[Pair] = ((11, 41), (11, 21)),
        strides: Sequence[Pair] = ((2, 2), (1, 2)),
        dropout: float = 0.0,
    ) -> None:
        check_count("DeepSpeech2: layers", layers)
        if not len(channels) == len(kernels) == len(strides) > 0:
            raise ArgumentError(
                f"DeepSpeech2: {len(channels)} channels, {len(kernels)} kernels, {len(strides)} "
                "strides: expected one of each for each convolution"
            )
        inputs, width, self.features = 1, features, features
        convs = []
        for outputs, kernel, stride in zip(channels, kernels, strides):
            convs.append(SpeechConv(inputs, outputs, kernel, stride))
            inputs, width = outputs, convs[-1].sizes(1, width)
        self.convs = nn.ModuleList(convs)
        sizes = [inputs * width] + [hidden] * (layers - 1)
        self.grus = nn.ModuleList([SpeechGRU(size, hidden, bidirectional) for size in sizes])
        self.dropout = nn.Dropout(dropout)
        self.row_conv = None if bidirectional else nn.RowConv(hidden, context)
        units = hidden if fully_connected is None else fully_connected
        self.bn = nn.SequenceBatchNorm(hidden)
        self.fc = nn.Linear(hidden, units)
        self.head = nn.Linear(units, classes)

    def forward(
        self, x: Tensor, lengths: Tensor | np.ndarray | Sequence[int] | None = None
    ) -> tuple[Tensor, Tensor]:
        """(logits (T', N, classes), their lengths (N)) of features x (N, T, F).

        lengths: of each utterance, N integers from 1 to T; None where all have T. What x holds
        behind an utterance's end is not read, and logits are 0 there. Raises ShapeError for another
        number of features, and as `pack_padded_sequence` does for other lengths.
        """
        if getattr(x, "ndim", 0) != 3 or x.shape[2] != self.features:
            raise ShapeError(
                f"DeepSpeech2 on a tensor of shape {getattr(x, 'shape', ())}: expected "
                f"(N, T, {self.features})"
            )
        if lengths is None:
            steps = np.full(len(x), x.shape[1])
        else:
            steps = rnn.as_lengths("DeepSpeech2", lengths, *x.shape[:2])
            behind = np.arange(x.shape[1]) >= steps[:, None, None]
            x = x.masked_fill(tensor(behind.swapaxes(1, 2), device=x.device), 0.0)
        y = self.convolved(x.unsqueeze(1), steps)
        for i, gru in enumerate(self.grus):
            y = gru(y._replace(data=self.dropout(y.data)) if i else y)
        if self.row_conv is not None:
            y = self.row_conv(y)
            y = y._replace(data=clipped(y.data))
        hidden = self.dropout(self.bn(y).data)
        return rnn.pad_packed_sequence(y._replace(data=self.head(clipped(self.fc(hidden)))))

    def convolved(self, x: Tensor, lengths: np.ndarray) -> rnn.PackedSequence:
        """What the convolutions make of (N, 1, T, F): rows (C F')."""
        convs: list[Any] = list(self.convs)
        first, *others = convs
        packed = first(x, lengths)
        for before, conv in zip(convs, others):
            lengths = before.sizes(0, lengths)
            steps, _ = rnn.pad_packed_sequence(packed)
            packed = conv(steps.permute(1, 2, 0, 3), lengths)
        return packed._replace(data=packed.data.flatten(1))


class DeepSpeech2Mandarin(DeepSpeech2):
    """The Mandarin network: 215 million parameters with its defaults."""

    def __init__(self, classes: int = 6000, hidden: int = 3368, **sizes) -> None:
        super().__init__(classes, hidden=hidden, **sizes)
