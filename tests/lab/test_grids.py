"""Sweeps: values, what a name changes, cells that are comparisons, files, and what is refused."""

import csv
import hashlib
import json
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from lab_blobs import blobs
from refusals import refuses

import minifp as fp
from minifp import optim
from minifp.lab import run as runs
from minifp.lab.changes import changed, place_of, switched
from minifp.lab.grids import estimate as measuring
from minifp.lab.grids.axes import values_of
from minifp.lab.grids.estimate import Cost, Estimate, kind
from minifp.lab.grids.grid import grid_of, read_grid
from minifp.lab.grids.sweeping import estimate
from minifp.lab.results import products
from minifp.lab.settings import settings
from minifp.lab.workers import in_process
from minifp.lab.workers.request import Request
from minifp.lab.workers.travel import Named, ticket
from minifp.optim import lr_scheduler
from minifp.report import drawing

pytestmark = pytest.mark.usefixtures("no_pictures")


def test_values_are_read_as_they_are_written_and_others_refused():
    for name, given, values in (
        ("lr", "1e-4..1e-1:4", [1e-4, 1e-3, 1e-2, 1e-1]),
        *(("lr", "1e-4..1e-3:3", [1e-4, 3.162e-4, 1e-3]), ("lr", "0..0.2:3:lin", [0.0, 0.1, 0.2])),
        ("batch_size", "16..128:4", [16, 32, 64, 128]),
        ("loss_scale", "1,8,128,dynamic,off", [1, 8, 128, "dynamic", False]),
        *(("lr", [1e-3, "0.01..0.1:2"], [1e-3, 0.01, 0.1]), ("lr", 0.5, [0.5])),
    ):
        found = values_of(name, given)
        assert found == values and [*map(type, found)] == [*map(type, values)]
    for given, message in (
        ("0..1:3", r"both ends must be above 0; .* write 0\.\.1:3:lin"),
        ("1..2:1", "expected two numbers and a count .* from 2 to 1,000"),
        *(("1e-4..1e-1:100000000", "from 2 to 1,000"), ("a..b:3", "expected two numbers")),
        ("1..2", "expected values such as 1,8,128,dynamic, or a range"),
        *(("1,,2", "expected values such as"), ("1,1.0", "each value once")),
        ([], "each value once"),
    ):
        refuses(fp.ArgumentError, message, values_of, "lr", given)


def test_each_name_has_its_place_and_a_change_that_cannot_be_is_refused_with_what_can():
    task = blobs()
    assert place_of("lr", 0.1, task) == place_of("betas", (0.9, 0.99), task) == "optimizer"
    assert place_of("batch_size", 8, task) == place_of("accumulate", 2, task) == "task"
    assert place_of("accumulate", "float16", task) == place_of("loss_scale", 8, task) == "precision"
    for name, value, message in (
        ("learning_rate", 0.1, "unknown setting: expected .*lr"),
        ("batchsize", 8, "expected batch_size"),
        ("batch_size", 1.5, "batch_size=1.5: expected a whole number"),
        *(("lr", "fast", "lr=fast: expected such as lr=0.02"), ("lr", -1.0, "lr=-1: ")),
        ("amsgrad", 1, "amsgrad=1: expected such as amsgrad=off"),
    ):
        refuses(fp.ArgumentError, message, changed, blobs(), {name: value})
    eight = {"loss_scale": 8}  # which changes all precisions but float32
    switches = eight | {"master_weights": False}
    assert switched("mixed", switches) == "mixed,master_weights=off,loss_scale=8"
    assert switched("mixed@ulp", {"loss_scale": "dynamic"}) == "mixed@ulp"
    assert switched("float32@order", eight) == "float32@order"
    refuses(fp.PrecisionError, "loss_scale='fast'", switched, "mixed", {"loss_scale": "fast"})


def test_changes_reach_the_optimizer_its_schedule_and_the_task():
    seen = []

    def schedule(optimizer, steps):
        seen.append((optimizer.param_groups[0]["lr"], steps))
        return lr_scheduler.ConstantLR(optimizer, factor=1.0)

    task = changed(blobs(schedule=schedule), {"lr": 0.5, "batch_size": 8, "steps": 2})
    assert (task.batch_size, task.steps) == (8, 2)
    config = settings(task, task.data())
    assert "lr=0.5" in config["optimizer"] and config["steps"] == 2
    runs.train(task, "float32", 0)
    assert seen == [(0.5, 2)]
    both = changed(two_optimizers(), {"lr": 0.25})
    rates = {name: o.param_groups[0]["lr"] for name, o in both.optimizer(both.model()).items()}
    assert rates == {"a": 0.25, "b": 0.25}


def two_optimizers():
    def of_each(models):
        return {name: optim.SGD(m.parameters(), lr=0.1) for name, m in models.items()}

    model = blobs().model
    return blobs(model=lambda: {"a": model(), "b": model()}, optimizer=of_each)


SET = {"lr": [0.001, 0.01], "loss_scale": "1,dynamic"}


def test_cells_are_comparisons_and_switches_are_arms(tmp_path, trained):
    swept = fp.sweep(blobs(), SET, seeds=2, steps=3, out=tmp_path, progress=False)
    arms = ["float32", "mixed,loss_scale=1", "mixed"]
    assert trained == [(arm, s) for s in (0, 1) for _ in range(2) for arm in arms]
    assert sorted(p.name for p in (tmp_path / "cells").iterdir()) == ["lr=0.001", "lr=0.01"]
    cell = fp.Comparison.load(tmp_path / "cells" / "lr=0.01")
    assert cell.precisions == arms and not cell.missing() and "lr=0.01" in cell.config["optimizer"]
    assert str(swept.comparison(lr=0.01).runs) == str(cell.runs)
    point = swept.points[-1]
    assert point.settings == {"lr": 0.01, "loss_scale": "dynamic"} and point.arm == "mixed"
    row = cell.row("mixed")
    assert (point.n, point.mean, point.difference) == (2, row.mean, row.difference)
    trained.clear()
    fp.sweep(blobs(), SET, seeds=3, steps=3, out=tmp_path, progress=False)
    assert {seed for _, seed in trained} == {2} and len(trained) == 6


def test_the_files_of_a_sweep_have_every_run_and_point(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(drawing, "is_available", lambda: True)
    monkeypatch.setattr(products, "save_figures", lambda *given: [])
    swept = fp.sweep(
        *(blobs(), SET, ["float32", "mixed"], 2),
        **{"steps": 2, "out": tmp_path, "figures": "svg", "style": "paper", "progress": False},
    )
    rows = [*csv.DictReader((tmp_path / "sweep.csv").read_text("utf-8").splitlines())]
    assert len(rows) == 12 and {r["loss_scale"] for r in rows} == {"", "1", "dynamic"}
    held = json.loads((tmp_path / "sweep.json").read_text("utf-8"))
    assert held["grid"]["set"] == {"lr": [0.001, 0.01], "loss_scale": [1, "dynamic"]}
    assert [p["mean"] for p in held["points"]] == [p.mean for p in swept.points]
    names = sorted(p.name for p in tmp_path.glob("*.svg"))
    assert names == ["lr-and-loss-scale.svg", "over-loss-scale.svg", "over-lr.svg"]
    assert (tmp_path / "captions.txt").is_file()
    page = (tmp_path / "sweep.html").read_text("utf-8")
    assert 'href="cells/lr%3D0.01/report.html"' in page and page.count('<svg class="panel"') == 3
    assert "4 cells" not in swept.table() and "2 cells of 3 arms and 2 seeds" in swept.table()


def test_an_interrupt_says_how_many_runs_are_there(tmp_path, trained, monkeypatch):
    counted = in_process.train

    def interrupted(*args, **kwargs):
        if len(trained) == 4:
            raise KeyboardInterrupt
        return counted(*args, **kwargs)

    monkeypatch.setattr(in_process, "train", interrupted)
    with pytest.raises(KeyboardInterrupt, match="4 of 6 runs are finished and saved in"):
        fp.sweep(blobs(), SET, seeds=1, steps=2, out=tmp_path, progress=False)
    assert "4 of 6 runs are there" in (tmp_path / "sweep.html").read_text("utf-8")


@pytest.mark.parametrize("change, message", [
    ({"set": {}}, "nothing to vary"),
    ({"set": {"loss_scale": "1,8"}, "precisions": ["float32"]}, "would change nothing"),
    ({"set": {"accumulate": [2, "float16"]}}, "expected values of one kind"),
    ({"set": {"steps": "2,3"}, "steps": 3}, "steps: give it once"),
    ({"set": {"lr": "0.1,-1"}}, "lr=-1"), ({"set": "lr=0.1"}, "expected a dict"),
    ({"figures": "png"}, "without out"),
    ({"set": {"lr": "1..2:300", "weight_decay": "1..2:300"}}, "a grid of 90,000 points"),
    ({"seeds": 10**11}, "more than 10,000 runs"),
    ({"grid": "sweep.toml"}, "task, set beside grid='sweep.toml'"),
])  # fmt: skip
def test_what_cannot_be_swept_is_refused_before_training(change, message, trained):
    with pytest.raises(fp.ArgumentError, match=message):
        fp.sweep(**{"task": blobs(), "set": SET, "progress": False, **change})
    assert trained == []


TOML = """
task = "swept.py"
seeds = [0, 2]
steps = 2
[set]
lr = "1e-3..1e-1:3"
weight_decay = [0.0, 0.1]
"""


def test_a_grid_in_a_file_is_hashed_into_the_results(tmp_path):
    text = "from lab_blobs import blobs\ntask = blobs()\n"
    (tmp_path / "swept.py").write_text(text, encoding="utf-8")
    path = tmp_path / "sweep.toml"
    path.write_text(TOML, encoding="utf-8")
    grid = read_grid(path)
    assert (grid.runs, grid.seeds, grid.task.steps) == (24, [0, 2], 2)
    assert grid.cells()[1].name == "lr=0.001,weight_decay=0.1"
    swept = fp.sweep(grid=path, out=tmp_path / "out", progress=False)
    held = json.loads((tmp_path / "out" / "sweep.json").read_text("utf-8"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert held["grid"]["file"] == {"name": "sweep.toml", "sha256": digest}
    assert len(swept.points) == 12 and digest in (tmp_path / "out/sweep.html").read_text("utf-8")
    for wrong, message in (
        ("tsak = 1", "no key 'tsak', expected task"),
        *(("[set", "cannot be read as a grid in TOML"), ("seeds = 1", "task and set is missing")),
    ):
        path.write_text(wrong, encoding="utf-8")
        refuses(fp.ArgumentError, message, read_grid, path)
    grid = grid_of(f"{tmp_path / 'swept.py'}:task", {"lr": "0.1,0.2"}, steps=3)
    task = grid.task_of(grid.cells()[1])  # which travels by its name and its changes
    sent = ticket(grid.base, {**grid.lengths, "lr": 0.2}, task)
    assert isinstance(sent, Named) and sent.changes == (("steps", 3), ("lr", 0.2))
    there = sent.load()
    assert settings(there, there.data()) == settings(task, task.data())


def test_a_dry_run_counts_what_is_missing_and_writes_nothing(tmp_path):
    grid, where = grid_of(blobs(), SET, seeds=2, epochs=2), fp.lab.Where(tmp_path / "new")
    whole = estimate(grid, where)
    assert (whole.runs, len(whole.missing), len(whole.costs)) == (12, 12, 3)
    assert whole.seconds > 0 and "12 runs: about" in whole.text()
    assert not [*tmp_path.iterdir()]
    fp.sweep(grid=grid_of(blobs(), SET, seeds=1, epochs=2), out=tmp_path / "new", progress=False)
    assert "12 runs, 6 of which are there: about" in estimate(grid, where).text()


def test_the_time_of_a_sweep_is_that_of_its_steps_and_evaluations():
    task = blobs()  # 10 steps an epoch, 4 epochs, each with an evaluation
    wanted = [Request(None, task, task.data(), "mixed", seed) for seed in range(3)]
    of_kind = partial(Estimate, 3, wanted, {kind(wanted[0]): Cost(0.1, 1.0)})
    assert of_kind(1).seconds == pytest.approx(3 * (40 * 0.1 + 4))
    assert of_kind(2).seconds == pytest.approx(12)
    assert of_kind(8).seconds == pytest.approx(8)  # no shorter than one run
    assert "with 2 at a time" in of_kind(2).text()
    larger = Request(None, replace(task, name="larger"), wanted[0].data, "mixed", 0)
    slow = Estimate(1, [larger, *wanted], {kind(larger): Cost(1.0, 0.0), **of_kind(1).costs}, 1)
    assert slow.seconds == pytest.approx(40 + 3 * 8) and "larger" in slow.text()


def test_a_step_that_overflows_is_no_measure_of_the_others(monkeypatch):
    """Each takes 1 s; one that is skipped 2 s more, and an evaluation 4."""
    now, overflows = [0.0], [0]
    one = Request(None, blobs(), blobs().data(), "mixed", 0)

    def train(task, arm, seed, data, told):
        skipped = [int(step < overflows[0]) for step in range(task.steps)]
        for step, skip in enumerate(skipped):
            now[0] += 1 + 2 * skip + 4 * (step == task.steps - 1)
            told(None)
        return SimpleNamespace(history={"skipped": skipped})

    monkeypatch.setattr(measuring, "train", train)
    monkeypatch.setattr(measuring, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    for count, step in ((0, 1.0), (4, 1.0), (10, 1.0), (100, 3.0)):  # of 100 all are skipped
        overflows[0] = count
        assert measuring.measured(one) == Cost(step, 4.0)
