"""How much of what was said is recognised wrongly: character and word error rates.

An error rate is 100 (S + D + I) / N: the fewest substitutions, deletions and insertions that make
the hypotheses out of the references, of all utterances together, per character or word of the
references (Levenshtein 1966). It may be more than 100.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minifp.checks import check_range
from minifp.errors import ArgumentError
from minifp.lab.statistics.bootstrap import bca_ratio_interval

CONFIDENCE = 0.9  # as of the lab's other intervals


@dataclass(frozen=True)
class ErrorRate:
    """rate: in %, with its interval from low to high: of the utterances drawn again and again with
    replacement (bootstrap, BCa), too narrow where utterances share recordings or speakers. None of
    one utterance. errors, tokens: what it is the ratio of.
    With no error at all the interval is of no width, which does not mean that there are none."""

    rate: float
    low: float | None
    high: float | None
    errors: int
    tokens: int

    def __str__(self):
        if self.low is None or self.high is None:
            return f"{self.rate:.2f}%"
        return f"{self.rate:.2f}% [{self.low:.2f}, {self.high:.2f}]"


def edit_distance(hypothesis: Sequence[Any], reference: Sequence[Any]) -> int:
    """The fewest substitutions, deletions and insertions that make one sequence out of another."""
    codes: dict[Any, int] = {}
    h, r = (
        np.array([codes.setdefault(token, len(codes)) for token in tokens], np.int64)
        for tokens in (list(hypothesis), list(reference))
    )
    places = np.arange(len(h) + 1)
    row = places.copy()
    for token in r:
        best = row + 1
        best[1:] = np.minimum(best[1:], row[:-1] + (h != token))
        row = np.minimum.accumulate(best - places) + places  # insertions, from left to right
    return int(row[-1])


def character_error_rate(
    hypotheses: Sequence[str], references: Sequence[str], confidence: float = CONFIDENCE
) -> ErrorRate:
    """The character error rate of texts. Raises ArgumentError where they are not as many, or the
    references are empty."""
    return error_rate(hypotheses, references, confidence)


def word_error_rate(
    hypotheses: Sequence[str], references: Sequence[str], confidence: float = CONFIDENCE
) -> ErrorRate:
    """The word error rate of texts, whose words have white space between. Raises as
    character_error_rate does."""
    said, meant = ([text.split() for text in texts] for texts in (hypotheses, references))
    return error_rate(said, meant, confidence)


def error_rate(
    hypotheses: Sequence[Sequence[Any]],
    references: Sequence[Sequence[Any]],
    confidence: float = CONFIDENCE,
) -> ErrorRate:
    """The error rate of sequences of anything that can be compared: characters, words, labels."""
    check_range("error_rate: confidence", confidence, 0.5, 0.999)
    if len(hypotheses) != len(references):
        raise ArgumentError(
            f"error_rate: {len(hypotheses)} hypotheses for {len(references)} references: expected "
            "one for each"
        )
    errors = [edit_distance(h, r) for h, r in zip(hypotheses, references)]
    tokens = [len(r) for r in references]
    if not sum(tokens):
        raise ArgumentError("error_rate: all references are empty: expected text in at least one")
    low = high = None
    if len(errors) > 1:
        low, high = (100 * end for end in bca_ratio_interval(errors, tokens, confidence))
    return ErrorRate(100 * sum(errors) / sum(tokens), low, high, sum(errors), sum(tokens))
