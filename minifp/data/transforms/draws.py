"""The random numbers of a transform, and transforms one after the other."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from minifp.data.dataset import Fields
from minifp.errors import ArgumentError
from minifp.runtime import random

Take: TypeAlias = Callable[[np.ndarray], Fields]


class Draws:
    """The random numbers of one epoch: for each purpose one for each item of the data set.

    size: how many items it has. take: the function of indices that returns their fields, for
    transforms that need other items. all_items: the indices of the epoch's items, each once, in
    order; None for all of the data set's.

    purpose: any text that names what the numbers are for; another gives other numbers.
    """

    def __init__(
        self,
        seed: int,
        epoch: int,
        size: int,
        take: Take | None = None,
        all_items: np.ndarray | None = None,
    ) -> None:
        self._streams, self._epoch, self._size = random.Streams(seed), epoch, size
        self._take, self._all = take, all_items
        self._known: dict[str, np.ndarray] = {}
        self._prefix = "transform"

    def uniform(self, indices: np.ndarray, purpose: str) -> np.ndarray:
        """Return for the items of these indices float32 numbers, equally likely in [0, 1)."""
        purpose = f"{self._prefix} {purpose}"
        if purpose not in self._known:  # all of the epoch at once, which is cheaper
            drawn = self._streams.uniform(self._size, purpose=purpose, call=self._epoch)
            self._known[purpose] = drawn
        return self._known[purpose][indices]

    def integers(self, high: int, indices: np.ndarray, purpose: str) -> np.ndarray:
        """Return for the items of these indices int64 numbers from 0 to high - 1.

        high: at most 2**16, so that none is likelier than another by more than 2^-8 of itself.
        """
        return np.floor(self.uniform(indices, purpose).astype(np.float64) * high).astype(np.int64)

    def normal(self, index: int, shape: tuple[int, ...], purpose: str) -> np.ndarray:
        """Return for one item float32 numbers of the standard normal distribution."""
        call = self._epoch * self._size + index
        return self._streams.normal(shape, purpose=f"{self._prefix} {purpose}", call=call)

    def many(self, index: int, shape: tuple[int, ...], purpose: str) -> np.ndarray:
        """Return for one item float32 numbers, equally likely in [0, 1), as many as there are in a
        shape."""
        call = self._epoch * self._size + index
        return self._streams.uniform(shape, purpose=f"{self._prefix} {purpose}", call=call)

    def partners(self, indices: np.ndarray, purpose: str) -> np.ndarray:
        """Return for each of these items another of the epoch, (n,) int64, or rarely itself.

        In an epoch each item is the partner of exactly one.
        """
        purpose = f"{self._prefix} {purpose}"
        if purpose not in self._known:
            every = np.arange(self._size) if self._all is None else self._all
            order = self._streams.permutation(len(every), purpose=purpose, call=self._epoch)
            of_item = np.zeros(self._size, np.int64)
            of_item[every] = every[order]
            self._known[purpose] = of_item
        return self._known[purpose][indices]

    def items(self, indices: np.ndarray) -> Fields:
        """Return the fields of any items of the data set as this transform would be given them.

        Raises ArgumentError where no loader has said where they are.
        """
        if self._take is None:
            raise ArgumentError(
                "the transform needs other items of the data set, which these draws do not have: "
                "give it to a DataLoader(transform=...), or give Draws(take=...)"
            )
        return self._take(indices)

    def again(self, turn: int, take: Take | None = None) -> "Draws":
        """Return draws of the same items that are others than these, unless turn is 0.

        take: what `items` of the new ones asks.
        """
        other = Draws.__new__(Draws)
        vars(other).update(vars(self))
        other._prefix += f" {turn}" * (turn > 0)
        other._take = self._take if take is None else take
        return other


Transform: TypeAlias = Callable[[Fields, np.ndarray, Draws], Fields]


class Compose:
    """Several transforms, one after the other. Raises ArgumentError for what is no function.

    The second one of a kind draws other numbers than the first.
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        if not isinstance(transforms, (list, tuple)) or not all(map(callable, transforms)):
            raise ArgumentError(f"Compose: expected a list of transforms, got {transforms!r}")
        self.transforms: list[Transform] = []
        for t in transforms:  # flat, so that all of a kind are counted
            self.transforms += t.transforms if isinstance(t, Compose) else [t]

    def __call__(self, fields: Fields, indices: np.ndarray, draws: Draws) -> Fields:
        return self._first(len(self.transforms), fields, indices, draws)

    def _first(self, count, fields, indices, draws):
        """What the first `count` transforms make of these fields."""
        turns: dict[type, int] = {}
        for k, transform in enumerate(self.transforms[:count]):
            turn = turns[type(transform)] = turns.get(type(transform), -1) + 1
            take = partial(self._changed, k, draws)
            fields = transform(fields, indices, draws.again(turn, take))
        return fields

    def _changed(self, count, draws, indices):
        return self._first(count, draws.items(indices), indices, draws)

    def __repr__(self):
        return f"Compose({self.transforms!r})"
