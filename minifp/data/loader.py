"""Batches of a data set, in an order that depends on the seed and the epoch alone."""

import operator
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.data.batches import Batches
from minifp.data.dataset import AnyDataset, as_dataset, is_stream, name_of, rows, take, takes_arrays
from minifp.data.items import alone, collated, listed
from minifp.data.order import Batched, Order
from minifp.data.prefetch import ahead
from minifp.data.stream import Stream
from minifp.data.structure import default_collate, mapped, mapped_by_field
from minifp.data.transforms.draws import Draws, Transform
from minifp.errors import ArgumentError, DataError
from minifp.numerics import policy
from minifp.numerics.formats import float32, wider
from minifp.ops.creation import Data, storage_dtype, tensor
from minifp.runtime import random
from minifp.runtime.device import as_device

COUNTS = ("epoch", "position", "size")  # the integers of a state
# What PyTorch's loader has and this one has not.
HINTS = {"generator": "give seed="}
OF_WORKERS = (  # what changes no batch, and is taken: items are taken by the process that asks
    "num_workers prefetch_factor persistent_workers pin_memory pin_memory_device timeout "
    "worker_init_fn multiprocessing_context in_order"
).split()
Source: TypeAlias = AnyDataset | Iterable[Any]


if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    Batch = WithDefault("Batch", default=tuple[Tensor, ...])
else:
    Batch = TypeVar("Batch")


class DataLoader(Generic[Batch]):
    """Batches of a data set: iterating gives tuples of Tensors, one for each field.

    The input, which is the first field, takes the storage format of the precision that is active
    when the batch is used. All other floating fields are float32 (or wider, where that is), for
    targets are no activations: float16 has no 2,049. So are tensors that code of the data set, the
    transform or the collate_fn makes. Integers keep their format. `len()` is the number of batches
    in an epoch.

    dataset: a `Dataset`, a list of items, or any object with `__len__` and `__getitem__`, which is
        given one index, an int, unless its class says `takes_arrays = True`: then an array of
        them, and returns a tuple of arrays. Or an object with `__iter__` alone, which gives items
        one after the other (see `IterableDataset`): then without shuffle, sampler and transform.
    shuffle: every epoch in another order, which depends on the seed and the epoch's number only,
        not on how many other random numbers were drawn.
    sampler: instead of shuffle, the indices of an epoch in their order, or a function of (epoch,
        seed) that returns them: some or all, also repeatedly, in every epoch as many. Or one of
        PyTorch's kind (`fp.data.Sampler`), which gives them as it is iterated over.
    batch_sampler: instead of batch_size, shuffle, sampler and drop_last, the indices of each batch
        of an epoch, in the same ways.
    batch_size: of items; None gives them one by one, as they are, without an axis of the batch;
        collate_fn is then given an item.
    drop_last: leave out a last batch that is smaller than the others.
    seed: of order and transform; None takes the global seed (`fp.manual_seed`) when an epoch
        begins.
    collate_fn: makes a batch, of any structure, of a list of items, which then are taken one by
        one: by default `fp.data.default_collate`; one of your own pads them, say. Arrays become
        Tensors.
    transform: what changes each batch, such as `fp.data.transforms.RandomCrop(32, padding=4)`; with
        collate_fn, before it, the list of items: see `fp.data.transforms`.
    prefetch: how many batches are prepared beforehand, on a thread that ends with the epoch or
        when it is left. Nothing else changes: numbers, order, errors, states are the same.
    device: where the tensors are; None is the default device when an epoch begins. To a GPU they
        are copied through pinned memory, while it works on the batch before.
    inputs: which fields take the format of activations, by number, or, of a dict, by name: (0, 1),
        say, or (). None is the first (of a dict, the first that is not called target, label, y,
        boxes, area, id or index).

    num_workers, and what PyTorch's loader has for workers beside it, are taken and change nothing:
    the batches and the random numbers are those of num_workers=0.

    Each iteration begins a new epoch, counted in `.epoch` at its first batch, also where the one
    before was left early; to go on inside an epoch, use `state_dict` and `load_state_dict`. Raises
    DataError for an empty data set, and ArgumentError for invalid arguments.
    """

    @overload
    def __init__(
        self: "DataLoader[tuple[Tensor, ...]]",
        dataset: Source,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        sampler: Data | Callable[[int, int], Any] | None = None,
        drop_last: bool = False,
        seed: int | None = None,
        collate_fn: None = None,
        transform: Transform | None = None,
        prefetch: int = 0,
        device: str | None = None,
        inputs: int | str | Sequence[int | str] | None = None,
        **others: Any,
    ) -> None: ...

    @overload
    def __init__(
        self: "DataLoader[Any]",
        dataset: Source,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        collate_fn: Callable[[list], Any] | None,
        **others: Any,
    ) -> None: ...

    @overload
    def __init__(
        self: "DataLoader[Any]",
        dataset: Source,
        batch_size: None,
        shuffle: bool = False,
        *,
        collate_fn: Callable[[Any], Any] | None = None,
        **others: Any,
    ) -> None: ...

    def __init__(
        self,
        dataset: Source,
        batch_size: int | None = 1,
        shuffle: bool = False,
        *,
        sampler: Data | Callable[[int, int], Any] | Iterable[int] | None = None,
        batch_sampler: Iterable[Any] | Callable[[int, int], Any] | None = None,
        drop_last: bool = False,
        seed: int | None = None,
        collate_fn: Callable[[list], Any] | None = None,
        transform: Transform | None = None,
        prefetch: int = 0,
        device: str | None = None,
        inputs: int | str | Sequence[int | str] | None = None,
        **others: Any,
    ) -> None:
        for name in others:
            if name in OF_WORKERS or (name in HINTS and not others[name]):
                continue
            hint = HINTS.get(name, "there is no such argument")
            raise ArgumentError(f"DataLoader: {name}={others[name]!r} is not supported: {hint}")
        if transform is not None and not callable(transform):
            raise ArgumentError(
                "DataLoader: transform must be a function of (fields, indices, draws), as in "
                f"fp.data.transforms, got {transform!r}"
            )
        if collate_fn is not None and not callable(collate_fn):
            expected = "must be a function of a list of items"
            raise ArgumentError(f"DataLoader: collate_fn {expected}, got {collate_fn!r}")
        if batch_size is not None:
            batch_size = check_count("DataLoader: batch_size", batch_size)
        self.batch_size = batch_size
        self._at_once, self._collate = self.batch_size or 1, collate_fn
        if batch_size is None:
            if drop_last:
                raise ArgumentError("DataLoader: drop_last with batch_size=None: there is no batch")
            self._collate = partial(alone, collate_fn)
        self.prefetch = check_count("DataLoader: prefetch", prefetch, least=0)
        self.shuffle, self.drop_last = bool(shuffle), bool(drop_last)
        self.sampler, self.collate_fn, self.transform = sampler, collate_fn, transform
        self.inputs = _as_fields(inputs)
        self.device = None if device is None else as_device(device)
        self._upload: Any = None
        self.seed = None if seed is None else random.Streams(seed).seed
        self.dataset: Any = dataset
        self.num_workers, self.batch_sampler = others.get("num_workers", 0), batch_sampler
        self._batched: Any = None
        self._stream: Any = None
        if batch_sampler is not None:
            self._check_alone(batch_size, shuffle, sampler, drop_last)
            self.dataset = as_dataset("DataLoader", dataset)
            self._batched = Batched(dataset, batch_sampler)
        elif is_stream(dataset) and not isinstance(dataset, (str, bytes, Mapping)):
            self._stream = Stream(dataset, shuffle=shuffle, sampler=sampler, transform=transform)
        else:
            self.dataset = as_dataset("DataLoader", dataset)
            self._order = Order(dataset, self.shuffle, sampler, self._seed_now())
            self._check_not_empty()
        self.epoch = 0
        self._begun: _Epoch | None = None
        self._resumed: _Epoch | None = None

    @staticmethod
    def _check_alone(batch_size, shuffle, sampler, drop_last):
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ArgumentError(
                "DataLoader: batch_sampler with batch_size, shuffle, sampler or drop_last: it says "
                "what these would: give it alone"
            )

    def _check_not_empty(self):
        if len(self._order) == 0:
            empty = len(self.dataset) == 0
            what = "is empty" if empty else "is not empty, but the sampler returns no indices"
            raise DataError(f"DataLoader: the data set {name_of(self.dataset)} {what}")
        if len(self) == 0:
            raise DataError(
                f"DataLoader: drop_last leaves nothing of the data set {name_of(self.dataset)}: "
                f"{len(self._order)} items do not fill one batch of {self._at_once}"
            )

    def __len__(self) -> int:
        if self._batched is not None:
            return len(self._batched)
        whole, rest = divmod(self._count(), self._at_once)
        return whole + (rest > 0 and not self.drop_last)

    def _count(self):
        """How many items an epoch has. Raises TypeError, as `len`, where that is not known."""
        return len(self._order if self._stream is None else self.dataset)

    def __iter__(self) -> Batches[Batch]:
        return Batches(self._batches(), self)

    def _batches(self):
        with closing(self.arrays()) as batches:
            for batch in batches:
                yield self.placed(batch)

    def placed(self, batch: Any) -> Any:
        """The batch with tensors for its arrays, on the loader's device.

        Raises ArgumentError where it has not all the fields that `inputs` names.
        """
        if self.inputs is not None:
            self._check_inputs(batch)
        return mapped_by_field(self._placed_field, batch)

    def _placed_field(self, values, field, first):
        is_input = field == first if self.inputs is None else field in self.inputs
        return mapped(partial(self._placed, is_input), values)

    def _check_inputs(self, batch):
        fields: list = []
        mapped_by_field(lambda values, field, first: fields.append(field), batch)
        strange = [field for field in self.inputs if field not in fields]
        if strange:
            raise ArgumentError(
                f"DataLoader: inputs={self.inputs} names {strange[0]!r}, and a batch has the "
                f"fields {list(dict.fromkeys(fields))}"
            )

    def _placed(self, is_input, array):
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
            return array
        is_target = array.dtype.kind == "f" and not is_input
        dtype = wider(float32, storage_dtype()) if is_target else None
        on_host = tensor(array, dtype=dtype, device="cpu")
        if as_device(self.device) == "cpu":
            return on_host
        if self._upload is None:
            self._upload = import_module("minifp.runtime.cuda.transfer").Upload()
        return Tensor(self._upload(on_host.array))

    def arrays(self) -> Generator[Any, None, None]:
        """Iterate over an epoch whose batches are tuples of arrays, as the data set gives them.

        (Or as the transform or collate_fn does.) It is counted, and can be resumed, like one of
        Tensors: when the first batch is taken, so that a progress bar may ask for an iterator
        twice.
        """
        epoch = self._resumed or _Epoch(self.epoch, self._seed_now(), 0)
        make, pieces = self._pieces(epoch)
        self._begun, self._resumed, self.epoch = epoch, None, epoch.number + 1
        make = partial(unrounded, make)
        with closing(ahead(make, pieces, self.prefetch)) as batches:
            for counted in batches:
                if counted is None:  # as a stream ends
                    self._stream.check_end(epoch.position)
                    break
                count, batch = counted
                # before the batch is used: a state saved meanwhile resumes after this batch
                epoch.position += count
                yield batch
        epoch.over = True

    def _pieces(self, epoch):
        """(make, arguments) of what is left of an epoch: see `Stream.pieces`."""
        if self._stream is not None:
            collate = self._collate or default_collate
            return self._stream.pieces(epoch.position, self._at_once, self.drop_last, collate)
        if self._batched is not None:
            return self._batches_of(epoch)
        order = self._order.indices(epoch.number, epoch.seed)
        fetch = self._maker(epoch, order)
        starts = range(epoch.position, len(order), self._at_once)
        pieces = (order[start : start + self._at_once] for start in starts)
        whole = (indices for indices in pieces if self._is_whole(len(indices)))
        return lambda indices: (len(indices), fetch(indices)), whole

    def _batches_of(self, epoch):
        """The same of a batch_sampler: batches whose items were given are passed over."""
        batches = self._batched.batches(epoch.number, epoch.seed)
        if not batches:
            raise DataError("DataLoader: the batch_sampler gives no batches")
        ends = np.cumsum([len(indices) for indices in batches])
        fetch = self._maker(epoch, np.concatenate(batches))
        left = batches[np.searchsorted(ends, epoch.position, side="right") :]
        return lambda indices: (len(indices), fetch(indices)), left

    def _maker(self, epoch, order):
        """The function that makes a batch of indices; it touches nothing of the loader."""
        dataset, transform, collate = self.dataset, self.transform, self._collate
        if collate is None and transform is None and not takes_arrays(dataset):
            collate = default_collate
        has_some = isinstance(order, np.ndarray) and self.sampler is not self.batch_sampler
        every = np.unique(order) if has_some else None
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
        knows = self._stream is self._batched is None
        return knows and not self._is_whole(len(self._order) - position)

    def _is_whole(self, count):
        return count >= (self._at_once if self.drop_last else 1)

    def _seed_now(self):
        return random.get_state()["seed"] if self.seed is None else self.seed

    def state_dict(self) -> dict:
        """Return where the loader is, fit for JSON: epoch, its items already given, and its seed.

        Taken while a batch is used, it resumes with the batch after it.
        """
        epoch = self._resumed or self._begun
        if epoch is None or epoch.over or self._is_over(epoch.position):
            epoch = _Epoch(self.epoch, self.seed, 0)
        where = {"epoch": epoch.number, "position": epoch.position}
        return {**where, "seed": epoch.seed, "size": self._size()}

    def _size(self):
        """How many items an epoch has; -1 of what gives them one after the other, or in batches."""
        return len(self._order) if self._stream is self._batched is None else -1

    def check_state_dict(self, state: dict) -> tuple:
        """(epoch, position, seed) of a state. Raises ArgumentError where it is no such state, or
        one of a data set of another size."""
        try:
            number, position, size = map(operator.index, operator.itemgetter(*COUNTS)(state))
            seed = random.Streams(state["seed"]).seed if position else None
        except (ArgumentError, IndexError, KeyError, TypeError) as error:
            expected = f"expected what state_dict() returned, got {state!r}"
            raise ArgumentError(f"DataLoader.load_state_dict: {expected}") from error
        reaches = size if self._stream is self._batched is None else position
        if size != self._size() or number < 0 or not 0 <= position <= reaches:
            raise ArgumentError(
                f"DataLoader.load_state_dict: the state, epoch {number} at item {position} of "
                f"{size}, does not fit the data set {name_of(self.dataset)} of "
                f"{self._size()} items"
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


def unrounded(make, argument):
    """make(argument) where tensors that an item's own code makes are float32 at least: what is the
    input of a batch, and may be rounded, is known when it is there."""
    stored = storage_dtype()
    with policy.precision(policy.SINGLE) if wider(float32, stored) != stored else nullcontext():
        return make(argument)


class _Epoch:
    """An epoch under way; an iterator advances its own, even where another has begun since."""

    def __init__(self, number, seed, position):
        self.number, self.seed, self.position = number, seed, position
        self.over = False


def _as_fields(inputs):
    """The fields that are inputs, a tuple, or None. Raises ArgumentError for what names none."""
    if inputs is None:
        return None
    fields = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    if not all(type(field) is int and field >= 0 or isinstance(field, str) for field in fields):
        raise ArgumentError(
            "DataLoader: inputs must be the numbers of a batch's fields, from 0, such as (0, 1), "
            f"or the keys if it is a dict, got {inputs!r}"
        )
    return fields
