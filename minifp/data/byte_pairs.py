"""Vocabularies of byte pairs: every text, exactly, as a row of numbers.

(Gage 1994; Sennrich, Haddow and Birch 2016, arXiv:1508.07909; on bytes: Radford et al. 2019.) A
text is cut into words, each with the space before it, and these into bytes of UTF-8. Training
counts which two pieces stand beside each other most often, in all words, makes them one piece, and
so on. Because pieces are bytes, no text has an unknown one; because the space is in them, the
pieces of a text joined together are the text.
"""

import heapq
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from minifp.checks import check_count
from minifp.data.text import checked_codes
from minifp.errors import ArgumentError, DataError
from minifp.ops.creation import Data
from minifp.runtime import untrusted

WORD = re.compile(r" ?\w+| ?[^\w\s]+|\s+")  # every character is in one of the three
PAD, BEGIN, END = 0, 1, 2
FIRST = 3  # the piece of byte 0
LEAST = FIRST + 256
SPACE = "\u2581"  # how a space is shown in a piece
FORM = "byte pairs, 1"  # of the text that holds a vocabulary


class BytePairs:
    """A vocabulary: codes of pieces, which are runs of bytes.

    Code 0 (`pad`) fills up batches, 1 (`begin`) stands before and 2 (`end`) behind a sentence; none
    of the three stands for text. Codes 3 to 258 are the bytes, and 259 + k the two pieces of
    merges[k] as one. `len()` is the number of codes.

    merges: pairs of codes, in the order in which they were found; of each, both parts come before
    it. `train` makes them of texts, `from_json` reads what `to_json` wrote. Raises ArgumentError
    for what are no such pairs.
    """

    pad, begin, end = PAD, BEGIN, END

    def __init__(self, merges: Iterable[Sequence[int]] = ()) -> None:
        self.merges: list[tuple[int, int]] = []
        self.parts = [b""] * FIRST + [bytes([b]) for b in range(256)]  # the bytes of each code
        for pair in merges:
            self._add(pair)
        self._ranks = {pair: LEAST + k for k, pair in enumerate(self.merges)}
        self._known: dict[str, list[int]] = {}
        if len(self._ranks) != len(self.merges):
            raise ArgumentError("BytePairs: the merges contain a pair of codes twice")

    def _add(self, pair):
        pair = tuple(pair)
        there = len(self.parts)
        are_codes = all(isinstance(c, (int, np.integer)) and FIRST <= c < there for c in pair)
        if len(pair) != 2 or not are_codes:
            raise ArgumentError(
                f"BytePairs: merge {len(self.merges)} is {pair!r}: expected two codes from {FIRST} "
                f"to {there - 1}"
            )
        self.merges.append((int(pair[0]), int(pair[1])))
        self.parts.append(self.parts[pair[0]] + self.parts[pair[1]])

    @classmethod
    def train(cls, texts: Iterable[str], size: int) -> "BytePairs":
        """Make a vocabulary of `size` codes for texts like these.

        It is smaller where no pair stands in these texts twice any more. The same texts make the
        same vocabulary: of pairs that are as frequent, the one with smaller codes is first. Raises
        ArgumentError for a size of less than 259, the bytes alone, and DataError for no texts.
        """
        check_count("BytePairs.train: size", size, least=LEAST)
        words = Counter(word for text in _texts(texts) for word in WORD.findall(text))
        if not words:
            raise DataError("BytePairs.train: the texts are empty, expected some words")
        return cls(_merges([(_bytes(w), n) for w, n in sorted(words.items())], size - LEAST))

    def __len__(self) -> int:
        return len(self.parts)

    def encode(self, text: str) -> np.ndarray:
        """Return the codes of a text, (n,) int64, without `begin` and `end`."""
        if not isinstance(text, str):
            raise DataError(f"BytePairs.encode: expected a text, got {type(text).__name__}")
        codes = [code for word in WORD.findall(text) for code in self._of_word(word)]
        return np.array(codes, np.int64)

    def _of_word(self, word):
        """The codes of a word: its pairs are joined in the order in which they were found."""
        if word not in self._known:
            codes = _bytes(word)
            while len(codes) > 1:
                rank, pair = min((self._ranks.get(p, len(self)), p) for p in pairwise(codes))
                if rank == len(self):
                    break
                codes = _joined(codes, pair, rank)
            self._known[word] = codes
        return self._known[word]

    def decode(self, codes: Data) -> str:
        """Return the text that these codes stand for, up to the first `end`.

        Bytes that are no UTF-8, as a model may write them, become U+FFFD. Raises ArgumentError for
        what is no code.
        """
        return self._bytes_of(codes).decode("utf-8", errors="replace")

    def pieces(self, codes: Data) -> list[str]:
        """Return the text of each piece, to be looked at: with U+2581 for a space."""
        return [
            self.parts[c].decode("utf-8", errors="replace").replace(" ", SPACE)
            for c in checked_codes("BytePairs", codes, len(self))
        ]

    def _bytes_of(self, codes):
        codes = checked_codes("BytePairs", codes, len(self))
        stop = codes.index(END) if END in codes else len(codes)
        return b"".join(self.parts[c] for c in codes[:stop])

    def to_json(self) -> str:
        """Return the vocabulary as a text, to be written into a file."""
        return json.dumps({"form": FORM, "merges": self.merges})

    @classmethod
    def from_json(cls, text: str) -> "BytePairs":
        """The vocabulary that `to_json` wrote. Raises DataError for any other text."""
        try:
            vocabulary = untrusted.parsed(text, "the text")
            if vocabulary["form"] != FORM:
                raise ValueError(f"its form is {vocabulary['form']!r}")
            return cls(vocabulary["merges"])
        except (ArgumentError, KeyError, TypeError, ValueError) as error:
            expected = "expected the text that to_json() returned"
            raise DataError(f"BytePairs.from_json: {expected}: {error}") from error

    def __repr__(self):
        return f"BytePairs({len(self)} codes)"


def _texts(texts) -> Iterator[str]:
    """The texts. Raises DataError where one is none."""
    if isinstance(texts, str):
        hint = "expected a list of strings: BytePairs.train([text])"
        raise DataError(f"BytePairs.train: got one string, {hint}")
    for text in texts:
        if not isinstance(text, str):
            raise DataError(f"BytePairs.train: a {type(text).__name__} among the texts")
        yield text


def _bytes(word):
    """A word as codes of its bytes."""
    return [FIRST + b for b in word.encode()]


def _joined(codes, pair, joined):
    """The codes with one for the pair, from left to right."""
    shorter, i = [], 0
    while i < len(codes):
        is_pair = codes[i] == pair[0] and codes[i + 1 : i + 2] == [pair[1]]
        shorter.append(joined if is_pair else codes[i])
        i += 2 if is_pair else 1
    return shorter


def _merges(words, count) -> list[tuple[int, int]]:
    """So many pairs, the most frequent first. words: (codes, how often) of each."""
    counts: Counter = Counter()
    places = defaultdict(set)  # the words that each pair was ever in
    for i, (codes, n) in enumerate(words):
        for pair in pairwise(codes):
            counts[pair] += n
            places[pair].add(i)
    waiting = [(-n, pair) for pair, n in counts.items()]  # some with counts that were
    heapq.heapify(waiting)
    merges: list[tuple[int, int]] = []
    while waiting and len(merges) < count:
        often, pair = heapq.heappop(waiting)
        if -often != counts[pair]:
            continue
        if counts[pair] < 2:
            break
        changed = _merge(words, counts, places, pair, LEAST + len(merges))
        merges.append(pair)
        for other in changed:
            if counts[other] > 0:
                heapq.heappush(waiting, (-counts[other], other))
    return merges


def _merge(words, counts, places, pair, joined):
    """Join a pair in all words; the pairs whose counts have changed."""
    changed = set()
    for i in places.pop(pair):
        codes, n = words[i]
        for other in pairwise(codes):
            counts[other] -= n
            changed.add(other)
        codes = _joined(codes, pair, joined)
        words[i] = codes, n
        for other in pairwise(codes):
            counts[other] += n
            places[other].add(i)
            changed.add(other)
    changed.discard(pair)
    return changed
