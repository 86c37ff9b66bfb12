"""The largest batch that fits a memory: how it is searched, and what is measured."""

import csv
import gc
import json
import os

import pytest
from lab_blobs import blobs
from refusals import refuses
from terminals import call

import minifp as fp
from minifp.lab.capacity import searching
from minifp.lab.capacity.searching import Limit, outcome, sizes
from minifp.lab.capacity.sizes import as_bytes
from minifp.lab.capacity.trial import Trial, Tried, attempt
from minifp.lab.memory import OverLimit, measure_bytes
from minifp.lab.run import Run, Training, train
from minifp.lab.workers.travel import ticket
from minifp.runtime import processes


@pytest.fixture(autouse=True)
def few_objects():
    """A trial collects garbage: not among all that other tests have left."""
    gc.freeze()
    yield
    gc.unfreeze()


def test_memory_is_given_with_a_unit():
    told = {"2GB": 2 * 10**9, "512 MiB": 2**29, "1.5gib": 3 * 2**29, "7": 7}
    told |= {1e6: 10**6, "1e3kB": 10**6}
    assert {size: as_bytes(size) for size in told} == told
    for wrong in ("", "GB", "-1GB", "2 GBs", "0", True, "nan", None):
        refuses(fp.ArgumentError, "expected bytes with a unit, such as 2GB", as_bytes, wrong)


HELD = {
    "a line": lambda n: 1000 + 37 * n, "bent": lambda n: 1000 + 37 * n + (n - 700) * 11 * (n > 700),
    "in steps": lambda n: 1000 + 4096 * -(-n // 90), "a root": lambda n: int(1000 + 900 * n**0.5),
    "flat, then steep": lambda n: max(1030 + n // 100, 37 * n),
}  # fmt: skip


@pytest.mark.parametrize("first", [1, 64, 10_000])
@pytest.mark.parametrize("memory", [999, 1040, 34_567, 120_000])
@pytest.mark.parametrize("held", HELD.values(), ids=HELD.keys())
def test_the_search_ends_where_one_more_does_not_fit(held, memory, first):
    limit = Limit("mixed")
    for batch in sizes(limit, first, memory):
        fits = held(batch) <= memory
        assert batch not in [t.batch for t in limit.trials] and len(limit.trials) < 40
        assert not limit.best or batch <= 4 * limit.best.batch  # a batch is read, then counted
        bytes_ = {"activations": held(batch)} if fits else {}
        limit.trials.append(Tried("mixed", batch, fits, bytes_))
    found = limit.best.batch if limit.best else 0
    assert (found == 0 or held(found) <= memory) and held(found + 1) > memory


def test_a_line_is_met_in_few_trials():
    limit = Limit("mixed")
    for batch in sizes(limit, 64, 10**9):
        fits = 10**6 + 12_345 * batch <= 10**9
        limit.trials.append(Tried("mixed", batch, fits, {"activations": 10**6 + 12_345 * batch}))
    assert limit.best.batch == (10**9 - 10**6) // 12_345
    assert len(limit.trials) <= 9  # 64, 128, four times that until half is passed, and closed in on
    assert limit.line == pytest.approx((10**6, 12_345))


def trial(precision, batch, memory, **changes):
    task = blobs(**changes)
    return Trial(ticket(task, {}, task), precision, batch, memory)


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_a_trial_holds_what_training_with_such_a_batch_holds(precision):
    run = train(blobs(batch_size=48, steps=2), precision, 0)
    tried = attempt(trial(precision, 48, 10**6))
    assert tried.fits and tried.bytes == run.bytes
    assert tried.growth is None or tried.growth >= 0
    larger = attempt(trial(precision, 500, 10**7))  # than the training set, of 160
    assert larger.held > attempt(trial(precision, 160, 10**7)).held
    assert attempt(trial(precision, 100, 10**7, accumulate=2)).fits


def test_a_step_ends_as_soon_as_it_holds_too_much():
    held = attempt(trial("mixed", 48, 10**6)).held
    assert attempt(trial("mixed", 48, held)).fits
    over = attempt(trial("mixed", 48, held - 1))
    assert not over.fits and over.bytes == {} and "bytes" in over.why
    data = blobs().data()
    training = Training(blobs(batch_size=32, steps=2), Run("mixed", 0), data)
    with pytest.raises(OverLimit), measure_bytes(training.state, training.state, 1):
        training.one_step(next(training.batches()))
    assert training.loss is None  # it did not come that far


def test_a_trial_is_made_in_another_process_whose_death_is_told():
    one = trial("mixed", 8, 10**6)
    assert outcome(one, process_of) not in (os.getpid(), 0)
    refuses(fp.TrainingError, "tried a batch of 8 in mixed died", outcome, one, die)


def process_of(trial):
    return os.getpid()


def die(trial):
    """What the system does to a process for want of memory."""
    os._exit(9)


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(searching, "outcome", attempt)


def test_mixed_precision_takes_larger_batches(here, tmp_path):
    found = fp.largest_batch(
        blobs(), "30kB", out=tmp_path, figures="png", progress=False,
        precisions=["float32", "mixed"],
    )  # fmt: skip
    single, mixed = found.limits
    assert mixed.best.batch > single.best.batch > 0
    for limit in found.limits:
        assert limit.best.held <= 30_000
        assert [t.batch for t in limit.trials if not t.fits and t.batch == limit.best.batch + 1]
    held = json.loads((tmp_path / "largest-batch.json").read_text(encoding="utf-8"))
    assert [one["largest_batch"] for one in held["limits"]] == [single.best.batch, mixed.best.batch]
    lines = (tmp_path / "largest-batch.csv").read_text(encoding="utf-8").splitlines()
    assert len([*csv.DictReader(lines)]) == sum(len(limit.trials) for limit in found.limits)
    assert (tmp_path / "largest-batch.png").stat().st_size > 1000
    share = f"{mixed.best.batch / single.best.batch:.2f} times the batch of float32"
    assert share in found.table().replace("\n  ", " ")
    assert share in (tmp_path / "largest-batch.html").read_text(encoding="utf-8")


def test_the_command_says_where_nothing_fits(here):
    result = call(*"largest-batch mlp --memory 20kB --precision mixed -q".split())
    assert result.exit_code == 0 and "not even one example fits" in result.output


def test_what_cannot_be_is_refused(monkeypatch):
    with pytest.raises(fp.ArgumentError, match="expected precisions, not controls"):
        fp.largest_batch(blobs(), "1MB", "float32@ulp")
    with pytest.raises(fp.ArgumentError, match="figures='png' without out"):
        fp.largest_batch(blobs(), "1MB", figures="png")
    monkeypatch.setattr(processes, "available", lambda: 10**9)
    refuses(fp.ArgumentError, "memory='2GB': .* 0.9 GiB are free", fp.largest_batch, blobs(), "2GB")
