"""Sequences of different lengths with what they say: utterances, padded where they are batched."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minifp.data.dataset import Dataset, Fields, as_item, is_one
from minifp.errors import ArgumentError, DataError, DTypeError, ShapeError
from minifp.ops.creation import Data

BLANK = 0  # no label of a sequence: what CTC leaves out, and the padding of labels


class Utterances(Dataset):
    """Inputs of different lengths, each with its label, or with a sequence of labels.

    inputs: for each item an array (T, ...) of floating numbers: samples (T), or features
        (T, bands). They are kept as they are.
    labels: for each item a class, (n) integers; or a sequence of labels each, integers from 1 on,
        where 0 is the blank of `F.ctc_loss`, and the padding.
    alphabet: what labels from 1 on stand for, a character each. classes: the names of classes.
    rate: samples a second, of sounds. speakers: who speaks, a name for each item.

    Asked for one index it gives the item, (input, label or labels); asked for an array of them, a
    batch (x, lengths, labels): inputs (n, T, ...) padded with 0 to the longest of them, their
    lengths (n) int64, and labels, (n) or (n, L) padded with 0, int64. Raises ArgumentError,
    DTypeError or ShapeError for anything else, naming the item.
    """

    def __init__(
        self,
        inputs: Sequence[np.ndarray],
        labels: Data | Sequence[Any],
        *,
        name: str = "data",
        alphabet: str | None = None,
        classes: Sequence[str] | None = None,
        rate: int | None = None,
        speakers: Sequence[str] | None = None,
    ) -> None:
        self.inputs = checked_inputs(inputs)
        self.labels = checked_labels(labels, alphabet)
        self.name, self.alphabet, self.classes, self.rate = name, alphabet, classes, rate
        self.speakers = None if speakers is None else list(speakers)
        self.lengths = np.array([len(x) for x in self.inputs], np.int64)
        for what, values in (("labels", self.labels), ("speakers", self.speakers)):
            if values is not None and len(values) != len(inputs):
                counts = f"{len(values)} {what} for {len(inputs)} inputs"
                raise ShapeError(f"Utterances: {counts}: expected as many")

    def __len__(self) -> int:
        return len(self.inputs)

    takes_arrays = True

    def __getitem__(self, index: Any) -> Any:
        if is_one(index):
            return as_item(index, (self.inputs[index], np.asarray(self.labels[index])))
        chosen = np.arange(len(self))[index]
        return collate_utterances([self[i] for i in chosen.tolist()])

    def map(self, fn: Callable[[np.ndarray], np.ndarray]) -> "Utterances":
        """Return the same with fn(input) for each input, computed now: features of sounds, say."""
        return self._with([fn(x) for x in self.inputs], self.labels, self.speakers, self.name)

    def take(self, indices: Sequence[int] | np.ndarray, name: str | None = None) -> "Utterances":
        """Return those at these indices, in their order."""
        rows = [int(i) for i in indices]
        speakers = None if self.speakers is None else [self.speakers[i] for i in rows]
        labels = [self.labels[i] for i in rows]
        name = self.name if name is None else name
        return self._with([self.inputs[i] for i in rows], labels, speakers, name)

    def _with(self, inputs, labels, speakers, name):
        settings = {n: vars(self)[n] for n in ("alphabet", "classes", "rate")}
        return Utterances(inputs, labels, name=name, speakers=speakers, **settings)

    def text(self, labels: Data) -> str:
        """Return what a sequence of labels says; blanks, such as padding, say nothing. Raises
        ArgumentError without an alphabet."""
        return text_of(labels, self.alphabet)

    def __repr__(self):
        shape = ["T", *self.inputs[0].shape[1:]] if self.inputs else ["T"]
        return f"Utterances({len(self)} of [{', '.join(map(str, shape))}], name={self.name!r})"


def text_of(labels: Data, alphabet: str | None) -> str:
    """What a sequence of labels says; blanks say nothing. Raises ArgumentError where one has no
    character."""
    if alphabet is None:
        raise ArgumentError("text: turning labels to characters needs an alphabet: give alphabet=")
    codes = [int(c) for c in np.asarray(labels).reshape(-1)]
    wrong = [c for c in codes if not 0 <= c <= len(alphabet)]
    if wrong:
        expected = f"0, the blank, to {len(alphabet)}"
        raise ArgumentError(f"text: the label {wrong[0]} has no character: expected {expected}")
    return "".join(alphabet[c - 1] for c in codes if c != BLANK)


def collate_utterances(items: Sequence[Any]) -> Fields:
    """One batch (x, lengths, labels) of items (input, labels), as `Utterances` has them.

    As a `collate_fn` it serves any data set of such items. Raises DataError for none, and for
    inputs that differ in more than their length.
    """
    if not items:
        raise DataError("collate_utterances: no items: expected at least one")
    inputs, labels = ([np.asarray(item[k]) for item in items] for k in (0, 1))
    lengths = np.array([len(x) for x in inputs], np.int64)
    return padded("inputs", inputs), lengths, padded("labels", labels).astype(np.int64)


def padded(what: str, arrays: Sequence[np.ndarray], value: int = 0) -> np.ndarray:
    """Arrays (T, ...) of different lengths as one (n, T, ...), with a value behind; numbers as (n).
    Raises DataError for arrays that differ in more."""
    kinds = {(a.dtype, a.ndim, a.shape[1:]) for a in arrays}
    if len(kinds) > 1:
        several = " and ".join(sorted(f"{dtype}{['T', *rest]}" for dtype, _, rest in kinds))
        raise DataError(f"{what} of {several} in one batch: expected the same but for T")
    if arrays[0].ndim == 0:
        return np.stack(arrays)
    longest = max(len(a) for a in arrays)
    out = np.full((len(arrays), longest, *arrays[0].shape[1:]), value, arrays[0].dtype)
    for row, a in zip(out, arrays):
        row[: len(a)] = a
    return out


def checked_inputs(inputs):
    """The list of inputs. Raises DTypeError or ShapeError."""
    arrays = [np.asarray(x) for x in inputs]
    for i, x in enumerate(arrays):
        if x.dtype.kind != "f":
            raise DTypeError(f"Utterances: input {i} is of {x.dtype}: expected floating numbers")
        if x.ndim == 0 or not len(x) or x.shape[1:] != arrays[0].shape[1:]:
            raise ShapeError(
                f"Utterances: input {i} of shape {x.shape}: expected (T, ...), T at least 1, alike "
                "but for T"
            )
    return arrays


def checked_labels(labels, alphabet):
    """The labels: an array (n) of classes, or a list of sequences. Raises DTypeError, ShapeError or
    ArgumentError."""
    try:
        items = [np.asarray(one) for one in labels]
    except (TypeError, ValueError) as error:
        what = f"a {type(labels).__name__} whose items are no arrays ({error})"
        expected = "expected integers for each input"
        raise DTypeError(f"Utterances: labels are {what}: {expected}") from None
    for i, one in enumerate(items):
        if one.dtype.kind not in "iu" and one.size:
            raise DTypeError(f"Utterances: labels {i} are of {one.dtype}: expected integers")
        if one.ndim > 1 or one.ndim != items[0].ndim:
            raise ShapeError(
                f"Utterances: labels {i} of shape {one.shape}: expected a class for each item, or "
                "a sequence of labels for each"
            )
        least, most = one.min(initial=1), one.max(initial=1)
        if one.ndim and (least < 1 or (alphabet is not None and most > len(alphabet))):
            last = "on" if alphabet is None else f"to {len(alphabet)}"
            raise ArgumentError(
                f"Utterances: labels {i} are {one.tolist()}: expected labels from 1 {last} (0 is "
                "the blank)"
            )
    if items and items[0].ndim:
        return [one.astype(np.int64) for one in items]
    return np.array(items, np.int64)
