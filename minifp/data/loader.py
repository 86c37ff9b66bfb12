"""Batches of a data set, in an order that depends on the seed and the epoch alone."""

import operator

import numpy as np

from minifp import random
from minifp.data.dataset import name_of, take
from minifp.errors import ArgumentError, DataError
from minifp.ops.creation import tensor

COUNTS = ("epoch", "position", "size")  # the integers of a state


class DataLoader:
    """Batches of a data set: iterating gives tuples of Tensors, one for each field.

    Floating fields take the storage format of the precision that is active when the batch is made;
    integers keep theirs. `len()` is the number of batches in an epoch.

    dataset: a `Dataset`, or any object with `__len__` and a `__getitem__` that takes an array of
        indices and returns a tuple of arrays.
    shuffle: every epoch in another order, which depends on the seed and the epoch's number only,
        not on how many other random numbers were drawn.
    drop_last: leave out a last batch that is smaller than the others.
    seed: of the order; None takes the global seed (`fp.manual_seed`) when an epoch begins.

    Each iteration begins a new epoch, counted in `.epoch` at its first batch, also where the one
    before was left early; to go on inside an epoch, use `state_dict` and `load_state_dict`. Raises
    DataError for an empty data set, and ArgumentError for arguments that cannot be.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, *, drop_last=False, seed=None):
        if isinstance(dataset, (list, tuple, np.ndarray)) or not (
            hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")
        ):
            raise ArgumentError(
                "DataLoader: expected a data set, with a length and items by an array of indices, "
                f"got {type(dataset).__name__}. For arrays: DataLoader(TensorDataset(x, t))."
            )
        if isinstance(batch_size, bool) or not hasattr(batch_size, "__index__") or batch_size < 1:
            raise ArgumentError(
                f"DataLoader: batch_size must be an integer of at least 1, got {batch_size!r}"
            )
        self.dataset, self.batch_size = dataset, operator.index(batch_size)
        self.shuffle, self.drop_last = bool(shuffle), bool(drop_last)
        self.seed = None if seed is None else random.Streams(seed).seed
        if len(dataset) == 0:
            raise DataError(f"DataLoader: the data set {name_of(dataset)} is empty")
        if len(self) == 0:
            raise DataError(
                f"DataLoader: drop_last leaves nothing of the data set {name_of(dataset)}: "
                f"{len(dataset)} items are less than one batch of {self.batch_size}"
            )
        self.epoch = 0
        self._begun = self._resumed = None

    def __len__(self):
        whole, rest = divmod(len(self.dataset), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self):
        return (tuple(tensor(field) for field in batch) for batch in self.arrays())

    def arrays(self):
        """Iterate over an epoch whose batches are tuples of arrays, as the data set gives them.

        It is counted, and can be resumed, like one of Tensors: when the first batch is taken, so
        that a progress bar may ask for an iterator twice.
        """
        epoch = self._resumed or _Epoch(self.epoch, self._seed_now(), 0)
        self._begun, self._resumed, self.epoch = epoch, None, epoch.number + 1
        order = self._order(epoch)
        while not self._is_over(epoch.position):
            indices = order[epoch.position : epoch.position + self.batch_size]
            batch = take(self.dataset, indices)
            # before the batch is used: a state that is saved meanwhile resumes after this batch
            epoch.position += len(indices)
            yield batch

    def _order(self, epoch):
        n = len(self.dataset)
        if not self.shuffle:
            return np.arange(n)
        return random.Streams(epoch.seed).permutation(n, purpose="shuffle", call=epoch.number)

    def _is_over(self, position):
        left = len(self.dataset) - position
        return left < (self.batch_size if self.drop_last else 1)

    def _seed_now(self):
        return random.get_state()["seed"] if self.seed is None else self.seed

    def state_dict(self) -> dict:
        """Return where the loader is, fit for JSON: epoch, its items already given, and its seed.

        Taken while a batch is used, it resumes with the batch after it.
        """
        size, epoch = len(self.dataset), self._resumed or self._begun
        if epoch is None or self._is_over(epoch.position):
            epoch = _Epoch(self.epoch, self.seed, 0)
        return {"epoch": epoch.number, "position": epoch.position, "seed": epoch.seed, "size": size}

    def load_state_dict(self, state: dict) -> None:
        """Make the next iteration go on where `state_dict` was taken, also in other batches.

        An epoch under way keeps the seed it began with. Raises ArgumentError, with nothing changed,
        where this is no such state or one of a data set of another size.
        """
        try:
            number, position, size = map(operator.index, operator.itemgetter(*COUNTS)(state))
            seed = random.Streams(state["seed"]).seed if position else None
        except (ArgumentError, KeyError, TypeError) as error:
            raise ArgumentError(
                f"DataLoader.load_state_dict: expected what state_dict() returned, got {state!r}"
            ) from error
        if size != len(self.dataset) or number < 0 or not 0 <= position <= size:
            raise ArgumentError(
                f"DataLoader.load_state_dict: the state, epoch {number} at item {position} of "
                f"{size}, does not fit the data set {name_of(self.dataset)} of "
                f"{len(self.dataset)} items"
            )
        self.epoch, self._begun, self._resumed = number, None, None
        if self._is_over(position):  # as it can be in batches of another size
            self.epoch += 1
        elif position:
            self._resumed = _Epoch(number, seed, position)


class _Epoch:
    """An epoch under way; an iterator advances its own, even where another has begun since."""

    def __init__(self, number, seed, position):
        self.number, self.seed, self.position = number, seed, position
