"""In which order an epoch takes the items of a data set."""

from typing import Any

import numpy as np

from minifp.data.dataset import as_indices
from minifp.data.torch_samplers import Repeated, Sampler, drawn_by
from minifp.errors import ArgumentError, DataError
from minifp.runtime import random


class Order:
    """The order of each epoch, a function of its number and the seed; `len()` is how many items.

    shuffle and sampler are as `DataLoader` has them; seed is any that the sampler understands.
    Raises ArgumentError for both of them, or a sampler that gives what are no indices.
    """

    def __init__(self, dataset, shuffle: bool, sampler, seed: int):
        if sampler is not None and shuffle:
            raise ArgumentError("DataLoader: give shuffle or sampler, not both: each is an order")
        self.dataset, self.shuffle, self.sampler = dataset, shuffle, sampler
        self._count = None if sampler is None else self._counted(seed)

    def __len__(self):
        return len(self.dataset) if self.sampler is None else self._count

    def indices(self, epoch: int, seed: int) -> Any:
        """Return the indices of an epoch, (len,) int64, or what gives slices of them.

        Raises DataError where the sampler gives more or fewer than at first.
        """
        if self.sampler is not None:
            indices = self._sampled(epoch, seed)
            if len(indices) != self._count:
                raise DataError(
                    f"DataLoader: the sampler gave {len(indices)} indices for epoch {epoch}, "
                    f"expected {self._count}, as for epoch 0"
                )
            return indices
        if not self.shuffle:
            return np.arange(len(self))
        return random.Streams(seed).permutation(len(self), purpose="shuffle", call=epoch)

    def _counted(self, seed):
        """Of a sampler that draws as it is iterated over, what it says of itself."""
        says = isinstance(self.sampler, Sampler) and not callable(self.sampler)
        return len(self.sampler) if says else len(self._sampled(0, seed))

    def _sampled(self, epoch, seed):
        drawn = drawn_by(self.sampler, epoch, seed)
        if isinstance(drawn, Repeated) and drawn.size <= len(self.dataset):
            return drawn
        return as_indices("DataLoader: sampler", drawn, len(self.dataset))


class Batched:
    """The batches of each epoch, as a batch_sampler gives them; `len()` is what it says.

    Raises ArgumentError for one that gives other than rows of indices.
    """

    def __init__(self, dataset, batch_sampler):
        if not callable(batch_sampler) and not hasattr(batch_sampler, "__iter__"):
            raise ArgumentError(
                f"DataLoader: batch_sampler is a {type(batch_sampler).__name__}: expected lists of "
                "indices, such as BatchSampler gives"
            )
        self.dataset, self.batch_sampler = dataset, batch_sampler

    def __len__(self):
        return len(self.batch_sampler)

    def batches(self, epoch: int, seed: int) -> list[np.ndarray]:
        """The indices of each batch of an epoch."""
        drawn = drawn_by(self.batch_sampler, epoch, seed)
        size = len(self.dataset)
        return [as_indices("DataLoader: batch_sampler", batch, size) for batch in drawn]
