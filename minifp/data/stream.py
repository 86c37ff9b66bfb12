"""Data sets that give their items one after the other, without numbers."""

from functools import partial
from itertools import islice, repeat
from typing import Any

from minifp.data.dataset import name_of
from minifp.data.items import batch_of
from minifp.errors import ArgumentError, DataError


class Stream:
    """The epochs of what has `__iter__` alone: each begins it anew.

    Raises ArgumentError for what needs items by index: shuffle, sampler, transform.
    """

    def __init__(self, dataset: Any, **by_index: Any) -> None:
        self.dataset = dataset
        for name, setting in by_index.items():
            if setting not in (None, False):
                raise ArgumentError(
                    f"DataLoader: {name} needs items by index, and {name_of(dataset)} has only an "
                    "__iter__: do it there, or make a list of its items"
                )

    def pieces(self, position: int, size: int, whole: bool, collate_fn: Any) -> tuple[Any, Any]:
        """(make, arguments): make gives for each argument (count, batch), or None at the end.

        position: how many items are passed over. whole: a smaller last batch is left out.
        """
        items = islice(iter(self.dataset), position, None)
        return partial(self._batch, items, size, whole, collate_fn), repeat(None)

    def _batch(self, items, size, whole, collate_fn, _):
        taken = list(islice(items, size))
        if not taken or (whole and len(taken) < size):
            return None
        doing = f"data set {name_of(self.dataset)}: collating {len(taken)} items"
        return len(taken), batch_of(collate_fn, taken, doing)

    def check_end(self, position: int) -> None:
        """Raise DataError where an epoch ended before there was a batch."""
        if not position:
            hint = ": it is an iterator, which is exhausted" * (iter(self.dataset) is self.dataset)
            raise DataError(
                f"DataLoader: the data set {name_of(self.dataset)} yields no batch{hint}. Give an "
                "object whose __iter__ starts again, or a list"
            )
