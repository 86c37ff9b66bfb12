"""A word language model of projected LSTMs over a very large vocabulary: (B, T) words -> (B, T,
words) scores (Jozefowicz et al. 2016, arXiv:1602.02410: "2-LAYER LSTM-8192-1024"), the bigLSTM of
Micikevicius et al. 2018 (arXiv:1710.03740, section 4.5)."""

from typing import Any

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice
from minifp.errors import ArgumentError

OUTPUTS = ("sampled", "adaptive", "full")
WORDS = 793_471  # of the One Billion Word Benchmark
SAMPLES = 8192
State = tuple[Tensor, Tensor]  # h (layers, B, projection) and c (layers, B, hidden)


class BigLSTM(nn.Module):
    """Embedding, two LSTM layers of 8,192 units projected to 1,024, and a softmax.

    words: of the vocabulary, numbered by falling frequency. projection: of each layer, and what the
    softmax reads. embedding: `projection` by default. output: which softmax is trained: over
    "sampled" classes (`samples` of them for a batch, see nn.SampledSoftmaxLoss), "adaptive" (with
    `cutoffs`, see nn.AdaptiveLogSoftmaxWithLoss), or "full". tied: whether the softmax's weights
    are the embedding's (Press and Wolf 2017, arXiv:1608.05859). dropout: of embeddings, between
    layers, and of what the softmax reads.

    Raises ArgumentError for tied weights of an adaptive softmax, or of another size.
    """

    def __init__(
        self,
        words: int = WORDS,
        hidden: int = 8192,
        projection: int = 1024,
        layers: int = 2,
        *,
        embedding: int | None = None,
        output: str = "sampled",
        samples: int = SAMPLES,
        cutoffs: tuple[int, ...] = (),
        tied: bool = False,
        dropout: float = 0.0,
    ) -> None:
        check_choice("BigLSTM: output", output, OUTPUTS)
        size = projection if embedding is None else embedding
        if tied and (output == "adaptive" or size != projection):
            raise ArgumentError(
                f"BigLSTM: tied=True with output={output!r}, embedding={size} and "
                f"projection={projection}: expected one size, and not an adaptive softmax"
            )
        self.embedding = nn.Embedding(words, size)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.dropout = nn.Dropout(dropout)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(size, hidden, layers, dropout=between, proj_size=projection)
        self.output, self.head = output, _head(output, projection, words, samples, cutoffs)
        if tied:
            self.head.weight = self.embedding.weight

    def features(self, codes: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """What the softmax reads, (B, T, projection), and the state after the last word.

        state: that before the first, zeros by default: a stream's is carried from batch to batch.
        """
        x = self.dropout(self.embedding(codes.transpose(0, 1)))
        h, state = self.lstm(x, state)
        return self.dropout(h).transpose(0, 1), state

    def forward(self, codes: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Scores of all words after each one, (B, T, words), or log-probabilities of an adaptive
        softmax; and the state after the last word."""
        h, state = self.features(codes, state)
        rows = h.reshape(-1, h.shape[-1])
        if self.output == "adaptive":
            scores = self.head.log_prob(rows)
        else:
            scores = self.head.scores(rows) if self.output == "sampled" else self.head(rows)
        return scores.reshape(*codes.shape, scores.shape[-1]), state

    def loss(
        self, codes: Tensor, targets: Tensor, state: State | None = None
    ) -> tuple[Tensor, State]:
        """The mean loss of what comes after each word, in nats, and the state after the last.

        codes, targets: (B, T). In evaluation mode it is over all words, whatever is trained.
        """
        h, state = self.features(codes, state)
        rows, classes = h.reshape(-1, h.shape[-1]), targets.reshape(-1)
        if self.output == "adaptive":
            return self.head(rows, classes).loss, state
        if self.output == "sampled":
            return self.head(rows, classes), state
        return nn.functional.cross_entropy(self.head(rows), classes), state


def _head(output, features, words, samples, cutoffs) -> Any:
    """The softmax's layer."""
    if output == "sampled":
        return nn.SampledSoftmaxLoss(features, words, samples)
    if output == "adaptive":
        return nn.AdaptiveLogSoftmaxWithLoss(features, words, cutoffs)
    return nn.Linear(features, words)
