"""Batches of a data set, in an order that depends on the seed and the epoch alone."""

import operator
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.data.dataset import AnyDataset, as_dataset, name_of, rows, take
from minifp.data.items import collated, listed
from minifp.data.order import Order
from minifp.data.prefetch import ahead
from minifp.data.structure import mapped_by_name
from minifp.data.transforms.draws import Draws, Transform
from minifp.errors import ArgumentError, DataError
from minifp.ops.creation import Data, tensor
from minifp.runtime import random
from minifp.runtime.device import as_device

COUNTS = ("epoch", "position", "size")  # the integers of a state
# Entries of targets that are in pixels, which float16 cannot tell apart: see detection/targets.py.
IN_PIXELS = ("boxes", "area")
# What PyTorch's loader has and this one has not.
HINTS = {
    "num_workers": "batches are prepared on a thread: prefetch=2 keeps two of them ready, and "
    "ImageFolder(workers=2) decodes their pictures in processes",
    "prefetch_factor": "prefetch=2 keeps two batches ready",
    "persistent_workers": "there are no workers; prefetch=2 keeps two batches ready on a thread",
    "pin_memory": "device='cuda' copies through pinned memory",
    "batch_sampler": "give sampler= and batch_size=",
    "generator": "give seed=",
}


if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    Batch = WithDefault("Batch", default=tuple[Tensor, ...])
else:
    Batch = TypeVar("Batch")


class DataLoader(Generic[Batch]):
    """Batches of a data set: iterating gives tuples of Tensors, one for each field.

    Floating fields take the storage format of the precision that is active when the batch is made;
    integers keep theirs, and so do "boxes" and "area" of a dict, which are in pixels, and stay
    float32. `len()` is the number of batches in an epoch.

    dataset: a `Dataset`, or any object with `__len__` and a `__getitem__` that takes an array of
        indices and returns a tuple of arrays; with collate_fn, one that takes one index.
    shuffle: every epoch in another order, which depends on the seed and the epoch's number only,
        not on how many other random numbers were drawn.
    sampler: instead of shuffle, the indices of an epoch in their order, or a function of (epoch,
        seed) that returns them: some or all, also repeatedly, in every epoch as many.
    drop_last: leave out a last batch that is smaller than the others.
    seed: of order and transform; None takes the global seed (`fp.manual_seed`) when an epoch
        begins.
    collate_fn: makes a batch, of any structure, of a list of items, which then are taken one by
        one: `fp.data.default_collate`, or one of your own, that pads, say. Arrays become Tensors.
    transform: what changes each batch, such as `fp.data.transforms.RandomCrop(32, padding=4)`; with
        collate_fn, before it, the list of items: see `fp.data.transforms`.
    prefetch: how many batches are prepared beforehand, on a thread that ends with the epoch or
        when it is left. Nothing else changes: numbers, order, errors, states are the same.
    device: where the tensors are; None is the default device when an epoch begins. To a GPU they
        are copied through pinned memory, while it works on the batch before.

    Each iteration begins a new epoch, counted in `.epoch` at its first batch, also where the one
    before was left early; to go on inside an epoch, use `state_dict` and `load_state_dict`. Raises
    DataError for an empty data set, and ArgumentError for arguments that cannot be.
    """

    @overload
    def __init__(
        self: "DataLoader[tuple[Tensor, ...]]", dataset: AnyDataset, batch_size: int = 1,
        shuffle: bool = False, *, sampler: Data | Callable[[int, int], Any] | None = None,
        drop_last: bool = False, seed: int | None = None, collate_fn: None = None,
        transform: Transform | None = None, prefetch: int = 0, device: str | None = None,
        **others: Any,
    ) -> None: ...  # fmt: skip

    @overload
    def __init__(
        self: "DataLoader[Any]", dataset: AnyDataset, batch_size: int = 1, shuffle: bool = False,
        *, collate_fn: Callable[[list], Any] | None, **others: Any,
    ) -> None: ...  # fmt: skip

    def __init__(
        self,
        dataset: AnyDataset,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        sampler: Data | Callable[[int, int], Any] | None = None,
        drop_last: bool = False,
        seed: int | None = None,
        collate_fn: Callable[[list], Any] | None = None,
        transform: Transform | None = None,
        prefetch: int = 0,
        device: str | None = None,
        **others: Any,
    ) -> None:
        for name in others:
            hint = HINTS.get(name, "there is no such argument")
            raise ArgumentError(f"DataLoader: {name}={others[name]!r} is not supported: {hint}")
        if transform is not None and not callable(transform):
            raise ArgumentError(
                "DataLoader: transform must be a function of (fields, indices, draws), as in "
                f"fp.data.transforms, got {transform!r}"
            )
        if collate_fn is not None and not callable(collate_fn):
            raise ArgumentError(
                f"DataLoader: collate_fn must be a function of a list of items, got {collate_fn!r}"
            )
        self.dataset = as_dataset("DataLoader", dataset)
        self.batch_size = _at_least(1, "batch_size", batch_size)
        self.prefetch = _at_least(0, "prefetch", prefetch)
        self.shuffle, self.drop_last = bool(shuffle), bool(drop_last)
        self.sampler, self.collate_fn, self.transform = sampler, collate_fn, transform
        self.device = None if device is None else as_device(device)
        self._upload: Any = None
        self.seed = None if seed is None else random.Streams(seed).seed
        self._order = Order(dataset, self.shuffle, sampler, self._seed_now())
        if len(self._order) == 0:
            what = (
                "is empty" if len(dataset) == 0 else "is not empty, but the sampler gives nothing"
            )
            raise DataError(f"DataLoader: the data set {name_of(dataset)} {what}")
        if len(self) == 0:
            raise DataError(
                f"DataLoader: drop_last leaves nothing of the data set {name_of(dataset)}: "
                f"{len(self._order)} items are less than one batch of {self.batch_size}"
            )
        self.epoch = 0
        self._begun: _Epoch | None = None
        self._resumed: _Epoch | None = None

    def __len__(self) -> int:
        whole, rest = divmod(len(self._order), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Batch]:
        with closing(self.arrays()) as batches:
            for batch in batches:
                yield self.placed(batch)

    def placed(self, batch: Any) -> Any:
        """The batch with tensors for its arrays, on the loader's device."""
        return mapped_by_name(self._placed, batch)

    def _placed(self, array, name):
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
            return array
        keeps = name in IN_PIXELS and array.dtype.kind == "f"
        made = tensor(array, dtype="float32" if keeps else None, device="cpu")
        if as_device(self.device) == "cpu":
            return made
        if self._upload is None:
            self._upload = import_module("minifp.runtime.cuda.transfer").Upload()
        return Tensor(self._upload(made.array))

    def arrays(self) -> Generator[Any, None, None]:
        """Iterate over an epoch whose batches are tuples of arrays, as the data set gives them.

        (Or as the transform or collate_fn does.) It is counted, and can be resumed, like one of
        Tensors: when the first batch is taken, so that a progress bar may ask for an iterator
        twice.
        """
        epoch = self._resumed or _Epoch(self.epoch, self._seed_now(), 0)
        order = self._order.indices(epoch.number, epoch.seed)
        self._begun, self._resumed, self.epoch = epoch, None, epoch.number + 1
        starts = range(epoch.position, len(order), self.batch_size)
        pieces = [order[start : start + self.batch_size] for start in starts]
        pieces = [indices for indices in pieces if self._is_whole(len(indices))]
        with closing(ahead(self._maker(epoch, order), pieces, self.prefetch)) as batches:
            for indices, batch in zip(pieces, batches):
                # before the batch is used: a state saved meanwhile resumes after this batch
                epoch.position += len(indices)
                yield batch

    def _maker(self, epoch, order):
        """The function that makes a batch of indices; it touches nothing of the loader."""
        dataset, transform, collate = self.dataset, self.transform, self.collate_fn
        every = None if self.sampler is None else np.unique(order)
        fetch: Callable[[np.ndarray], Any] = partial(take if collate is None else listed, dataset)
        draws = Draws(epoch.seed, epoch.number, len(dataset), fetch, every)
        if collate is not None:
            return partial(collated, dataset, collate, transform, draws)
        if transform is None:
            return fetch

        def make(indices):
            return rows(
                transform(take(dataset, indices), indices, draws),
                len(indices),
                f"DataLoader: asked {transform!r} to change {len(indices)} items",
                "A transform returns a tuple of all fields.",
            )

        return make

    def _is_over(self, position):
        return not self._is_whole(len(self._order) - position)

    def _is_whole(self, count):
        return count >= (self.batch_size if self.drop_last else 1)

    def _seed_now(self):
        return random.get_state()["seed"] if self.seed is None else self.seed

    def state_dict(self) -> dict:
        """Return where the loader is, fit for JSON: epoch, its items already given, and its seed.

        Taken while a batch is used, it resumes with the batch after it.
        """
        epoch = self._resumed or self._begun
        if epoch is None or self._is_over(epoch.position):
            epoch = _Epoch(self.epoch, self.seed, 0)
        where = {"epoch": epoch.number, "position": epoch.position}
        return {**where, "seed": epoch.seed, "size": len(self._order)}

    def check_state_dict(self, state: dict) -> tuple:
        """(epoch, position, seed) of a state. Raises ArgumentError where it is no such state, or
        one of a data set of another size."""
        try:
            number, position, size = map(operator.index, operator.itemgetter(*COUNTS)(state))
            seed = random.Streams(state["seed"]).seed if position else None
        except (ArgumentError, IndexError, KeyError, TypeError) as error:
            raise ArgumentError(
                f"DataLoader.load_state_dict: expected what state_dict() returned, got {state!r}"
            ) from error
        if size != len(self._order) or number < 0 or not 0 <= position <= size:
            raise ArgumentError(
                f"DataLoader.load_state_dict: the state, epoch {number} at item {position} of "
                f"{size}, does not fit the data set {name_of(self.dataset)} of "
                f"{len(self._order)} items"
            )
        return number, position, seed

    def load_state_dict(self, state: dict) -> None:
        """Make the next iteration go on where `state_dict` was taken, also in other batches.

        An epoch under way keeps the seed it began with. Raises ArgumentError, with nothing changed,
        as check_state_dict does.
        """
        number, position, seed = self.check_state_dict(state)
        self.epoch, self._begun, self._resumed = number, None, None
        if self._is_over(position):  # as it can be in batches of another size
            self.epoch += 1
        elif position:
            self._resumed = _Epoch(number, seed, position)


class _Epoch:
    """An epoch under way; an iterator advances its own, even where another has begun since."""

    def __init__(self, number, seed, position):
        self.number, self.seed, self.position = number, seed, position


def _at_least(least, name, value):
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise ArgumentError(
            f"DataLoader: {name} must be an integer of at least {least}, got {value!r}"
        )
    return operator.index(value)
