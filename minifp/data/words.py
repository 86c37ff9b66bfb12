"""Text as words, for language models."""

import operator
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from minifp.checks import check_count
from minifp.data import files
from minifp.data.text import Pieces, check_text, checked_codes
from minifp.errors import ArgumentError
from minifp.ops.creation import Data

WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]|\n")  # words, signs, and ends of lines
UNKNOWN = "<unknown>"


def words_of(text: str) -> list[str]:
    """The words of a text, with signs and ends of lines as words of their own."""
    return WORD.findall(text)


def frequent(text: str, least: int = 1) -> list[str]:
    """The words that occur at least so often in a text, by falling frequency, those that are as
    frequent by the alphabet. Rarer ones count as UNKNOWN, which is there in any case."""
    counts = Counter(words_of(text))
    rare = sum(n for n in counts.values() if n < least)
    often = Counter({w: n for w, n in counts.items() if n >= least})
    often[UNKNOWN] += rare
    return sorted(often, key=lambda word: (-often[word], word))


class WordDataset(Pieces):
    """A text in pieces of `length` words, each with the words that follow.

    Item i is (x, t), both (length,) int64 codes, as in TextDataset. vocabulary: the words that have
    codes, by falling frequency (as sampled and adaptive softmax want them), among them
    "<unknown>", which stands for all others; by default those that occur at least `least` times
    here.
    """

    def __init__(
        self,
        text: str,
        length: int = 20,
        vocabulary: Sequence[str] | None = None,
        least: int = 1,
        name: str = "words",
    ) -> None:
        check_count("WordDataset: length", length)
        check_count("WordDataset: least", least)
        check_text("WordDataset", text)
        self.length, self.name = operator.index(length), name
        self.words = frequent(text, least) if vocabulary is None else list(vocabulary)
        self._codes = {word: i for i, word in enumerate(self.words)}
        if len(self._codes) != len(self.words) or UNKNOWN not in self._codes:
            raise ArgumentError(
                f"WordDataset: the vocabulary has {len(self.words)} words, {len(self._codes)} "
                f"different ones: expected each once, and {UNKNOWN!r} among them"
            )
        self.codes = self.encode(text)

    def encode(self, text: str) -> np.ndarray:
        """Return the codes of a text, (n,) int64."""
        check_text(f"data set {self.name!r}", text)
        unknown = self._codes[UNKNOWN]
        return np.array([self._codes.get(w, unknown) for w in words_of(text)], np.int64)

    def decode(self, codes: Data) -> str:
        """Return the words that these codes stand for, with a space between any two."""
        return " ".join(self.words[c] for c in checked_codes("WordDataset", codes, len(self.words)))

    def __repr__(self):
        return (
            f"WordDataset({len(self)} pieces of {self.length}, {len(self.words)} words, "
            f"name={self.name!r})"
        )


def shakespeare_words(length: int = 20, least: int = 2) -> tuple[WordDataset, WordDataset]:
    """Return the bundled "tiny Shakespeare" in pieces of `length` words.

    The first 90% of its characters are to train with, the rest to test with. `.words` are those
    that occur at least `least` times in the former, by falling frequency, and "<unknown>".
    """
    text = files.bundled_text("shakespeare.txt.gz")
    cut = len(text) * 9 // 10
    train = WordDataset(text[:cut], length, least=least, name="Shakespeare's words, train")
    test = WordDataset(text[cut:], length, train.words, name="Shakespeare's words, test")
    return train, test
