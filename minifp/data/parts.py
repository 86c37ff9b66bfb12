"""Parts of data sets, and data sets put together."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minifp.data.dataset import (
    AnyDataset,
    Dataset,
    as_dataset,
    as_indices,
    is_one,
    name_of,
    take,
    takes_arrays,
)
from minifp.errors import ArgumentError, DataError
from minifp.ops.creation import Data
from minifp.runtime import random


class Subset(Dataset):
    """Some items of a data set: those at these indices, in this order; one may come repeatedly.

    Raises ArgumentError where an index is none of the data set's.
    """

    def __init__(self, dataset: AnyDataset, indices: Data, name: str | None = None) -> None:
        self.dataset = as_dataset("Subset", dataset)
        self.indices = as_indices("Subset", indices, len(dataset))
        self.classes = getattr(dataset, "classes", None)
        parent = getattr(dataset, "name", type(dataset).__name__)
        self.name = f"{parent}, {len(self.indices)} of {len(dataset)}" if name is None else name

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def takes_arrays(self) -> bool:
        """Whether the data set that it is of takes an array of indices."""
        return takes_arrays(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        if is_one(index):
            return self.dataset[int(self.indices[index])]
        indices = self.indices[index]
        return self.dataset[indices] if self.takes_arrays else take(self.dataset, indices)

    def __repr__(self):
        return f"Subset({len(self)} of {self.dataset!r})"


class ConcatDataset(Dataset):
    """Data sets one after the other.

    Raises ArgumentError for none, and DataError where the items of those that take arrays of
    indices have different fields.
    """

    def __init__(self, datasets: Sequence[AnyDataset]) -> None:
        if not isinstance(datasets, (list, tuple)) or not datasets:
            expected = "expected a list of one or more data sets"
            raise ArgumentError(f"ConcatDataset: {expected}, got {datasets!r}")
        self.datasets = [as_dataset("ConcatDataset", dataset) for dataset in datasets]
        self.ends = np.cumsum([len(dataset) for dataset in self.datasets])
        at_once = [d for d in self.datasets if len(d) and takes_arrays(d)]
        formats = [(dataset, _formats(dataset)) for dataset in at_once]
        for dataset, fields in formats[1:]:
            if fields != formats[0][1]:
                raise DataError(
                    f"ConcatDataset: the items of {name_of(dataset)} are {fields}, those of "
                    f"{name_of(formats[0][0])} {formats[0][1]}; expected the same formats and "
                    "shapes"
                )
        classes = [getattr(dataset, "classes", None) for dataset in self.datasets]
        self.classes = classes[0] if all(c == classes[0] for c in classes) else None
        self.name = " + ".join(str(getattr(d, "name", type(d).__name__)) for d in self.datasets)

    def __len__(self) -> int:
        return int(self.ends[-1])

    @property
    def takes_arrays(self) -> bool:
        """Whether all its data sets take an array of indices."""
        return all(map(takes_arrays, self.datasets))

    def __getitem__(self, index: Any) -> Any:
        if is_one(index):
            number = int(np.arange(len(self))[index])
            k = int(np.searchsorted(self.ends, number, side="right"))
            return self.datasets[k][number - int(self.ends[k]) + len(self.datasets[k])]
        index = np.arange(len(self))[index]
        flat = index.reshape(-1)
        which = np.searchsorted(self.ends, flat, side="right")
        fields: Any = None
        for k in sorted({*which.tolist()}) or [0]:
            is_here, dataset = which == k, self.datasets[k]
            parts = take(dataset, flat[is_here] - (self.ends[k] - len(dataset)))
            if fields is None:
                fields = [np.empty((len(flat), *f.shape[1:]), f.dtype) for f in parts]
            for field, part in zip(fields, parts):
                field[is_here] = part
        return tuple(field.reshape(index.shape + field.shape[1:]) for field in fields)

    def __repr__(self):
        return f"ConcatDataset({self.datasets!r})"


def _formats(dataset):
    return [f"{f.dtype}{list(f.shape[1:])}" for f in take(dataset, np.arange(1))]


def random_split(
    dataset: AnyDataset, lengths: Sequence[float], seed: int | None = None
) -> list[Subset]:
    """Split a data set at random into parts that have no item in common.

    lengths: how many items each part has, which together are all; or fractions, which together are
        1: of n items a part has floor(n * fraction), and what is left goes to the first parts,
        one item each.
    seed: the split depends on it alone; None takes the global seed (`fp.manual_seed`), and every
        such split is another.

    Raises ArgumentError for lengths that are not as said.
    """
    n = len(as_dataset("random_split", dataset))
    counts = _counts(n, lengths)
    if seed is None:
        order = random.permutation(n, purpose="random_split")
    else:
        order = random.Streams(seed).permutation(n, purpose="random_split")
    ends = np.cumsum(counts)
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends)]


def _counts(n, lengths):
    def wrong():
        return ArgumentError(
            f"random_split: lengths must be integers of at least 0 with the sum {n}, or fractions "
            f"with the sum 1, got {lengths!r}"
        )

    is_row = isinstance(lengths, (list, tuple)) and lengths
    if not is_row or any(isinstance(length, (bool, str)) for length in lengths):
        raise wrong()
    if all(hasattr(length, "__index__") for length in lengths):
        counts = [operator.index(length) for length in lengths]
        if min(counts) >= 0 and sum(counts) == n:
            return counts
    try:
        fractions = [float(length) for length in lengths]
    except (TypeError, ValueError, OverflowError):
        raise wrong() from None
    if not all(0 <= f <= 1 for f in fractions) or not math.isclose(math.fsum(fractions), 1):
        raise wrong()
    counts = [math.floor(n * fraction) for fraction in fractions]
    for i in range(n - sum(counts)):
        counts[i % len(counts)] += 1
    return counts
