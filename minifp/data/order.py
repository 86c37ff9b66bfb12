"""In which order an epoch takes the items of a data set."""

import numpy as np

from minifp.data.dataset import as_indices
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
        self._count = None if sampler is None else len(self._sampled(0, seed))

    def __len__(self):
        return len(self.dataset) if self.sampler is None else self._count

    def indices(self, epoch: int, seed: int) -> np.ndarray:
        """Return the indices of an epoch, (len,) int64.

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

    def _sampled(self, epoch, seed):
        drawn = self.sampler(epoch, seed) if callable(self.sampler) else self.sampler
        return as_indices("DataLoader: sampler", drawn, len(self.dataset))
