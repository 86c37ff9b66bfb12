"""Translation by two stacks of LSTMs with attention: (B, S) and (B, T) codes -> (B, T, words).

The encoder-decoder of Sutskever, Vinyals and Le 2014 (arXiv:1409.3215) with the attention and input
feeding of Luong, Pham and Manning 2015 (arXiv:1508.04025, sections 3.1 and 3.3). With 3 or 5 layers
of 1,024 units it is the network of Micikevicius et al. 2018 (arXiv:1710.03740, section 4.4), which
had 100,000 English and 40,000 French words.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from minifp.models.beam_search import Hypothesis, Settings, beam_search, check_settings

from minifp import nn
from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice
from minifp.nn import functional as F
from minifp.nn.utils.rnn import as_lengths
from minifp.ops import cat, stack, tensor, zeros
from minifp.runtime.device import moved, placed

ATTENTION = ("luong", "bahdanau")
FIRST = 0.1  # the largest weight to begin with


class Encoder(nn.Module):
    """Embedding and LSTM layers: codes (B, S) -> outputs (B, S, H), and the last (h, c)."""

    def __init__(
        self, words: int, embedding: int, hidden: int, layers: int, dropout: float
    ) -> None:
        self.embedding = nn.Embedding(words, embedding)
        self.dropout = nn.Dropout(dropout)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(embedding, hidden, layers, batch_first=True, dropout=between)

    def forward(self, codes: Tensor, lengths: Any) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        return self.lstm(self.dropout(self.embedding(codes)), lengths=lengths)


class Decoder(nn.Module):
    """LSTM cells that look at what the encoder has read.

    Of each step the top cell's state h and the context c become a = tanh(W [c, h]), from which the
    words' scores are; with input feeding the next step's input is [embedding, a].
    """

    def __init__(
        self,
        words: int,
        embedding: int,
        hidden: int,
        layers: int,
        dropout: float,
        attention: str,
        input_feeding: bool,
    ) -> None:
        self.hidden, self.input_feeding = hidden, input_feeding
        self.embedding = nn.Embedding(words, embedding)
        self.dropout = nn.Dropout(dropout)
        first = embedding + hidden if input_feeding else embedding
        sizes = [first, *[hidden] * (layers - 1)]
        self.cells: Any = nn.ModuleList([nn.LSTMCell(size, hidden) for size in sizes])
        self.attention: Any = (
            nn.LuongAttention(hidden, hidden)
            if attention == "luong"
            else nn.BahdanauAttention(hidden, hidden, hidden)
        )
        self.combination = nn.Linear(2 * hidden, hidden, bias=False)
        self.head = nn.Linear(hidden, words)

    def look(self, h: Tensor, memory: Sequence) -> tuple[Tensor, Tensor]:
        """(a, weights) of states (B, T, H), or (B, H) of one step. memory: keys, what is computed
        of them once, and which of them there are."""
        keys, projected, seen = memory
        context, weights = self.attention(h, keys, seen, projected)
        return F.tanh(self.combination(cat([context, h], -1))), weights

    def step(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """(the top cell's h, all cells' h and c) after one step on x (B, I). states: h and c of one
        cell after the other."""
        after: list[Tensor] = []
        for i, cell in enumerate(self.cells):
            h, c = cell(x, (states[2 * i], states[2 * i + 1]))
            after += [h, c]
            x = self.dropout(h)
        return x, after

    def forward(self, codes: Tensor, states: list[Tensor], memory: Sequence) -> Tensor:
        """a of each step, (B, T, H), from codes (B, T)."""
        x = self.dropout(self.embedding(codes.transpose(0, 1)))
        if not self.input_feeding:
            for i, cell in enumerate(self.cells):
                weights = cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh
                x = self.dropout(cell.operation(x, states[2 * i : 2 * i + 2], weights)[0])
            return self.look(x.transpose(0, 1), memory)[0]
        fed, outputs = zeros(codes.shape[0], self.hidden, device=x.device), []
        for t in range(codes.shape[1]):
            h, states = self.step(cat([x[t], fed], -1), states)
            fed, _ = self.look(h, memory)
            outputs.append(fed)
        return stack(outputs, 1)


class Seq2Seq(nn.Module):
    """An encoder, a decoder with attention, and beam search.

    source_words, target_words: how many codes each vocabulary has. hidden, layers: of both stacks.
    embedding: size of both embeddings, `hidden` by default. attention: "luong" (a product, their
    "general") or "bahdanau" (additive). input_feeding: whether a decoder's step sees what the one
    before attended to, which makes it a loop over steps; without, a layer does all of them at once.
    dropout: of embeddings and between layers. Weights begin as U(-0.1, 0.1), as Luong's do.
    """

    def __init__(
        self,
        source_words: int,
        target_words: int,
        hidden: int = 1024,
        layers: int = 3,
        embedding: int | None = None,
        attention: str = "luong",
        input_feeding: bool = True,
        dropout: float = 0.0,
    ) -> None:
        check_choice("Seq2Seq: attention", attention, ATTENTION)
        size = hidden if embedding is None else embedding
        self.encoder = Encoder(source_words, size, hidden, layers, dropout)
        self.decoder = Decoder(
            target_words, size, hidden, layers, dropout, attention, bool(input_feeding)
        )
        for p in self.parameters():
            nn.init.uniform_(p, -FIRST, FIRST)

    def forward(self, source: Tensor, lengths: Any, decoder_input: Tensor) -> Tensor:
        """Scores (B, T, words) of what comes after each code of a translation.

        source: (B, S) codes, padded behind their `lengths` (B). decoder_input: (B, T) codes of the
        translation, each row with the code of the beginning first; what stands behind its end does
        not matter.
        """
        states, memory = self.read(source, lengths)
        return self.decoder.head(self.decoder(decoder_input, states, memory))

    def read(self, source: Tensor, lengths: Any) -> tuple[list[Tensor], list]:
        """What the decoder begins with, h and c of each layer, and what it looks at."""
        lengths = as_lengths("Seq2Seq", lengths, *source.shape)
        keys, (h, c) = self.encoder(source, lengths)
        seen = np.arange(source.shape[1]) < lengths[:, None]
        states = [s[i] for i in range(h.shape[0]) for s in (h, c)]
        there = tensor(seen, device=keys.device)
        return states, [keys, self.decoder.attention.projected(keys), there]

    def translate(
        self,
        source: Tensor,
        lengths: Any,
        *,
        width: int = 5,
        length_penalty: float = 1.0,
        longest: int | None = None,
        begin: int = 1,
        end: int = 2,
    ) -> list[Hypothesis]:
        """The best translation of each sentence, by beam search: Hypotheses of codes.

        source, lengths: as for `forward`. width: of the beam; 1 takes the best code at each step.
        length_penalty: alpha, see beam_search.py. longest: codes of a translation, by default twice
        the source's and 10 more. begin, end: codes, those of BytePairs by default. In evaluation
        mode, with no random numbers drawn. Raises ArgumentError for settings that cannot be.
        """
        longest = 2 * source.shape[1] + 10 if longest is None else longest
        settings = Settings(begin, end, width, longest, length_penalty)
        check_settings("Seq2Seq.translate", settings)
        training = self.training
        self.eval()
        try:
            with no_grad():
                states, memory = self.read(source, lengths)
                fed = zeros(len(source), self.decoder.hidden, device=states[0].device)
                return beam_search(self._next, [fed, *states], memory, len(source), settings)
        finally:
            self.train(training)

    def _next(self, codes, state, memory):
        """One step of the beam search."""
        decoder, (fed, *states) = self.decoder, state
        x = decoder.embedding(Tensor(placed(codes, fed.array)))
        x = cat([x, fed], -1) if decoder.input_feeding else x
        h, states = decoder.step(x, states)
        sentences = memory[0].shape[0]
        a, weights = decoder.look(h.reshape(sentences, -1, h.shape[-1]), memory)
        a = a.reshape(h.shape)
        logits, weights = (moved(t.array, "cpu") for t in (decoder.head(a), weights))
        return logits, [a, *states], weights.reshape(len(codes), -1)
