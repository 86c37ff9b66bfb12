"""Event files: what TensorBoard itself reads in them, and where it is missing."""

import math
import sys

import pytest
from lab_blobs import blobs

import minifp as fp
from minifp.lab.results import event_files

pytestmark = pytest.mark.usefixtures("no_pictures")


def read(path):
    """(tag, step) -> value of all scalars, by TensorBoard's own reader."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    return {
        (value.tag, event.step): value.simple_value
        for event in LegacyEventFileLoader(str(path)).Load()
        for value in event.summary.value
    }


def test_tensorboard_reads_each_run(tmp_path):
    pytest.importorskip("tensorboard")
    arms = ("float32", "mixed@order")
    task = blobs(epochs=2)
    made = fp.compare(task, arms, 2, out=tmp_path, progress=False, tensorboard=True)
    assert len(event_files.there(tmp_path)) == 4
    (run,) = (r for r in made.runs if (r.precision, r.seed) == ("mixed@order", 1))
    found = read(tmp_path / "tensorboard" / "mixed@order,seed=1" / event_files.NAME)
    for i, step in enumerate(run.history["step"]):
        assert found["train/loss", step] == pytest.approx(run.history["loss"][i], rel=1e-6)
        assert found["train/loss_scale", step] == run.history["scale"][i]
    measured = {step: value for (tag, step), value in found.items() if tag == "test/accuracy"}
    assert measured == {step: pytest.approx(value) for step, value, _ in run.evaluations}
    assert {tag for tag, _ in found} == {
        "train/loss", "train/grad_norm", "train/loss_scale", "train/skipped", "test/loss",
        "test/accuracy",
    }  # fmt: skip
    again = fp.Comparison.load(tmp_path)
    first, other = (event_files.events(c.runs[0], ["accuracy"]) for c in (again, made))
    assert first == other
    fp.compare(task, arms, 2, out=tmp_path, progress=False)
    assert len(event_files.there(tmp_path)) == 4  # of the same runs
    fp.compare(task, arms, 3, out=tmp_path, progress=False)
    assert event_files.there(tmp_path) == []  # else some would be missing


def test_without_tensorboard_or_a_folder_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto", None)
    with pytest.raises(fp.MinifpError, match="python -m pip install tensorboard"):
        fp.compare(blobs(), out=tmp_path / "new", progress=False, tensorboard=True)
    assert not (tmp_path / "new").exists()
    with pytest.raises(fp.ArgumentError, match="tensorboard=True without out"):
        fp.compare(blobs(), progress=False, tensorboard=True)


def test_numbers_that_are_not_finite_are_kept():
    pytest.importorskip("tensorboard")
    run = fp.compare(blobs(steps=3), ["mixed"], 1, progress=False).runs[0]
    run.history["loss"] = [1.0, math.nan, math.inf]
    told = event_files.scalars(run, ["accuracy"])
    assert [values["train/loss"] for _, values in told][2] == math.inf
    assert event_files.events(run, ["accuracy"])
