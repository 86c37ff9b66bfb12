"""Sentences with their translations: as texts, as codes, and as padded batches with lengths."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from minifp.checks import check_count
from minifp.data.dataset import Dataset, as_item
from minifp.data.utterances import padded
from minifp.errors import DataError
from minifp.ops.creation import Data

IGNORED = -100  # the label of what is no piece of a sentence; F.cross_entropy ignores it


class Vocabulary(Protocol):
    """What makes codes of a text: BytePairs, or anything with these three."""

    begin: int
    end: int

    def encode(self, text: str, /) -> np.ndarray: ...


class SentencePairs(Dataset):
    """Sentences and their translations: item i is a pair of texts, as they were written.

    sources, targets: lists of as many texts. Raises DataError where they differ in number, or hold
    anything else.
    """

    def __init__(
        self, sources: Sequence[str], targets: Sequence[str], name: str = "sentences"
    ) -> None:
        self.sources, self.targets, self.name = list(sources), list(targets), name
        if len(self.sources) != len(self.targets):
            raise DataError(
                f"data set {name!r}: {len(self.sources)} sentences and {len(self.targets)} "
                "translations, expected as many"
            )
        for text in (*self.sources, *self.targets):
            if not isinstance(text, str):
                raise DataError(f"data set {name!r}: {text!r} among the sentences, which is none")

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: Any) -> tuple[str, str]:
        return self.sources[index], self.targets[index]

    def at_most(self, words: int) -> "SentencePairs":
        """Return those pairs in which both sentences have at most so many words, between spaces."""
        check_count("SentencePairs.at_most: words", words)
        return self._those(
            [i for i, pair in enumerate(self) if max(len(s.split()) for s in pair) <= words],
            f"{self.name}, of at most {words} words",
        )

    def first(self, count: int) -> "SentencePairs":
        """Return the first so many pairs, or all where there are fewer."""
        count = min(check_count("SentencePairs.first: count", count), len(self))
        return self._those(range(count), f"{self.name}, {count} of {len(self)}")

    def _those(self, indices, name):
        pairs = [self[i] for i in indices]
        return SentencePairs([s for s, _ in pairs], [t for _, t in pairs], name)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(zip(self.sources, self.targets))

    def encoded(self, source: Vocabulary, target: Vocabulary) -> "EncodedPairs":
        """Return the pairs as codes of two vocabularies, such as BytePairs."""
        return EncodedPairs(self, source, target)

    def __repr__(self):
        return f"SentencePairs({len(self)} pairs, name={self.name!r})"


class EncodedPairs(Dataset):
    """Sentence pairs as codes, for `collate_pairs`: item i is (source, target), both int64 tensors.

    A source ends with `end`; a target has `begin` before it and `end` behind it. `pairs` are the
    texts, `source` and `target` the vocabularies, and `lengths` (n) how many codes the longer of
    each pair has: what sorts sentences into batches (BucketSampler).
    """

    def __init__(self, pairs: SentencePairs, source: Vocabulary, target: Vocabulary) -> None:
        self.pairs, self.source, self.target, self.name = pairs, source, target, pairs.name
        sources = [np.append(source.encode(s), source.end) for s, _ in pairs]
        first, last = [target.begin], [target.end]
        targets = [np.concatenate([first, target.encode(t), last]) for _, t in pairs]
        self.items = list(zip(sources, targets))
        self.lengths = np.array([max(len(s), len(t)) for s, t in self.items], np.int64)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        return as_item(index, self.items[index])

    def __repr__(self):
        return f"EncodedPairs({len(self)} pairs, name={self.name!r})"


def collate_pairs(items: Sequence[tuple[Data, Data]]) -> dict[str, np.ndarray]:
    """A batch of encoded pairs, (source, target) each: a dict of arrays of integers.

    source: (B, S), padded with 0. lengths: (B), of the sources without padding. decoder_input:
    (B, T), all but the last code of each target, padded with 0: what a decoder reads. labels:
    (B, T), all but the first: what it is to write, with -100 in the padding. Raises DataError for
    an empty source, or a target of fewer than two codes.
    """
    sources, targets = ([np.asarray(part) for part in parts] for parts in zip(*items))
    for name, parts, least in (("source", sources, 1), ("target", targets, 2)):
        short = [i for i, part in enumerate(parts) if part.ndim != 1 or len(part) < least]
        if short:
            shape = parts[short[0]].shape
            raise DataError(
                f"collate_pairs: the {name} of item {short[0]} has the shape {shape}, expected a "
                f"row of at least {least} codes"
            )
    sources, targets = ([part.astype(np.int64) for part in parts] for parts in (sources, targets))
    return {
        "source": padded("sources", sources),
        "lengths": np.array([len(s) for s in sources], np.int64),
        "decoder_input": padded("targets", [t[:-1] for t in targets]),
        "labels": padded("targets", [t[1:] for t in targets], IGNORED),
    }
