"""What decides a step's time, what tensor cores could do, and how large a batch may be."""

from dataclasses import dataclass

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp import nn, optim
from minifp.data import DataLoader
from minifp.nn import functional as F
from minifp.runtime import cpu
from minifp.scope.hardware import machines
from minifp.scope.hardware.bounds import amdahl, bounds, bytes_in, share_of_products
from minifp.scope.hardware.tensor_shapes import shape_advice
from minifp.scope.memory.batch_sizes import BatchMemory, largest_batch
from minifp.scope.memory.ledger import MemoryLedger
from minifp.scope.tracing.trace import trace

V100 = machines.KNOWN["V100"]
HALF = machines.Machine("a machine", 100e12, 10e12, 1e12, (16 * machines.GB,), 1e-6, "made up")
rng = np.random.default_rng(0)
pytestmark = pytest.mark.usefixtures("one_thread")


@dataclass
class Row:
    operation: str = "linear"
    module: str = "Model.head"
    kernel: str = "linear.linear_forward"
    role: str = "dot"
    inputs: tuple = ("float16 (64, 256)", "float16 (65, 256)")
    outputs: tuple = ("float16 (64, 65)",)
    bytes_read: int = 2 * (64 + 65) * 256
    bytes_written: int = 2 * 64 * 65
    flops: int = 2 * 64 * 65 * 256
    products: tuple = ((64, 65, 256, 1),)
    seconds: float = 1e-3


def step_of(name):
    task = fp.load_task(name)
    with fp.precision("mixed"):
        fp.manual_seed(0)
        model = task.model()
        optimizer = fp.MixedOptimizer(task.optimizer(model.parameters()))
        x, t = next(iter(DataLoader(task.data()[0], batch_size=task.batch_size)))
        optimizer.backward(task.loss(model(x), t))
        return trace(optimizer.backwards[0], optimizer.scale, repeats=1).rows


# What references hold, which compute in float32 what compiled kernels compute in place, is larger
# in mixed precision, and no line.
compiled = pytest.mark.skipif(not cpu.can_compile(), reason="of compiled kernels")


@pytest.fixture(scope="module")
def lenet():
    return step_of("lenet")


@pytest.fixture(scope="module")
def charlstm():
    return step_of("charlstm")


def told(advice):
    return [(p.module, p.dimension, p.size, p.padded()) for p in advice.unfit]


def test_the_vocabulary_of_65_is_padded_to_72(charlstm):
    """Forward and in both products of backward: one line for the layer."""
    advice = shape_advice(charlstm)
    assert told(advice) == [("head", "outputs", 65, 72)]
    (padding,) = advice.unfit
    assert (padding.extra(), padding.padded(16)) == (pytest.approx(100 * 7 / 65), 80)
    assert padding.flops == 3 * 2 * (32 * 64) * 65 * 256
    text = str(advice)
    assert "head linear outputs 65 72 (+11%)" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_sizes_that_are_no_multiples_are_named_and_others_are_not(lenet):
    found = told(shape_advice(lenet))
    assert found == [("conv1", "input channels", 1, 8), ("fc2", "outputs", 10, 16)]
    assert told(shape_advice([Row(products=((60, 64, 256, 1),))])) == [("head", "rows", 60, 64)]
    unknown = Row(operation="matmul", module="", kernel="matmul.matmul_forward",
                  products=((7, 8, 16, 3),))  # fmt: skip
    assert told(shape_advice([unknown])) == [("", "M", 7, 8)]
    advice = shape_advice([Row(products=((64, 24, 256, 1),))])  # a multiple of 8: for int8 only
    (padding,) = advice.paddings
    assert (advice.unfit, padding.padded(), padding.padded(16), padding.share) == ([], 24, 32, 1)
    advice = shape_advice([Row(products=((64, 64, 256, 1),))])
    assert advice.paddings == [] and "nothing to pad" in str(advice)


def recurrent_step(layer, size):
    with fp.precision("mixed"):
        model = nn.Sequential(layer(12, size))
        optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
        out, _ = model(fp.tensor(rng.standard_normal((5, 16, 12)).astype(np.float32)))
        optimizer.backward(out.sum())
        return trace(optimizer.backwards[0], optimizer.scale, repeats=1).rows


@pytest.mark.parametrize("layer, gates", [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_of_a_recurrent_layer_inputs_hidden_units_and_gates_are_named(layer, gates):
    advice = shape_advice(recurrent_step(layer, 13))
    expected = {("gates", gates * 13), ("inputs", 12), ("hidden units", 13)}
    found = {(name, size) for _, name, size, _ in told(advice)}
    assert found == expected - {("gates", 13)}  # of which an RNN has none
    assert max(p.share for p in advice.paddings) == pytest.approx(1)


def test_the_ridge_of_a_v100_is_that_of_nvidias_guide():
    """ "GPU Performance Background": 125 Tflop/s and 900 GB/s are 138.9 flop/byte."""
    assert V100.ridge() == pytest.approx(138.9, abs=0.1)
    assert V100.ridge(half=False) == pytest.approx(15.7e12 / 900e9)
    assert set(machines.KNOWN) == {"V100", "T4", "A100", "H100"}
    for name, known in machines.KNOWN.items():
        assert known.name == name and "https://" in known.source
        assert known.half_rate > 4 * known.single_rate and known.memory and known.launch > 0
    refuses(fp.ArgumentError, "V100", machines.machine, "P100")


def test_this_machine_is_measured_once_and_plausibly():
    here = machines.measured()
    assert machines.measured() is here is machines.machine("here")
    assert 1e8 < here.bandwidth < 1e13 and here.single_rate > 1e8
    assert 1e-7 < here.launch < 1e-3  # no Python call is faster


def only(row, machine=HALF):
    (bound,) = bounds([row], machine).rows
    return bound


def test_a_kernel_is_bound_by_arithmetic_by_memory_or_by_latency_and_a_view_by_nothing():
    n = 4096
    bound = only(Row(
        inputs=(f"float16 ({n}, {n})",) * 2, outputs=(f"float16 ({n}, {n})",),
        bytes_read=4 * n * n, bytes_written=2 * n * n, flops=2 * n**3, products=((n, n, n, 1),),
    ))  # fmt: skip
    assert bound.half == "arithmetic"  # on tensor cores
    assert bound.half_floor == pytest.approx(2 * n**3 / 100e12)
    assert bound.single_floor == pytest.approx(2 * n**3 / 10e12)
    n = 10**8
    row = Row(role="map", kernel="activation.relu_forward", inputs=(f"float16 ({n},)",),
              outputs=(f"float16 ({n},)",), bytes_read=2 * n, bytes_written=2 * n, flops=n,
              products=())  # fmt: skip
    bound = only(row)  # which takes half the time in float16
    assert bound.half == "memory"
    assert bound.half_floor == pytest.approx(4 * n / 1e12)
    assert bound.single_floor == pytest.approx(8 * n / 1e12)
    assert only(Row()).half == "latency" and only(Row()).half_floor == 1e-6
    view = Row(role="no arithmetic", kernel="", bytes_read=0, bytes_written=0, flops=0, products=())
    assert (only(view).half, only(view).half_floor) == ("nothing", 0.0)
    row = Row(inputs=("float16 (10, 3)", "int64 (10,)"), outputs=("float32 ()",),
              bytes_read=60 + 80, bytes_written=4)  # fmt: skip
    assert (bytes_in(row, 2), bytes_in(row, 4)) == (144, 204)  # integers and losses keep theirs


def test_the_steps_of_an_lstm_are_started_one_after_the_other_on_a_gpu(charlstm):
    on_gpu = {b.row.kernel: b for b in bounds(charlstm, V100).rows}["lstm.lstm_forward"]
    assert on_gpu.half == "latency" and on_gpu.half_floor == pytest.approx(64 * V100.launch)
    here = {b.row.kernel: b for b in bounds(charlstm, machines.measured()).rows}
    assert here["lstm.lstm_forward"].half == "arithmetic"


def test_lenet_on_digits_is_far_too_small_for_a_v100(lenet):
    found = bounds(lenet, V100)
    assert found.half_floor <= found.single_floor and found.shares()["latency"] > 0.9
    assert sum(found.shares().values()) == pytest.approx(1)


def test_amdahls_bound_and_the_largest_batch_by_hand(charlstm):
    assert share_of_products([Row(seconds=3.0), Row(role="map", seconds=1.0)]) == 0.75
    assert [amdahl(0.75, times) for times in (2, 4, 8)] == [1.6, 1 / 0.4375, 1 / 0.34375]
    assert (share_of_products([]), amdahl(1.0, 8)) == (0, 8)
    assert 0.5 < share_of_products(charlstm) < 1  # most of it, on a busy machine too
    known = BatchMemory(((1000.0, 10.0), (500.0, 100.0)))
    assert known.largest(999) == 0  # too small for the weights
    assert (known.largest(1500), known.peak(10)) == (10, 1500)
    refuses(fp.ArgumentError, "nothing", BatchMemory(((10.0, 0.0),)).largest, 20)


def ledger_at(batch, precision="mixed"):
    with fp.precision(precision):
        model = nn.Sequential(
            *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(8 * 64, 100), nn.ReLU(), nn.Linear(100, 10)),
        )
        optimizer = fp.MixedOptimizer(optim.Adam(model.parameters()))
        x, t = rng.random((batch, 1, 16, 16)), rng.integers(0, 10, batch)
        for _ in range(2):
            ledger = MemoryLedger(model, optimizer, float32=True)
            ledger.begin()
            optimizer.zero_grad()
            optimizer.backward(F.cross_entropy(model(fp.tensor(x)), fp.tensor(t)))
            optimizer.step()
            ledger.finish()
    return ledger


OBJECTS = 16_384  # bytes of Python's own objects in one operation's workspace


@compiled
def test_a_ledger_tells_what_another_batch_holds():
    """Workspace is counted as proportional."""
    one, larger = (ledger_at(n) for n in (64, 256))
    mixed, single = (BatchMemory.of(m, 64) for m in (one.memory, one.float32))
    told, known = mixed.peak(256), larger.memory
    scratch = [memory.always.get("workspace", 0) for memory in (one.memory, known)]
    assert abs(told - scratch[0] - (known.peak - scratch[1])) <= 4 * OBJECTS
    found = largest_batch(mixed, single, V100.memory[0])
    assert 1.5 < found["mixed"] / found["float32"] < 2.1
    for name, held in (("mixed", mixed), ("float32", single)):
        assert held.peak(found[name]) <= found["capacity"] < held.peak(found[name] + 1)
