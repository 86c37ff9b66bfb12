"""PyTorch's samplers: which items an epoch takes, in which order.

Those here draw by the number of the epoch and the seed alone, as the loader's own shuffle does:
they are called with these by a DataLoader, and count their epochs themselves where one iterates
over them. A `Sampler` of your own defines `__iter__`, and `__len__`.
"""

from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np

from minifp.checks import check_count, check_flag
from minifp.data.dataset import as_indices
from minifp.errors import ArgumentError
from minifp.runtime import random

AT_ONCE = 2**12  # indices that are drawn together where one after the other is asked for


class Sampler:
    """The base of samplers of PyTorch's kind: define `__iter__`, over indices, and `__len__`."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        raise ArgumentError(f"{type(self).__name__} does not define __iter__()")


class Repeated:
    """count indices below size, each drawn from all; a slice of them when it is asked for."""

    def __init__(self, size: int, count: int, seed: int, epoch: int) -> None:
        self.size, self.count, self.epoch = size, count, epoch
        self.streams = random.Streams(seed)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, part: slice) -> np.ndarray:
        start, stop, _ = part.indices(self.count)
        how: dict[str, Any] = {"purpose": "sampler", "call": self.epoch, "first": start}
        return self.streams.integers(0, self.size, (max(stop - start, 0),), **how)

    def __iter__(self) -> Iterator[int]:
        for start in range(0, self.count, AT_ONCE):
            yield from self[start : start + AT_ONCE].tolist()


class _Drawn(Sampler):
    """One whose indices are a function of the epoch and the seed."""

    epoch = 0  # of the next iteration
    count: int

    def __call__(self, epoch: int, seed: int) -> Any:
        """The indices of an epoch, int64."""
        raise ArgumentError(f"{type(self).__name__} does not define __call__()")

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Any]:
        indices = self(self.epoch, random.get_state()["seed"])
        self.epoch += 1
        return iter(indices if isinstance(indices, Repeated) else indices.tolist())


def _without(generator, sampler):
    if generator is not None and not getattr(generator, "is_of_process", False):
        raise ArgumentError(
            f"{sampler}: generator={generator!r}: expected None: fp.manual_seed(seed) is of all "
            "random numbers, and DataLoader(seed=...) of a loader's"
        )


def _permuted(n, seed, epoch, turn=0):
    """The loader's own shuffle; of another turn another one."""
    purpose = f"shuffle {turn}" if turn else "shuffle"
    return random.Streams(seed).permutation(n, purpose=purpose, call=epoch)


class SequentialSampler(_Drawn):
    """All items in their order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def __call__(self, epoch: int, seed: int) -> np.ndarray:
        return np.arange(len(self))


class RandomSampler(_Drawn):
    """All items in another order each epoch, that of DataLoader(shuffle=True).

    replacement: whether each is drawn from all. num_samples: how many, by default as many as there
    are; of more, without replacement, they are shuffled again. Raises ArgumentError for a generator
    and a num_samples below 1.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        check_flag("RandomSampler: replacement", replacement)
        _without(generator, "RandomSampler")
        count = len(data_source) if num_samples is None else num_samples
        self.count = check_count("RandomSampler: num_samples", count)
        self.data_source, self.replacement = data_source, replacement

    def __call__(self, epoch: int, seed: int) -> Any:
        n = len(self.data_source)
        if self.replacement:
            return Repeated(n, self.count, seed, epoch)
        turns = range(-(-self.count // n))
        return np.concatenate([_permuted(n, seed, epoch, turn) for turn in turns])[: self.count]


class SubsetRandomSampler(_Drawn):
    """Some items, each epoch in another order. indices: which."""

    def __init__(self, indices: Sized, generator: Any = None) -> None:
        _without(generator, "SubsetRandomSampler")
        self.indices = indices
        self.count = len(indices)

    def __call__(self, epoch: int, seed: int) -> np.ndarray:
        most = np.iinfo(np.int64).max
        chosen = as_indices("SubsetRandomSampler: indices", _listed(self.indices), most)
        return chosen[_permuted(len(chosen), seed, epoch)]


class WeightedRandomSampler(_Drawn):
    """Items drawn as often as their weights say, which need not sum to 1.

    num_samples: how many an epoch has. replacement: whether each is drawn from all; if not, at most
    as many as have a weight. Raises ArgumentError for weights that are no numbers of at least 0 in
    one row, of which one is more.
    """

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        _without(generator, "WeightedRandomSampler")
        check_flag("WeightedRandomSampler: replacement", replacement)
        self.count = check_count("WeightedRandomSampler: num_samples", num_samples)
        self.weights = np.array(_listed(weights), np.float64)
        self.replacement = replacement
        is_row = self.weights.ndim == 1 and np.isfinite(self.weights).all()
        if not is_row or (self.weights < 0).any() or not self.weights.any():
            raise ArgumentError(
                "WeightedRandomSampler: weights: expected finite numbers of at least 0 in one row, "
                "and one above 0"
            )
        positive = np.count_nonzero(self.weights)
        if not replacement and self.count > positive:
            raise ArgumentError(
                f"WeightedRandomSampler: num_samples={self.count} without replacement, but "
                f"{positive} items have a weight above 0"
            )

    def __call__(self, epoch: int, seed: int) -> np.ndarray:
        n = self.count if self.replacement else len(self.weights)
        streams = random.Streams(seed)
        drawn = streams.uniform((n,), purpose="sampler", call=epoch).astype(np.float64)
        if self.replacement:
            ends = np.cumsum(self.weights)
            return np.searchsorted(ends, drawn * ends[-1], side="right")
        with np.errstate(divide="ignore"):  # exponential times: the shorter, the larger the weight
            times = -np.log1p(-drawn - 2.0**-25) / self.weights
        return np.argsort(times, kind="stable")[: self.count]


class BatchSampler(_Drawn):
    """Lists of indices: those of a sampler in batches, for DataLoader(batch_sampler=...).

    sampler: one of these, or any iterable of indices. drop_last: leave out a last batch that is
    smaller.
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        check_flag("BatchSampler: drop_last", drop_last)
        self.sampler, self.drop_last = sampler, drop_last
        self.batch_size = check_count("BatchSampler: batch_size", batch_size)

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __call__(self, epoch: int, seed: int) -> Any:
        indices = [*drawn_by(self.sampler, epoch, seed)]
        size = self.batch_size
        batches = [indices[i : i + size] for i in range(0, len(indices), size)]
        return batches[: len(batches) - (self.drop_last and len(indices) % size > 0)]

    def __iter__(self) -> Iterator[Any]:
        batches = self(self.epoch, random.get_state()["seed"])
        self.epoch += 1
        return iter([[int(i) for i in batch] for batch in batches])


def drawn_by(sampler: Any, epoch: int, seed: int) -> Any:
    """What a sampler gives for an epoch: one that is a function of these is called, and any other
    is iterated over."""
    return sampler(epoch, seed) if callable(sampler) else _listed(sampler)


def _listed(values):
    """What is no array as a list; an iterator, which has one epoch only, as it is."""
    is_listed = isinstance(values, Iterable) and not isinstance(values, Iterator)
    return [*values] if is_listed and not hasattr(values, "__array__") else values


def get_worker_info() -> None:
    """None: items are taken in the process that asks for them, as PyTorch has it there."""
