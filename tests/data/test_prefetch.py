"""Prefetching: the same batches, prepared on a thread that never outlives its epoch."""

import gc
import threading
import warnings
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_process import python
from refusals import refuses

from minifp import data
from minifp.data import DataLoader, Dataset, TensorDataset
from minifp.data.prefetch import ahead
from minifp.errors import ArgumentError, DataError
from minifp.numerics.policy import precision
from minifp.ops.creation import PrecisionWarning


class Watched(Dataset):
    """Numbers, and which threads took them; with `broken`, one that cannot be read."""

    name, takes_arrays = "watched", True

    def __init__(self, n=20, broken=None):
        self.n, self.broken = n, broken
        self.taken, self.threads = [], set()

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        self.threads.add(threading.current_thread())
        self.taken += index.tolist()
        if self.broken in index:
            raise DataError(f"item {self.broken} is broken")
        return index / 4, index


@pytest.fixture(autouse=True)
def no_thread_stays():
    before = set(threading.enumerate())
    yield
    left()
    assert set(threading.enumerate()) <= before


def values(loader):
    return [[field.tolist() for field in batch] for batch in loader.arrays()]


@given(st.integers(1, 30), st.integers(1, 8), st.integers(1, 5), st.booleans(), st.booleans())
def test_the_batches_are_those_without_it(n, size, count, shuffle, drop_last):
    if drop_last and size > n:
        return
    loaders = [
        DataLoader(Watched(n), size, shuffle, drop_last=drop_last, seed=3, prefetch=p)
        for p in (0, count)
    ]
    for _ in range(2):
        assert values(loaders[0]) == values(loaders[1])
    assert loaders[0].state_dict() == loaders[1].state_dict()


def test_they_are_prepared_on_one_other_thread_and_only_so_many_beforehand():
    data = Watched()
    batches = iter(DataLoader(data, 2, prefetch=3))
    for used in range(1, 5):
        next(batches)
        assert len(data.taken) <= 2 * (used + 3)
    list(batches)
    assert len(data.threads) == 1 and threading.current_thread() not in data.threads
    assert data.taken == list(range(20))


def test_formats_and_warnings_are_those_of_where_a_batch_is_used():
    batches = iter(DataLoader(Watched(), 2, prefetch=4))
    with precision("float32"):
        assert next(batches)[0].dtype == np.float32
    with precision("mixed") as p:
        assert next(batches)[0].dtype == p.activations
    batches.close()
    data = TensorDataset(np.array([1.0, 7e4, 1.0, 1.0]))
    with precision("mixed"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(DataLoader(data, 2, prefetch=2))
    assert [w.category for w in caught] == [PrecisionWarning]


def test_settings_of_numpy_hold_on_the_thread_too():
    if int(np.__version__.partition(".")[0]) < 2:
        pytest.skip("NumPy 1 has them by thread")

    def divide(fields, indices, draws):
        return (fields[1] / 0.0,)

    with np.errstate(all="ignore"):
        values(DataLoader(Watched(), 4, prefetch=2, transform=divide))


@pytest.mark.parametrize("prefetch", [0, 1, 4])
def test_an_error_is_raised_at_its_batch_and_the_loader_goes_on_with_the_next_epoch(prefetch):
    for broken in (0, 3, 10, 19):
        data, used = Watched(broken=broken), []
        loader = DataLoader(data, 2, prefetch=prefetch)
        with pytest.raises(DataError, match=f"item {broken} is broken"):
            for _, t in loader:
                used += t.numpy().tolist()
        assert (used, loader.state_dict()["position"]) == (list(range(broken // 2 * 2)), len(used))
        data.broken = None
        assert len(list(loader)) == 10 and loader.epoch == 2


def prefetching():
    return [t for t in threading.enumerate() if t.name.startswith("prefetch")]


def left():
    """Those that do not end by themselves. One whose iterator was dropped ends after its item."""
    for thread in prefetching():
        thread.join(10)
    return prefetching()


def test_leaving_early_closing_or_dropping_an_iterator_ends_its_thread():
    loader = DataLoader(Watched(), 2, prefetch=2)
    for _ in loader:
        assert len(prefetching()) == 1 and not prefetching()[0].daemon
        break
    assert left() == []
    for batches in (iter(loader), loader.arrays()):
        assert left() == []  # not begun, it has none
        next(batches)
        batches.close()
        assert left() == []
    batches = iter(loader)
    next(batches)
    del batches
    gc.collect()
    assert left() == []

    def use():  # and an error of the consumer
        for _ in loader:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use()
    gc.collect()
    assert left() == []


def test_loaders_run_side_by_side_and_inside_each_other():
    loader = DataLoader(Watched(), 2, prefetch=2)
    for first, second in zip(loader, loader):
        assert first[1].numpy().tolist() == second[1].numpy().tolist()
    assert left() == []

    class Outer(Watched):
        def __getitem__(self, index):
            inner = DataLoader(Watched(4), 2, prefetch=1)
            return (index + sum(int(t.sum()) for _, t in inner.arrays()),)

    assert values(DataLoader(Outer(4), 4, prefetch=1)) == [[[6, 7, 8, 9]]]


def test_a_cycle_that_is_collected_on_the_worker_itself_does_not_wait_for_itself():
    """The garbage collector runs wherever it likes."""
    collected = threading.Event()

    class Cycle:
        def __init__(self):
            self.me, self.batches = self, ahead(self.make, range(9), 2)

        @staticmethod
        def make(i):
            if i == 3:
                dropped.wait(60)
                gc.collect()
                collected.set()
            return i

    dropped, was_enabled = threading.Event(), gc.isenabled()
    gc.disable()
    try:
        cycle = Cycle()
        assert [next(cycle.batches), next(cycle.batches)] == [0, 1]
        thread = prefetching()[0]
        del cycle
        dropped.set()
        assert collected.wait(60)
        thread.join(60)
        assert left() == []
    finally:
        gc.enable() if was_enabled else None


def test_an_interpreter_ends_with_an_iterator_that_was_left_open():
    code = """
import numpy as np
from minifp.data import DataLoader, TensorDataset
batches = iter(DataLoader(TensorDataset(np.arange(100)), 1, prefetch=2))
print(next(batches)[0].numpy())
"""
    result = python(code, check=False, PYTHONWARNINGS="error")
    assert (result.returncode, result.stdout, result.stderr) == (0, "[0]\n", "")


def test_ctrl_c_while_a_batch_is_waited_for_is_a_keyboard_interrupt():
    code = """
import _thread, threading
from minifp.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 9

    def __getitem__(self, index):
        if index == 1:
            _thread.interrupt_main()
        return (index,)

try:
    for (x,) in DataLoader(Slow(), 1, prefetch=1):
        pass
except KeyboardInterrupt:
    print("interrupted", threading.active_count())
"""
    result = python(code, check=False, PYTHONWARNINGS="error")
    assert (result.returncode, result.stdout) == (0, "interrupted 1\n"), result.stderr


def test_what_is_no_count_and_what_pytorch_has_and_this_has_not_is_refused_with_a_hint():
    for count in (-1, 1.5, "2", None, True):
        refuses(ArgumentError, "prefetch=.*: expected", DataLoader, Watched(), prefetch=count)
    for name, hint in {"generator": "seed=", "sheep": "no such argument"}.items():
        with pytest.raises(ArgumentError, match=f"DataLoader: {name}=4 is not supported: .*{hint}"):
            DataLoader(Watched(), 2, **{name: 4})


def test_a_sampler_may_depend_on_epoch_and_seed_and_is_resumed_exactly():
    def sampler(epoch, seed):
        return np.array([epoch, seed, epoch + 1, 0, 7])

    loader = DataLoader(Watched(), 2, sampler=sampler, seed=4, drop_last=True)
    assert [batch[1] for batch in values(loader)] == [[0, 4], [1, 0]]
    batches = loader.arrays()
    assert next(batches)[1].tolist() == [1, 4]
    resumed = DataLoader(Watched(), 2, sampler=sampler, seed=4)
    resumed.load_state_dict(loader.state_dict())
    assert [batch[1] for batch in values(resumed)] == [[2, 0], [7]]
    batches.close()


@pytest.mark.parametrize("sampler, message", [
    ([1, 20], "DataLoader: sampler: expected indices from 0 to 19, got 20 at position 1"),
    ([-1], "got -1 at position 0"),
    ([1.0], r"expected integers in one row, one index for each item, got float64\[1\]"),
    ([[1]], r"got int64\[1, 1\]"), ([[1], [1, 2]], "expected indices in one row"),
    (np.ones(20, bool), r"For a mask, give np.flatnonzero\(mask\)"),
    (iter([1]), "expected integers"), (lambda epoch, seed: None, "expected integers"),
])  # fmt: skip
def test_a_sampler_that_gives_no_indices_is_refused(sampler, message):
    refuses(ArgumentError, message, DataLoader, Watched(), 2, sampler=sampler)


def test_a_sampler_of_nothing_too_little_or_now_more_is_refused():
    with pytest.raises(DataError, match="'watched' is not empty, but the sampler returns no in"):
        DataLoader(Watched(), 2, sampler=[])
    with pytest.raises(DataError, match="2 items do not fill one batch of 3"):
        DataLoader(Watched(), 3, sampler=[1, 2], drop_last=True)
    with pytest.raises(ArgumentError, match="give shuffle or sampler, not both"):
        DataLoader(Watched(), 3, True, sampler=[1, 2])
    loader = DataLoader(Watched(), 2, sampler=lambda epoch, seed: range(epoch + 2))
    values(loader)
    refuses(DataError, "gave 3 indices for epoch 1, expected 2, as for epoch 0", values, loader)


def test_pytorchs_samplers_and_workers_give_the_orders_that_the_seed_says():
    def batches(**settings):
        return [batch.tolist() for batch in DataLoader(items, seed=7, **settings)]

    items, random = [*range(10)], data.RandomSampler(range(10))
    weighted = data.WeightedRandomSampler([0, 3, 0, 1] + [0] * 6, 2, False)
    for sampler, whole in ((random, items), (data.SubsetRandomSampler([5, 1]), [1, 5]),
                           (data.SequentialSampler(items), items), (weighted, [1, 3])):  # fmt: skip
        first = batches(batch_size=4, sampler=sampler, num_workers=2, pin_memory=True)
        assert sorted(sum(first, [])) == whole == sorted(sampler)
        again = data.BatchSampler(sampler, 4, False)
        assert len(again) == len(first) and batches(batch_sampler=again) == first
    loader, other = (
        DataLoader(items, batch_sampler=data.BatchSampler(random, 4, False)) for _ in "ab"
    )
    next(it := iter(loader))  # a state within an epoch goes on there
    other.load_state_dict(loader.state_dict())
    assert [b.tolist() for b in other] == [b.tolist() for b in it]
    assert batches(batch_size=4, shuffle=True) == batches(batch_size=4, sampler=random)
    assert len([*data.RandomSampler(items, True, 99)]) == 99 and data.get_worker_info() is None
    endless = DataLoader(items, 3, sampler=data.RandomSampler(items, True, 10**10), seed=7)
    first = [batch.tolist() for batch in islice(endless, 7)]  # of which no more is drawn
    assert first == batches(batch_size=3, sampler=data.RandomSampler(items, True, 21))
    endless.load_state_dict({"epoch": 0, "position": 5, "seed": 7, "size": 10**10})
    assert next(iter(endless)).tolist() == [*first[1], *first[2]][2:5]
    own = type("Own", (data.Sampler,), {"__len__": lambda s: 2, "__iter__": lambda s: iter([3, 1])})
    assert batches(batch_size=5, sampler=own()) == [[3, 1]]
    refuses(ArgumentError, "give it alone", DataLoader, items, 3, batch_sampler=[[1]])
    refuses(ArgumentError, "one above 0", data.WeightedRandomSampler, [0.0, 0.0], 2)
