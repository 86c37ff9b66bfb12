"""The batches of one epoch, as an iterator that knows how many the loader has in each."""

from collections.abc import Generator, Iterator, Sized
from typing import Generic, TypeVar

Batch = TypeVar("Batch")


class Batches(Iterator[Batch], Generic[Batch]):
    """What a generator yields. `len` is that of the loader, as in PyTorch, and raises TypeError
    where that does. `close`, and dropping it, ends the generator."""

    def __init__(self, batches: Generator[Batch, None, None], loader: Sized) -> None:
        self._batches, self._loader = batches, loader
        self.close = batches.close

    def __next__(self) -> Batch:
        return next(self._batches)

    def __len__(self) -> int:
        return len(self._loader)
