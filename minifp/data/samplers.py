"""Orders of a data set's items for DataLoader(sampler=...): functions of the epoch and the seed."""

import numpy as np

from minifp.checks import check_count
from minifp.data.dataset import as_indices
from minifp.errors import ArgumentError
from minifp.ops.creation import Data
from minifp.runtime import random


class BucketSampler:
    """Batches of items that are about as long, so that little of a batch is padding.

    lengths: of all items, (n) integers. batch_size: the loader's. pool: of how many batches items
    are sorted together. Each epoch all items are shuffled; those of each pool are sorted by length
    and cut into batches; then batches are shuffled, but for a last one that is smaller, which stays
    the last. So batches of an epoch are of all lengths in any order. Raises ArgumentError for
    lengths that are no integers of at least 0.
    """

    def __init__(self, lengths: Data, batch_size: int, pool: int = 50) -> None:
        most = np.iinfo(np.int64).max
        self.lengths = as_indices("BucketSampler: lengths", lengths, most)
        self.batch_size = check_count("BucketSampler: batch_size", batch_size)
        self.pool = check_count("BucketSampler: pool", pool)

    def __call__(self, epoch: int, seed: int) -> np.ndarray:
        """The indices of an epoch, (n) int64, of which each batch_size in a row are a batch."""
        streams = random.Streams(seed)
        order = streams.permutation(len(self.lengths), purpose="shuffle", call=epoch)
        size = self.batch_size * self.pool
        pools = [order[i : i + size] for i in range(0, len(order), size)]
        order = np.concatenate([p[np.argsort(self.lengths[p], kind="stable")] for p in pools])
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        whole = [b for b in batches if len(b) == self.batch_size]
        turns = streams.permutation(len(whole), purpose="shuffled batches", call=epoch)
        return np.concatenate([*(whole[i] for i in turns), *batches[len(whole) :]])

    def __repr__(self):
        return f"BucketSampler({len(self.lengths)} items in batches of {self.batch_size})"


class StreamSampler:
    """One long text, of which each row of a batch goes on where it ended in the batch before.

    items: how many pieces of the text there are, in order (as those of a TextDataset). lanes: rows
    of a batch, the loader's batch_size. The text is a ring of lanes * (items // lanes) pieces, cut
    into as many parts as there are lanes; row b of an epoch's batches reads part b + epoch. So row
    b's next epoch also goes on where its last one ended, and what a recurrent network knows may be
    carried through all of training; only where the ring is closed does the text jump. Where it is
    cut depends on the seed. Pieces that do not fill all lanes are left out.

    Raises ArgumentError for fewer items than lanes.
    """

    def __init__(self, items: int, lanes: int) -> None:
        self.items = check_count("StreamSampler: items", items)
        self.lanes = check_count("StreamSampler: lanes", lanes)
        if self.items < self.lanes:
            raise ArgumentError(f"StreamSampler: {items} items for {lanes} lanes: expected more")

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return self.items // self.lanes

    def __call__(self, epoch: int, seed: int) -> np.ndarray:
        """The indices of an epoch, (lanes * steps) int64, row after row of each batch."""
        epoch = check_count("StreamSampler: epoch", epoch, least=0)
        total = self.steps * self.lanes
        first = random.Streams(seed).integers(0, total, (), purpose="first piece", call=0)
        parts = (np.arange(self.lanes) + epoch) % self.lanes * self.steps
        return ((first + parts + np.arange(self.steps)[:, None]) % total).reshape(-1)

    def __repr__(self):
        return f"StreamSampler({self.items} items in {self.lanes} lanes)"
