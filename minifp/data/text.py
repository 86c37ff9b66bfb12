"""Text as characters, for language models."""

import operator
from typing import Any

import numpy as np

from minifp.data import files
from minifp.data.dataset import Dataset, as_item
from minifp.errors import ArgumentError, DataError
from minifp.ops.creation import Data


def check_text(asked: str, text: Any) -> None:
    """Raise DataError, which `asked` begins, for what is no text."""
    if not isinstance(text, str):
        hint = "bytes.decode('utf-8') of bytes, " * isinstance(text, (bytes, bytearray))
        raise DataError(
            f"{asked}: expected a text, got {type(text).__name__}: give {hint}"
            "Path(path).read_text('utf-8') of a file"
        )


def checked_codes(asked: str, codes: Data, count: int) -> list[int]:
    """The codes as a list. Raises ArgumentError, which `asked` begins, for what is no code of so
    many."""
    try:
        array = np.asarray(codes).reshape(-1)
    except ValueError as error:
        raise ArgumentError(f"{asked}: codes are no array of integers: {error}") from None
    if array.size and array.dtype.kind not in "iu":
        raise ArgumentError(f"{asked}: codes of {array.dtype}, expected integers")
    if array.size and not 0 <= array.min() <= array.max() < count:
        codes = f"codes from {array.min()} to {array.max()}"
        raise ArgumentError(f"{asked}: {codes}, expected 0 to {count - 1}")
    return array.tolist()


class Pieces(Dataset):
    """A long row of codes in pieces of `length`, each with the codes that follow.

    Item i is (x, t), both (length,) int64: codes i * length onwards, and the same one further on.
    What is left at the end is not used.
    """

    length: int
    codes: np.ndarray
    takes_arrays = True

    def __len__(self) -> int:
        return max(0, (len(self.codes) - 1) // self.length)

    def __getitem__(self, index: Any) -> Any:
        start = np.arange(len(self))[index] * self.length
        x = np.expand_dims(start, -1) + np.arange(self.length)
        return as_item(index, (self.codes[x], self.codes[x + 1]))


class TextDataset(Pieces):
    """A text in pieces of `length` characters, each with the characters that follow.

    Item i is (x, t), both (length,) int64 codes: characters i * length onwards, and the same one
    further on. A code is a position in `vocabulary`: a text with each character that may occur,
    by default those of this text in order. What is left at the end is not used.
    """

    def __init__(
        self, text: str, length: int = 64, vocabulary: str | None = None, name: str = "text"
    ) -> None:
        check_text("TextDataset", text)
        if not hasattr(length, "__index__") or operator.index(length) < 1:
            raise ArgumentError(f"TextDataset: length must be 1 character or more, got {length!r}")
        self.length, self.name = operator.index(length), name
        self.vocabulary = "".join(sorted(set(text))) if vocabulary is None else vocabulary
        self._codes = {c: i for i, c in enumerate(self.vocabulary)}
        if len(self._codes) != len(self.vocabulary):
            raise ArgumentError(f"TextDataset: vocabulary repeats characters: {vocabulary!r}")
        self.codes = self.encode(text)

    def encode(self, text: str) -> np.ndarray:
        """Return the codes of a text, (n,) int64. Raises DataError for a character without one."""
        check_text(f"data set {self.name!r}", text)
        try:
            return np.array([self._codes[c] for c in text], np.int64)
        except KeyError as error:
            raise DataError(
                f"data set {self.name!r}: the character {error.args[0]!r} is not in its vocabulary "
                f"{self.vocabulary!r}"
            ) from None

    def decode(self, codes: Data) -> str:
        """Return the text that these codes stand for."""
        known = self.vocabulary
        return "".join(known[c] for c in checked_codes("TextDataset", codes, len(known)))

    def __repr__(self):
        return (
            f"TextDataset({len(self)} pieces of {self.length}, {len(self.vocabulary)} characters, "
            f"name={self.name!r})"
        )


def shakespeare(length: int = 64) -> tuple[TextDataset, TextDataset]:
    """Return the bundled "tiny Shakespeare" in pieces of `length` characters.

    The first 90% of its 1,115,394 characters are to train with, the rest to test with. 65 different
    characters, in `.vocabulary`; `.encode` and `.decode` go between text and codes.
    """
    text = files.bundled_text("shakespeare.txt.gz")
    vocabulary, cut = "".join(sorted(set(text))), len(text) * 9 // 10
    return (
        TextDataset(text[:cut], length, vocabulary, name="Shakespeare, train"),
        TextDataset(text[cut:], length, vocabulary, name="Shakespeare, test"),
    )
