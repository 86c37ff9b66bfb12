"""The memory ledger: against sums by hand, the step in float32, and the process's own memory."""

import gc
import json
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from own_process import python

import minifp as fp
from minifp import nn, optim
from minifp.autograd import op
from minifp.lab.memory import measure_bytes
from minifp.models import CharLSTM, LeNet
from minifp.nn import functional as F
from minifp.scope.memory.account import Account
from minifp.scope.memory.ledger import MemoryLedger
from minifp.scope.memory.summary import KINDS, WORKSPACE, Held
from minifp.scope.memory.threads import ask_threads

B, I, H, C = 32, 20, 50, 10
NUMBERS = I * H + H + H * C + C
PAGE = 4096
OBJECTS = 16_384  # bytes of Python's own objects that may come and go in an operation
rng = np.random.default_rng(0)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def undisturbed(monkeypatch):
    """A pool without the workers that other tests have started: one that has answered what it was
    asked lets go of up to 3 kB of Python's objects when it pleases, under coverage, which decides
    what the peak is of a network that holds little more. Nor may what tests have left be found in
    the middle of a step."""
    pool = sys.modules.get("minifp.runtime.cpu.kernels.pool")
    if pool is not None:
        monkeypatch.setattr(pool, "POOL", pool.Pool())
    gc.disable()
    yield
    gc.enable()


def perceptron():
    return nn.Sequential(nn.Linear(I, H), nn.Tanh(), nn.Linear(H, C))


def rows(n=B):
    return rng.standard_normal((n, I)).astype(np.float32), rng.integers(0, C, n)


def many_rows():
    """Beside whose numbers Python's own objects, which may decide what the peak is, are few."""
    return rows(32 * B)


def pictures():
    return rng.standard_normal((16, 1, 8, 8)).astype(np.float32), rng.integers(0, 10, 16)


def texts():
    return rng.integers(0, 65, (8, 16)), rng.integers(0, 65, (8, 16))


def trained(model, precision, batch, steps=1, sgd=True):
    with fp.precision(precision):
        layers = model()
        rule = optim.SGD(layers.parameters(), lr=0.1) if sgd else optim.Adam(layers.parameters())
        optimizer = fp.MixedOptimizer(rule)

    def step():
        with fp.precision(precision):
            optimizer.zero_grad()
            optimizer.backward(F.cross_entropy(layers(fp.tensor(x)), fp.tensor(t)))
            return optimizer.step()

    x, t = batch()
    for _ in range(steps):
        step()
    return step, layers, optimizer


def ledger_of(model, precision, batch, **settings):
    step, layers, optimizer = trained(model, precision, batch, sgd=False)
    with MemoryLedger(layers, optimizer, **settings) as ledger:
        step()
    return ledger


COMPENSATED = "mixed,master_weights=off,compensated=on"
SCALED = "mixed,optimizer_state=float8_e5m2,optimizer_state_scale=tensor"


@pytest.mark.parametrize("precision, size, masters, state", [
    ("float32", 4, 0, 8 * NUMBERS), ("mixed", 2, 4, 8 * NUMBERS), (COMPENSATED, 2, 0, 10 * NUMBERS),
    (SCALED, 2, 4, 2 * (NUMBERS + 4 * 4)),  # and the scales of four parameters
])  # fmt: skip
def test_what_is_always_held_is_counted_by_its_format(precision, size, masters, state):
    memory = ledger_of(perceptron, precision, rows).memory
    assert (set(memory.now), memory.always["weights"]) == (set(KINDS), size * NUMBERS)
    assert memory.always["masters"] == masters * NUMBERS
    assert (memory.always["optimizer_state"], memory.always[WORKSPACE]) == (state, ask_threads())


@pytest.mark.parametrize("precision, size", [("float32", 4), ("mixed", 2)])
def test_every_byte_of_a_perceptron_is_where_it_should_be(precision, size):
    """Before its first gradient: the batch, what two layers and tanh return, and the targets."""
    timeline = ledger_of(perceptron, precision, rows).memory.timeline
    first = next(i for i, e in enumerate(timeline) if e.phase == "backward")
    activations = timeline[first - 2].bytes["activations"]
    assert activations - size * (B * I + 2 * B * H + B * C) in (0, -size * B * H)  # if tanh's x is
    last = timeline[-1]
    assert (last.phase, last.operation) == ("update", "step")
    assert last.bytes["weight_gradients"] == size * NUMBERS
    assert last.bytes["activation_gradients"] == 0
    phases = ("forward", "backward")
    forward, backward = (
        [(e.module, e.operation) for e in timeline if e.phase == p] for p in phases
    )
    assert forward[:3] == [("0", "linear"), ("1", "tanh"), ("2", "linear")]
    assert sorted(backward) == sorted(forward) and backward[-1] == forward[0]


def test_holders_add_up_to_the_peak_and_the_largest_is_first():
    batch = rng.random((4, 1, 28, 28)), rng.integers(0, 10, 4)
    memory = ledger_of(LeNet, "mixed", lambda: batch).memory
    assert sum(h.bytes for h in memory.holders) == memory.peak
    assert memory.peak == max(e.total for e in memory.timeline)
    assert memory.growth == memory.peak - sum(memory.always.values())
    sizes = [h.bytes for h in memory.holders]
    assert sizes == sorted(sizes, reverse=True)
    assert Held("weights", "fc1.weight", 2 * 128 * 32 * 49) in memory.holders


def test_the_batch_codes_and_masks_are_activations():
    def model():
        first = nn.Embedding(65, 24), nn.Dropout(0.5)
        return nn.Sequential(*first, nn.Flatten(), nn.Linear(384, 65))

    memory = ledger_of(model, "mixed", lambda: (texts()[0], rng.integers(0, 65, 8))).memory
    forward = [e.bytes["activations"] for e in memory.timeline if e.phase == "forward"]
    codes, embedded = 8 * 16 * 8, 2 * 8 * 16 * 24
    assert forward[0] == codes + embedded
    assert forward[1] - forward[0] >= embedded + 8 * 16 * 24 // 8  # a result, and at least bits


def test_it_agrees_with_the_lab_on_what_backward_needs():
    step, layers, optimizer = trained(perceptron, "mixed", rows)
    with measure_bytes(layers, optimizer) as found:
        step()
    with MemoryLedger(layers, optimizer) as ledger:
        step()
    memory = ledger.memory
    assert [found[k] for k in KINDS[:3]] == [memory.now[k] for k in KINDS[:3]]
    assert most(memory, "activations") >= found["activations"]


def most(memory, kind):
    """The most that is held of a kind: at the peak of all kinds, it may be less, and which event
    that is may be decided by what else the process allocates for itself."""
    return max(event.bytes[kind] for event in memory.timeline)


@pytest.mark.parametrize("precision", ["float32", "mixed"])
@pytest.mark.parametrize("model, batch", [
    (lambda: LeNet(size=28), lambda: (rng.random((64, 1, 28, 28)), rng.integers(0, 10, 64))),
    (lambda: CharLSTM(65, hidden=64), texts),
])  # fmt: skip
def test_all_that_numpy_allocates_is_known_event_by_event(monkeypatch, model, batch, precision):
    """But for small ones of kernels: counters, chunks; some kilobytes for each event."""
    step, layers, optimizer = trained(model, precision, batch, steps=2)
    optimizer.zero_grad()
    traced, happened = [], Account.happened

    def noted(account, *args):
        happened(account, *args)
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)  # no Python objects
        found = tracemalloc.take_snapshot().filter_traces([arrays]).traces
        traced.append(sum(trace.size for trace in found))

    monkeypatch.setattr(Account, "happened", noted)
    tracemalloc.start()
    try:
        with MemoryLedger(layers, optimizer, replay=False) as ledger:
            step()
    finally:
        tracemalloc.stop()
    always = sum(ledger.memory.always.values())
    for i, (event, bytes_there) in enumerate(zip(ledger.memory.timeline, traced), 1):
        assert 0 <= bytes_there - (event.total - always) <= OBJECTS * (i + 1), str(event)


INSIDE = 1_000_000


def hungry_backward(dy, to):
    np.empty(3 * INSIDE, np.uint8)
    return (dy,)


@op.op
def hungry(x):
    """x, with a megabyte that is used meanwhile, and three backward."""
    np.empty(INSIDE, np.uint8)
    return x + 0, (), hungry_backward


class Hungry(nn.Module):
    def __init__(self):
        self.head = nn.Linear(I, C)

    def forward(self, x):
        return hungry(self.head(x))


def test_what_an_operation_holds_inside_is_measured_and_named():
    memory = ledger_of(Hungry, "mixed", rows).memory
    inside = {e.phase: e.bytes[WORKSPACE] - memory.always[WORKSPACE] for e in memory.timeline
              if e.operation == "hungry"}  # fmt: skip
    assert abs(inside["forward"] - INSIDE) < OBJECTS
    assert abs(inside["backward"] - 3 * INSIDE) < OBJECTS
    held = [h[:2] for h in memory.holders if h.name != "scratch of threads"]  # of tests before
    assert held[0] == (WORKSPACE, "inside backward of hungry")
    assert memory.at == "backward of hungry"
    without = ledger_of(Hungry, "mixed", rows, replay=False).memory
    assert without.peak < INSIDE + without.always[WORKSPACE]


def test_the_scratch_of_every_thread_is_asked_once():
    pool = pytest.importorskip("minifp.runtime.cpu.kernels.pool", reason="numba")
    held = pool.scratch(1000).nbytes
    first = ask_threads()
    assert first >= held
    assert [ask_threads() for _ in range(5)] == [first] * 5


def test_the_same_step_holds_the_same_each_time():
    step, layers, optimizer = trained(lambda: CharLSTM(65, hidden=128), "mixed", texts, steps=2)
    peaks = []
    for _ in range(7):
        with MemoryLedger(layers, optimizer) as ledger:
            step()
        peaks.append(ledger.memory.peak)
    peaks = peaks[3:]  # Python's own caches are filled
    assert max(peaks) - min(peaks) <= OBJECTS


@pytest.mark.parametrize("model, batch", [
    (perceptron, many_rows), (lambda: LeNet(size=8), pictures),
    (lambda: CharLSTM(65, hidden=32), texts),
])  # fmt: skip
def test_the_step_done_again_in_float32_holds_what_a_float32_run_holds(model, batch):
    true = ledger_of(model, "float32", batch).memory
    redone = ledger_of(model, "mixed", batch, float32=True).float32
    kinds = [k for k in KINDS if k != WORKSPACE]
    assert {k: redone.now[k] for k in kinds} == {k: true.now[k] for k in kinds}
    assert abs(redone.now[WORKSPACE] - true.now[WORKSPACE]) <= OBJECTS
    assert redone.at == true.at


def test_mixed_halves_activations_and_adds_masters():
    ledger = ledger_of(lambda: CharLSTM(65, hidden=32), "mixed", texts, float32=True)
    mixed, single = ledger.memory, ledger.float32
    assert single.now["masters"] == 0 < mixed.now["masters"]
    assert 0.5 <= most(mixed, "activations") / most(single, "activations") < 0.55  # codes stay


def accumulated(precision, backwards=2):
    with fp.precision(precision):
        layers = perceptron()
        optimizer = fp.MixedOptimizer(optim.Adam(layers.parameters()))
        for _ in range(2):
            with MemoryLedger(layers, optimizer, float32=True) as ledger:
                optimizer.zero_grad()
                for x, t in [rows() for _ in range(backwards)]:
                    loss = F.cross_entropy(layers(fp.tensor(x)), fp.tensor(t))
                    optimizer.backward(loss)
                    del loss, x, t
                optimizer.step()
    return ledger


def test_gradients_of_two_backwards_add_up_in_float32():
    """Event by event: what else the process allocates may decide which one is the peak."""
    ledger, true = accumulated("mixed"), accumulated("float32").memory
    assert ledger.memory.timeline[-1].bytes["weight_gradients"] == 4 * NUMBERS
    *steps, update = [e.bytes["weight_gradients"] for e in true.timeline]
    assert [e.bytes["weight_gradients"] for e in ledger.float32.timeline] == steps
    assert update == 4 * NUMBERS


@pytest.mark.parametrize("precision, size", [("float32", 4), ("mixed", 2)])
def test_sums_of_gradients_are_held_while_others_are_made(precision, size):
    """The third of three backwards begins beside the sum of two, which is float32."""
    timeline = accumulated(precision, 3).memory.timeline[:-1]
    third = timeline[2 * len(timeline) // 3 :]
    held = [e.bytes["weight_gradients"] for e in third]
    new = size * (H * C + C)  # of the last layer, whose gradients are there before the others
    assert held == [4 * NUMBERS] * 6 + [4 * NUMBERS + new] * 2


def test_an_operation_that_is_gone_has_no_workspace_of_another_with_its_id():
    _, layers, optimizer = trained(perceptron, "mixed", rows)
    x, t = rows()
    with fp.precision("mixed"), MemoryLedger(layers, optimizer) as ledger:
        optimizer.zero_grad()
        layers(fp.tensor(x))  # of which nothing is kept
        optimizer.backward(F.cross_entropy(layers(fp.tensor(x)), fp.tensor(t)))
        optimizer.step()
    gone, kept = ledger.memory.timeline[:3], ledger.memory.timeline[3:6]
    scratch = ledger.memory.always[WORKSPACE]
    assert [e.operation for e in gone] == [e.operation for e in kept]
    assert [e.bytes[WORKSPACE] for e in gone] == 3 * [scratch]
    assert all(e.bytes[WORKSPACE] > scratch for e in kept)


def test_other_observers_see_the_step_too_and_a_second_step_is_not_watched():
    step, layers, optimizer = trained(perceptron, "mixed", rows)
    with MemoryLedger(layers, optimizer) as ledger, fp.microscope(layers, optimizer) as scope:
        step()
        events = len(ledger.account.events)
        step()
    assert (scope.count, len(ledger.memory.timeline)) == (2, events)
    optimizer.zero_grad()
    assert ledger.account.now.total() == 0  # nothing is kept alive
    layers[0].weight.data = np.full((H, I), np.inf, np.float32)
    with MemoryLedger(layers, optimizer) as ledger:
        assert step().skipped
    assert ledger.memory.timeline[-1].phase == "update"  # a skipped step has its memory too


def test_only_a_module_and_its_mixed_optimizer_are_taken():
    layers = perceptron()
    with pytest.raises(fp.ArgumentError, match="MixedOptimizer"):
        MemoryLedger(layers, optim.SGD(layers.parameters(), lr=0.1))
    with pytest.raises(fp.ArgumentError, match="Module"):
        MemoryLedger(None, fp.MixedOptimizer(optim.SGD(layers.parameters(), lr=0.1)))


# Blocks of at least this size go back to the system at once when they are freed; smaller ones may
# come from memory that the process has already.
MAPPED = 16_384
SCRIPT = """
import gc, json, re, sys
import numpy as np
import minifp as fp
from minifp import nn, optim
from minifp.models import CharLSTM
from minifp.nn import functional as F
from minifp.scope.memory.account import Account
from minifp.scope.memory.ledger import MemoryLedger

def status(name):
    text = open("/proc/self/status", encoding="utf-8").read()
    return 1024 * int(re.search(name + r":\\s+(\\d+)", text)[1])

rng = np.random.default_rng(0)
if sys.argv[1] == "cnn":
    def conv(i, o):
        return nn.Conv2d(i, o, 3, padding=1), nn.ReLU()
    def build():
        return nn.Sequential(*conv(3, 32), *conv(32, 32), nn.MaxPool2d(2), *conv(32, 64),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4096, 10))
    x, t = rng.standard_normal((64, 3, 32, 32)).astype(np.float32), rng.integers(0, 10, 64)
else:
    def build():
        return CharLSTM(65, hidden=256)
    x, t = rng.integers(0, 65, (2, 48, 64))

def growths(precision):
    with fp.precision(precision):
        model = build()
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters(), lr=1e-3))
        def step():
            optimizer.zero_grad()
            optimizer.backward(F.cross_entropy(model(fp.tensor(x)), fp.tensor(t)))
            optimizer.step()
        step()
        with MemoryLedger(model, optimizer) as ledger:
            step()
        step()
        optimizer.zero_grad()
        gc.collect()
        before = status("VmRSS")
        open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
        step()
        return ledger.memory.growth, status("VmHWM") - before

print(json.dumps({name: growths(name) for name in ("float32", "mixed")}))
"""


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells a peak")
@pytest.mark.parametrize("model", ["cnn", "lstm"])
def test_the_growth_over_a_step_is_that_of_the_process(model):
    """But for the 64 buffers at the peak, of which each may take up to a page more than it has
    bytes, or be too small to be mapped. (One thread: others keep what they were given.)"""
    settings = {"MALLOC_MMAP_THRESHOLD_": str(MAPPED), "MALLOC_TRIM_THRESHOLD_": "0"}
    settings |= {"MALLOC_TOP_PAD_": "0", "MINIFP_THREADS": "1"}
    result = python(SCRIPT, model, **settings, PYTHONWARNINGS="error")
    for precision, (told, measured) in json.loads(result.stdout).items():
        assert told > 10_000_000
        assert abs(measured - told) <= 64 * (PAGE + MAPPED), (precision, told, measured)
