"""Comparing: what is paired with what, what is kept on disk, and what is refused."""

import re

import numpy as np
import pytest
from lab_blobs import blobs, clouds, comparison_of, only_picture
from refusals import refuses

from minifp import optim
from minifp.errors import ArgumentError, DataError, MinifpError, PrecisionError
from minifp.lab import Comparison
from minifp.lab.comparison import compare
from minifp.lab.results import store
from minifp.lab.run import Run
from minifp.lab.workers import in_process
from minifp.numerics import policy
from minifp.report import drawing

BOTH = ("float32", "mixed")
pytestmark = pytest.mark.usefixtures("no_pictures")


def made_up(precision, seed, metric, status="finished"):
    return Run(precision, seed, status, metric=metric, steps=10, bytes={"weights": 4})


def from_runs(*runs, dial=0):
    return comparison_of(runs, BOTH, margin=0.5, dial=dial)


def test_mixed_and_float32_compare_as_rows():
    result = compare(blobs(), BOTH, 3, progress=False)
    base, mixed = result.rows()
    assert (base.precision, base.n, base.diverged, base.verdict) == ("float32", 3, 0, None)
    assert base.difference is None and base.mean > 90
    assert mixed.pairs == 3 and mixed.low <= mixed.difference <= mixed.high
    assert mixed.verdict in ("EQUIVALENT", "DIFFERENT", "INCONCLUSIVE")
    assert mixed.bytes["weights"] * 2 == base.bytes["weights"]
    assert base.seconds_per_step > 0 and repr(result) == result.table()


def test_one_or_two_seeds_give_a_difference_but_no_verdict():
    result = compare(blobs(steps=5), BOTH, 1, progress=False)
    row = result.row("mixed")
    assert row.pairs == 1 and row.difference is not None
    assert (row.low, row.high, row.verdict, row.sd) == (None, None, None, None)
    said = "no verdict from {} of runs: at least 3 seeds are needed."
    assert said.format("1 pair") in result.verdict_sentence()
    result = from_runs(*[made_up(p, s, 90.0 + s) for s in range(2) for p in BOTH])
    row = result.row("mixed")
    assert (row.difference, row.low, row.verdict, row.needed) == (0, 0, None, 3)
    assert said.format("2 pairs") in result.verdict_sentence()
    assert "too few for a verdict: at least 3 are needed" in result.table()
    few = "3 seeds only: pictures show intervals from 5 seeds on"
    assert few in from_runs(*[made_up("mixed", s, 9.0) for s in range(3)]).notes()[0]
    assert from_runs(*[made_up("mixed", s, 9.0) for s in range(5)]).notes() == []
    result = from_runs(made_up("float32", 0, 90.0))  # a precision without runs yet
    assert (result.row("mixed").n, result.row("mixed").mean) == (0, None)


@pytest.mark.parametrize("are_same", [False, True])
def test_ten_pairs_without_any_difference_are_of_a_metric_that_is_too_coarse(are_same):
    """Unless the runs themselves are the same, as with a loss scale that changes no bit."""
    runs = [made_up(p, s, 100.0) for s in range(10) for p in BOTH]
    for run in runs:
        run.history["loss"] = [2.0, 1.0 if are_same or run.precision == "mixed" else 1.25]
    result = from_runs(*runs)
    row = result.row("mixed")
    assert (row.verdict, row.difference) == ("EQUIVALENT" if are_same else None, 0)
    told = "exactly the same in all 10 pairs, where losses are not"
    for text in (result.verdict_sentence(), " ".join(result.table().split())):
        assert (told in text.lower()) != are_same


def test_a_precision_may_be_an_object_and_goes_by_its_canonical_text():
    p = policy.Precision.parse("mixed,loss_scale=128.0")
    result = compare(blobs(steps=2), [p], [4], progress=False)
    assert result.precisions == ["mixed,loss_scale=128"]
    assert result.baseline == "mixed,loss_scale=128"


def test_progress_goes_to_standard_error_precisions_of_a_seed_before_the_next(trained, capsys):
    compare(blobs(steps=2), BOTH, 2)
    said = capsys.readouterr()
    assert said.out == "" and "blobs" in said.err
    assert trained == [("float32", 0), ("mixed", 0), ("float32", 1), ("mixed", 1)]
    by_epochs = compare(blobs(steps=7), ["float32"], 1, epochs=1, progress=False)
    by_steps = compare(blobs(), ["float32"], 1, steps=3, dial=2, progress=False)
    assert by_epochs.runs[0].steps == 10  # what the call says goes before the task's own
    assert by_steps.runs[0].steps == 3 and by_steps.dial == 2


@pytest.mark.parametrize("arguments, message", [
    ({"precisions": ["half"]}, "no precision 'half'"), ({"precisions": []}, "precisions is empty"),
    ({"precisions": ["mixed", "mixed,loss_scale=dynamic"]}, "mixed appears twice"),
    ({"seeds": 0}, "seeds=0: expected how many (at least 1)"), ({"seeds": [1, 1]}, "seeds=[1, 1]"),
    ({"seeds": [-1]}, "seeds=[-1]"), ({"seeds": True}, "seeds=True"), ({"seeds": 1.5}, "seeds=1.5"),
    ({"seeds": "three"}, "seeds='three'"), ({"epochs": 1, "steps": 1}, "give one of them"),
    ({"epochs": 0}, "epochs is 0"), ({"log": 1}, "compare() has no argument 'log'"),
    ({"dial": 0.5}, "dial is 0.5"), ({"figures": "png"}, "figures='png' without out"),
    ({"data": None}, "the task's data function returned NoneType"),
    ({"data": (clouds(4, 0),)}, "expected a pair: (training set, test set)"),
    ({"data": (clouds(4, 0), 3)}, "the test set: expected a data set, with"),
    ({"data": (([1.0], [2]), clouds(4, 0))}, "the training set: expected a data set"),
    ({"data": (clouds(0, 0), clouds(4, 0))}, "the training set is empty"),
])  # fmt: skip
def test_arguments_and_data_that_cannot_be(arguments, message):
    task = blobs(data=lambda: arguments.pop("data")) if "data" in arguments else blobs()
    error = DataError if "data" in arguments else (ArgumentError, PrecisionError, TypeError)
    with pytest.raises(error, match=re.escape(message)):
        compare(task, progress=False, **{k: v for k, v in arguments.items() if k != "data"})


def test_a_diverged_run_is_counted_and_never_averaged():
    base = [made_up("float32", s, 95.0) for s in range(3)]
    lost = made_up("mixed", 1, 10.0, "diverged")
    row = from_runs(*base, made_up("mixed", 0, 95.0), lost, made_up("mixed", 2, 95.0)).row("mixed")
    assert (row.n, row.diverged, row.pairs) == (3, 1, 2)
    assert (row.mean, row.verdict) == (95.0, "DIVERGED")
    result = from_runs(*base, *[made_up("mixed", s, None, "stopped") for s in range(3)])
    row = result.row("mixed")  # of which all are lost
    assert (row.mean, row.sd, row.difference) == (None, None, None)
    assert (row.diverged, row.verdict) == (3, "DIVERGED")
    assert "DIVERGED in 3 of 3 runs (95% interval 29% to 100%)" in result.verdict_sentence()
    assert all(c.verdict is None for c in result.claims())
    assert sum("mixed, seed" in note for note in result.notes()) == 3
    base[0] = made_up("float32", 0, None, "diverged")  # a seed whose baseline is lost is no pair
    base[2] = made_up("float32", 2, 96.0)
    row = from_runs(*base, *[made_up("mixed", s, 95.0 + s) for s in range(3)]).row("mixed")
    assert (row.pairs, row.diverged, row.difference) == (2, 0, 1.0)
    both = made_up("mixed", 0, None, "stopped"), *(made_up("mixed", s, 95.0 + s) for s in (1, 2))
    assert from_runs(*base, *both).row("mixed").verdict != "DIVERGED"  # where both are lost


def test_what_is_saved_is_what_is_loaded(tmp_path):
    arms = ("float32", "mixed,loss_scale=1e30")
    result = compare(blobs(), arms, 2, dial=1, out=tmp_path, progress=False)
    loaded = Comparison.load(tmp_path)
    assert str(loaded.runs) == str(result.runs)  # as texts: NaN is not equal to itself
    assert loaded.rows() == result.rows()
    assert (loaded.task, loaded.dial, loaded.config) == (result.task, 1, result.config)
    assert (loaded.notes(), loaded.environment) == (result.notes(), result.environment)


def again(folder, arms=BOTH, seeds=2):
    return compare(blobs(steps=3), arms, seeds, out=folder, progress=False)


def test_the_same_folder_again_trains_only_what_is_missing(tmp_path, trained):
    first = again(tmp_path, seeds=1)
    trained.clear()
    assert again(tmp_path, seeds=1).rows() == first.rows() and trained == []
    again(tmp_path)
    grown = again(tmp_path, ["mixed,loss_scale=off"])
    assert trained == [(arm, 1) for arm in BOTH] + [("mixed,loss_scale=off", s) for s in (0, 1)]
    assert grown.baseline == "float32" and len(grown.runs) == 6


def test_runs_are_not_mixed_with_those_that_began_otherwise_and_other_machines_are_named(tmp_path):
    first = again(tmp_path, seeds=1)
    first.runs[0].history["loss"][2] += 1
    store.save_run(tmp_path, first.runs[0], first.config)
    refuses(ArgumentError, "float32, seed 0, whose loss at step 3 was ", again, tmp_path)
    first.environment["NumPy"] = "1.9"
    first.save(tmp_path)
    told = f"2 of 4 runs ran on another machine: NumPy {np.__version__} instead of 1.9."
    assert told in again(tmp_path).notes()


@pytest.mark.parametrize("finished", [0, 3])
def test_an_interrupt_leaves_what_was_finished_readable(tmp_path, monkeypatch, trained, finished):
    counted = in_process.train

    def interrupted(*args, **kwargs):
        if len(trained) == finished:
            raise KeyboardInterrupt
        return counted(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(in_process, "train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            again(tmp_path)
    left = Comparison.load(tmp_path)
    missing = [("float32", 0), ("mixed", 0), ("float32", 1), ("mixed", 1)][finished:]
    assert len(left.runs) == finished and sorted(left.missing()) == sorted(missing)
    assert f"{4 - finished} of 4 runs are still missing" in " ".join(left.notes())
    assert left.row("mixed").pairs == finished // 2
    trained.clear()
    again(tmp_path)
    assert trained == missing


def test_other_settings_in_the_same_folder_and_a_damaged_run_are_refused_by_name(tmp_path):
    def other(**changes):
        compare(blobs(**{"steps": 3, **changes}), ["float32"], 1, out=tmp_path, progress=False)

    other()
    for change, named in (
        *(({"steps": 4}, "steps was 3 and is now 4"), ({"dial": 2}, "dial was 0 and is now 2")),
        ({"batch_size": 8}, "batch size was 16 and is now 8"),
        ({"clip_norm": 1.0}, "clip norm was None and is now 1.0"),
        ({"data": lambda: (clouds(160, 7), clouds(80, 2))}, "training data was 'clouds, 160"),
        ({"optimizer": lambda p: optim.Adam(p, lr=0.05)}, "optimizer was .*0.02.* is now .*0.05"),
    ):
        refuses(ArgumentError, named, other, **change)
    (path,) = (tmp_path / "runs").glob("*.json")
    path.write_text("{", encoding="utf-8")
    refuses(DataError, "Delete it and compare again", other)


def pictures(folder):
    return sorted(p.name for p in folder.iterdir() if p.suffix in (".svg", ".png", ".html"))


def test_pictures_of_other_runs_do_not_stay_beside_new_results(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(drawing, "is_available", lambda: True)
    only_picture(monkeypatch)
    given, task = {"out": tmp_path, "progress": False}, blobs(steps=3)
    compare(task, BOTH, 1, figures="svg", **given)
    of_one = (tmp_path / "loss.svg").read_bytes()
    compare(task, BOTH, 1, **given)  # the same runs: all stays
    assert (tmp_path / "loss.svg").read_bytes() == of_one
    compare(task, BOTH, 2, figures="png", **given)
    assert pictures(tmp_path) == ["loss.png", "report.html"]

    def interrupted(*args, **more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(in_process, "train", interrupted)
        compare(task, [*BOTH, "float16"], 2, figures="png", **given)
    assert pictures(tmp_path) == []
    compare(task, BOTH, 2, figures="png", **given)
    (tmp_path / "runs" / "mixed,seed=1.json").unlink()
    compare(task, BOTH, 1, **given)
    assert pictures(tmp_path) == ["report.html"]


@pytest.mark.parametrize("name", ["", "report.html", "loss.png", "results.json", "runs"])
def test_each_place_is_tried_before_training(tmp_path, trained, monkeypatch, name):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(drawing, "is_available", lambda: True)
    out = tmp_path / "out"
    if name in ("", "runs"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("no folder", encoding="utf-8")
    else:
        (out / name).mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ArgumentError, match="cannot write into out="):
        compare(blobs(), BOTH, 1, out=out, figures="png", progress=False)
    assert trained == [] and sorted(tmp_path.rglob("*")) == before


def test_no_folder_is_no_folder_to_keep_runs_in(tmp_path, trained, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuses(ArgumentError, "a path is empty", compare, blobs(), BOTH, 1, out="", progress=False)
    refuses(ArgumentError, "a path is empty", Comparison.load, "")
    refuses(DataError, "no results.json in", Comparison.load, tmp_path)
    assert trained == [] and not list(tmp_path.iterdir())


def test_pictures_that_cannot_be_made_are_refused_before_training(tmp_path):
    for figures, error, message in (
        ("png", MinifpError, "pip install matplotlib"),
        ("gif", ArgumentError, "expected one of png, svg, pdf"),
    ):
        with pytest.raises(error, match=message):
            compare(blobs(), out=tmp_path / "runs", figures=figures, progress=False)
    assert not (tmp_path / "runs").exists()
