"""Streams that wait for each other no more than they were told to, and the memory of their work.

On the imitation work is done as late as it can be, in three orders (see `late` of fake_cupy.py).
"""

import gc
from contextlib import nullcontext, suppress

import numpy as np
import pytest
import test_capture
import test_device
from real_gpu import IMITATED
from refusals import refuses
from test_capture import assert_same, batches, made, trained, training_step

import minifp as fp
from minifp import nn
from minifp.runtime.cuda.arrays import cupy, empty, lasting, to_device, to_host
from minifp.runtime.cuda.pools import release
from minifp.runtime.cuda.transfer import Upload
from minifp.training.warm_up import WARM_UP

SEEDS = (1, 2, 3) if IMITATED else (0,)


@pytest.fixture(params=SEEDS)
def late(request):
    """Let work be done late, in an order of this seed."""
    with cupy().late(request.param) if request.param else nullcontext():
        yield request.param


def stream():
    return cupy().cuda.Stream(non_blocking=True)


def sums_of(sent):
    """Sums of arrays that are uploaded, used and dropped, one after the other."""
    upload = Upload()
    return [(fp.Tensor(upload(a)) * 1.0).sum() for a in sent]


def test_uploads_wait_for_what_was_in_their_memory_also_that_of_another_loader(late):
    """Memory that is taken for an upload may still be read by kernels launched before."""
    sent = [np.full((40, 50), float(i), np.float32) for i in range(6)]
    x = fp.Tensor(to_device(np.ones(2000, np.float32)))
    before = x * 2.0  # launched, and its input dropped
    del x
    assert [t.item() for t in sums_of(sent)] == [2000.0 * i for i in range(6)]
    assert before.sum().item() == 4000
    found = [total for a in sent for total in sums_of([a])]
    assert [t.item() for t in found] == [2000.0 * i for i in range(6)]


def test_memory_of_an_upload_that_was_used_on_another_stream(late):
    upload, other, sent = Upload(), stream(), np.ones((40, 50), np.float32)
    upload(sent)
    there = []
    for i in range(4):
        with other:
            there.append(upload(sent * i))
    del upload
    written = lasting((2000 * 4,), np.uint8)
    written.fill(7)
    with other:
        assert [to_host(a).max() for a in there] == [0, 1, 2, 3]


def test_batches_of_a_loader_arrive(late):
    train, _ = fp.data.digits()
    train = fp.data.TensorDataset(*train[np.arange(48)])
    expected, found = list(fp.data.DataLoader(train, batch_size=16)), []
    for x, t in fp.data.DataLoader(train, batch_size=16, device="cuda"):
        found.append((x * 1.0, t))
    assert [x.tolist() for x, _ in found] == [x.tolist() for x, _ in expected]
    assert [t.tolist() for _, t in found] == [t.tolist() for _, t in expected]


@pytest.fixture(scope="module")
def at_once():
    """By whether it is captured, a training whose work is done at once."""
    return {}


@pytest.mark.parametrize("captured", [False, True])
def test_a_training_is_the_same_in_any_order(late, captured, at_once):
    found = trained(captured, 8, clip_norm=0.5)
    assert_same(found, at_once.setdefault("found", found))


def scale_adapts_inside_of_a_graph():
    test_capture.test_the_scale_adapts_inside_of_a_graph("dynamic+growth_interval=3")


OTHERS = (
    *(scale_adapts_inside_of_a_graph, test_capture.test_a_schedule_goes_on_between_repetitions),
    test_capture.test_random_numbers_go_on_where_the_host_says,
    test_capture.test_a_smaller_batch_gets_a_graph_of_its_own,
    test_capture.test_arguments_may_come_from_the_cpu,
    test_capture.test_a_step_result_tells_of_its_own_step,
    test_capture.test_after_a_refusal_the_same_step_goes_on_without_a_graph,
    test_device.test_batches_arrive_on_the_gpu_as_on_the_cpu,
    test_device.test_the_program_in_docs_gpu_runs,
)


@pytest.mark.sampled(4, core=lambda late, **_: late == SEEDS[0])
@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.__name__)
def test_other_tests_pass_in_any_order(late, other):
    other()


@pytest.mark.skipif(not IMITATED, reason="it is about the imitation")
@pytest.mark.parametrize("waits", [True, False])
def test_a_missing_event_is_found(waits):
    """In one of the orders at least."""
    wrong = 0
    for seed in SEEDS:
        with cupy().late(seed):
            one, other = stream(), stream()
            for first, second in (one, other), (other, one):
                with first:
                    x = empty((1000,), np.float32)
                    x.fill(3)
                    event = first.record()
                with second:
                    if waits:
                        second.wait_event(event)
                    y = x * np.float32(2)
                    wrong += not (to_host(y) == 6).all()
    assert bool(wrong) != waits


def waits_for_the_stream():
    cupy().cuda.get_current_stream().synchronize()  # HERE


def waits_for_the_device():
    cupy().cuda.Device().synchronize()  # HERE


@pytest.mark.parametrize("wrong", [waits_for_the_stream, waits_for_the_device])
def test_a_capture_that_was_made_invalid_is_ended(wrong):
    calls = []

    def step(x):
        y = x * 2.0
        calls.append(1)
        if len(calls) == WARM_UP + 1:
            wrong()
        return y + 1.0

    step, x = fp.capture(step, device="cuda"), fp.ones(5, device="cuda")
    line = wrong.__code__.co_firstlineno + 1
    for _ in range(WARM_UP):
        step(x)
    before = step.stream
    refuses(fp.CaptureError, rf"StreamCapture.*test_streams\.py:{line}\b", step, x)
    assert not before.is_capturing() and step.stream != before
    assert (x + 1.0).tolist() == [2] * 5
    assert ([step(x).tolist() for _ in range(2)], step.graphs) == ([[3] * 5] * 2, 1)


def test_an_error_that_is_caught_in_a_capture_is_not_forgotten():
    calls = []

    def step(x):
        calls.append(1)
        with suppress(fp.CaptureError):
            if len(calls) == WARM_UP + 1:
                x.sum().item()  # HERE
        return x * 2.0

    step, x = fp.capture(step, device="cuda"), fp.ones(5, device="cuda")
    for _ in range(WARM_UP):
        step(x)
    refuses(fp.CaptureError, "reads a result on the CPU: .*test_streams.py", step, x)


@pytest.mark.parametrize("refusals", [1, 3])
def test_a_capture_that_runs_out_of_memory_is_refused(refusals, monkeypatch):
    """CuPy gives blocks back, and tries again: kernels that are captured already write to them.

    The device has room after the first time, or never.
    """
    calls, full, cuda = [], [], cupy().cuda

    def allocated(size):
        if full:
            raise cuda.runtime.CUDARuntimeError(full.pop())
        return None if IMITATED else cuda.MemoryPointer(cuda.Memory(size), 0)

    pool = cuda.MemoryPool
    monkeypatch.setattr(cuda, "MemoryPool", lambda: pool(allocated))

    def step(x):
        y = (x * 2.0) * 3.0  # the first product is in memory that nobody uses any more
        calls.append(1)
        if len(calls) == WARM_UP + 1:
            full.extend([2] * refusals)  # cudaErrorMemoryAllocation
            with suppress(fp.OutOfMemory):
                empty((2**20,), np.uint8)
        return y

    captured, x = fp.capture(step, device="cuda"), fp.ones(50_000, device="cuda")
    for _ in range(WARM_UP):
        captured(x)
    refuses(fp.CaptureError, r"runs out of memory.*test_streams.py:\d+", captured, x)
    assert (captured(x).tolist(), captured.graphs) == ([6] * 50_000, 1)


def of_graphs():
    """Bytes that other pools than the default one have, and somebody uses."""
    gc.collect()
    release()
    return cupy().live - cupy().get_default_memory_pool().total_bytes()


@pytest.mark.skipif(not IMITATED, reason="it is about the imitation")
def test_a_captured_step_that_is_dropped_gives_its_memory_back():
    def run():
        model, optimizer = made()
        step = fp.capture(training_step(model, optimizer), device="cuda")
        losses = [step(x.to("cuda"), t.to("cuda")) for x, t in batches(WARM_UP + 3, 64)]
        full = of_graphs()
        del step
        assert of_graphs() < (before + full) / 2  # what the optimizer has stays
        before_it = losses[-1].item()
        ordinary = training_step(model, optimizer)
        for x, t in batches(3, 64):
            losses.append(ordinary(x.to("cuda"), t.to("cuda")))
        assert np.isfinite(losses[-1].item()) and losses[-1].item() != before_it

    def fail():
        calls = []

        def step(x):
            calls.append(1)
            return x * 2.0 if len(calls) <= WARM_UP else x.missing

        step = fp.capture(step, device="cuda")
        for _ in range(WARM_UP):
            step(fp.ones(500, device="cuda"))
        refuses(fp.CaptureError, "missing", step, fp.ones(500, device="cuda"))

    gc.collect()  # what other tests have dropped
    before = of_graphs()
    run()
    fail()
    assert of_graphs() <= before


def test_what_is_left_of_a_dropped_step_is_a_layer_s_own(late):
    layer = nn.Linear(40, 50).to("cuda")
    step = fp.capture(lambda x: layer(x).sum(), device="cuda")
    found = [step(fp.ones(2, 40, device="cuda")) for _ in range(WARM_UP + 2)]
    del step
    other = [fp.zeros(2, 50, device="cuda") for _ in range(9)]
    assert len({t.item() for t in found}) == 1 and other[0].sum().item() == 0
