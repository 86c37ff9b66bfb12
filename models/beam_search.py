"""Beam search: the best continuations of several sentences at once, under a length penalty.

A hypothesis of n codes with the log-probability l has the score l / ((5 + n) / 6)^alpha (Wu et al.
2016, arXiv:1609.08144, equation 14). With alpha = 0 short ones win; with 1 about the mean counts.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minifp.checks import check_count, check_range
from minifp.numerics.formats import float32


class Hypothesis(NamedTuple):
    """What was found for one sentence.

    codes: (n) int64, without begin and end. score: see above. attention: (n', S) float32, the
    weights of each step, that of `end` too where there was one; empty where the step tells none.
    """

    codes: np.ndarray
    score: float
    attention: np.ndarray


class Settings(NamedTuple):
    """begin, end: codes. width: of the beam. longest: codes of a hypothesis, `end` not counted.
    length_penalty: alpha."""

    begin: int
    end: int
    width: int
    longest: int
    length_penalty: float

    def score(self, total, length: int):
        """Log-probabilities of hypotheses of so many codes as scores."""
        return total / ((5 + length) / 6) ** self.length_penalty


def check_settings(name: str, settings: Settings) -> None:
    """Raise ArgumentError, naming it, for a setting that cannot be."""
    check_count(f"{name}: width", settings.width)
    check_count(f"{name}: longest", settings.longest)
    check_range(f"{name}: length_penalty", settings.length_penalty)


def beam_search(
    step: Callable, state: Any, memory: Any, batch: int, settings: Settings
) -> list[Hypothesis]:
    """The best hypothesis for each of `batch` sentences.

    step(codes, state, memory): (logits (N, V), the new state, attention (N, S) or None) of N =
    sentences x width rows, where codes (N) are the last ones, state are arrays with N rows, and
    memory arrays with one for each sentence. The first state has one row a sentence. Sentences that
    are done leave.

    One is done when `width` hypotheses have ended, or when none that is alive can become better
    than the best of them.
    """
    beams = Beams(batch, settings)
    state = [s[np.repeat(np.arange(batch), settings.width)] for s in state]
    for _ in range(settings.longest + 1):
        logits, state, attention = step(beams.last, state, memory)
        rows, kept = beams.extend(np.asarray(logits), attention)
        if not len(beams.sentences):
            break
        state = [s[rows] for s in state]
        if len(kept) < len(memory[0]):
            memory = [m[kept] for m in memory]
    return beams.best()


class Beams:
    """Hypotheses of all sentences that are not done: (sentences, width) of them."""

    def __init__(self, batch: int, settings: Settings) -> None:
        self.settings, self.sentences = settings, np.arange(batch)
        W = settings.width
        self.totals = np.full((batch, W), -np.inf, float32)
        self.totals[:, 0] = 0
        self.codes = np.full((batch, W, 1), settings.begin, np.int64)
        self.attention: Any = None  # (sentences, width, steps, S)
        self.ended: list[list[Hypothesis]] = [[] for _ in range(batch)]

    @property
    def last(self) -> np.ndarray:
        """The last code of each, (sentences * width)."""
        return self.codes[:, :, -1].reshape(-1)

    def extend(self, logits: np.ndarray, attention) -> tuple[np.ndarray, np.ndarray]:
        """Go on by a code. Returns which rows the new ones continue, and which sentences stay."""
        n, W = self.totals.shape
        totals, beam, code = self._candidates(logits.reshape(n, W, -1))
        if attention is not None:
            self._note(np.asarray(attention).reshape(n, W, 1, -1))
        length, is_end = self.codes.shape[2], code == self.settings.end
        is_last = length > self.settings.longest
        for s, k in np.argwhere(is_end[:, :W] | is_last):
            self._end(s, beam[s, k], code[s, k], totals[s, k], length)
        alive = np.argsort(is_end, axis=1, kind="stable")[:, :W]
        totals, beam, code = (np.take_along_axis(a, alive, 1) for a in (totals, beam, code))
        kept = np.flatnonzero([not is_last and self._goes_on(s, totals[s, 0]) for s in range(n)])
        self.totals, beam = totals[kept], beam[kept]
        rows = kept[:, None] * W + beam
        self.codes = np.concatenate([self.codes[kept[:, None], beam], code[kept, :, None]], 2)
        if self.attention is not None:
            self.attention = self.attention[kept[:, None], beam]
        self.sentences = self.sentences[kept]
        return rows.reshape(-1), kept

    def _candidates(self, logits):
        """(log-probability, beam, code) of the best 2 W continuations, (sentences, 2 W) each: at
        least W of them do not end."""
        n, W, V = logits.shape
        count = min(2 * W, V)
        with np.errstate(invalid="ignore"):  # Inf - Inf of a network that has diverged
            logits = np.nan_to_num(logits.astype(float32), nan=-np.inf)
            top = np.argpartition(logits, V - count, axis=2)[:, :, V - count :]
            highest = logits.max(2, keepdims=True)
            log_sum = highest + np.log(np.exp(logits - highest).sum(2, keepdims=True))
            p = np.take_along_axis(logits, top, 2) - log_sum
            totals = np.nan_to_num(self.totals[:, :, None] + p, nan=-np.inf).reshape(n, -1)
        best = np.argsort(-totals, axis=1, kind="stable")[:, : 2 * W]
        codes = np.take_along_axis(top.reshape(n, -1), best, 1)
        return np.take_along_axis(totals, best, 1), best // count, codes

    def _note(self, attention):
        past = [] if self.attention is None else [self.attention]
        self.attention = np.concatenate([*past, attention.astype(float32)], 2)

    def _end(self, s, beam, code, total, length):
        codes = self.codes[s, beam, 1:]
        if code != self.settings.end:  # the longest there may be
            codes = codes[: self.settings.longest]
        score = float(self.settings.score(total, length))
        weights = np.empty((0, 0), float32) if self.attention is None else self.attention[s, beam]
        self.ended[self.sentences[s]].append(Hypothesis(codes.copy(), score, weights.copy()))

    def _goes_on(self, s, best_alive):
        """Whether a sentence may still get a better hypothesis: of all that it could become, one
        has its log-probability at most, and the longest length."""
        ended = self.ended[self.sentences[s]]
        if len(ended) >= self.settings.width:
            return False
        possible = self.settings.score(best_alive, self.settings.longest + 1)
        return not ended or max(h.score for h in ended) < possible

    def best(self) -> list[Hypothesis]:
        """The best of each sentence."""
        return [max(ended, key=lambda h: h.score) for ended in self.ended]
