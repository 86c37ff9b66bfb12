"""Trained weights judged again in other formats, and the files they come from."""

import csv
import json
from functools import partial

import numpy as np
import pytest
from lab_blobs import blobs, clouds
from refusals import refuses
from terminals import call

import minifp as fp
from minifp.lab.final_weights import Weights
from minifp.lab.inference.examples import class_name, picture_of
from minifp.lab.inference.predictions import changed, predictions_of
from minifp.lab.results import store
from minifp.lab.resume import train_one
from minifp.lab.statistics.mcnemar import mcnemar_p
from minifp.numerics import policy
from minifp.report import drawing
from minifp.saving import tensor_file

pytestmark = pytest.mark.usefixtures("no_pictures")
QUIET = {"progress": False, "repeats": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("kept")
    fp.compare(blobs(), ["float32", "mixed"], 2, out=out, progress=False, keep_weights=True)
    return out


def test_in_its_own_precision_a_kept_run_is_judged_as_when_it_ended(folder):
    runs = {(r.precision, r.seed): r for r in fp.Comparison.load(folder).runs}
    found = fp.evaluate(folder, ["mixed", "float32"], task=blobs(), **QUIET)
    assert found.precisions == ["float32", "mixed"] and len(found.judged) == 4
    for judged in found.judged:
        run = judged.trained.run
        own, before = judged.results[run["precision"]], runs[run["precision"], run["seed"]]
        assert (own.metrics["accuracy"], own.loss) == (before.metric, before.evaluations[-1][2])


def test_runs_that_are_there_without_weights_are_made_again(tmp_path):
    call = partial(fp.compare, blobs(epochs=1), "mixed", out=tmp_path, progress=False)
    (first,) = call(seeds=1).runs
    path = store.weights_path(store.run_path(tmp_path, "mixed", 0))
    assert not path.exists()
    (again,) = call(seeds=1, keep_weights=True).runs
    assert again.metric == first.metric and path.exists()
    written = path.stat().st_mtime_ns
    assert (len(call(seeds=2, keep_weights=True).runs), path.stat().st_mtime_ns) == (2, written)
    other = tmp_path / "other"
    fp.compare(blobs(epochs=1), "float32", 1, out=other, progress=False)
    fp.merge(tmp_path, other, out=tmp_path / "both")
    moved = store.weights_path(store.run_path(tmp_path / "both", "mixed", 0))
    assert moved.read_bytes() == path.read_bytes()


def test_the_command_needs_nothing_but_the_file(tmp_path):
    path, out = tmp_path / "m.safetensors", tmp_path / "out"
    run = train_one("mlp", "float32", epochs=1, save=path, progress=False)
    words = ["evaluate", path, "--precision", "mixed", "float32", "-q", "--repeats", 1]
    words += ["--out", out, "--figures", "none"]
    result = call(*words)
    assert result.exit_code == 0 and "mlp-digits (float32, seed 0)" in result.output
    (held,) = json.loads((out / "evaluation.json").read_text(encoding="utf-8"))["checkpoints"]
    assert held["results"]["float32"]["metrics"] == {"accuracy": run.metric}
    sizes = [held["results"][p]["bytes"]["weights"] for p in ("float32", "mixed")]
    assert sizes[0] == 2 * sizes[1]
    assert held["results"]["mixed"]["seconds_per_example"] > 0
    refuses(fp.ArgumentError, "'letters'", fp.evaluate, path, "float32", data="letters", **QUIET)
    assert (out / "evaluation.csv").read_text(encoding="utf-8").count("\nm.safetensors,mlp") == 2


@pytest.mark.parametrize("named", ["program.py:task", "helper:task"])
def test_a_file_runs_no_program_that_it_names(folder, tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    text = "from lab_blobs import blobs\ntask = blobs()\nopen('RAN', 'wb').close()\n"
    (tmp_path / f"{named.split(':')[0].removesuffix('.py')}.py").write_text(text, encoding="utf-8")
    arrays, tree = tensor_file.read(folder / "runs" / "mixed,seed=0.safetensors")
    tree["extra"]["origin"] = {"task": named, "data": None}
    tensor_file.write(tmp_path / "m.safetensors", arrays, tree)
    result = call("evaluate", "m.safetensors", "-q")
    assert result.exit_code == 2 and f"name it yourself, with --task {named}" in result.output
    assert not (tmp_path / "RAN").exists()
    result = call("evaluate", "m.safetensors", "--task", named, "-q")
    assert result.exit_code == 0, result.output


def test_bytes_are_those_of_the_arrays_that_are_alive_and_all_are_timed_as_often(folder, tie):
    """At the peak the batch, what ReLU reads and what it makes are there: 2 + 16 + 16 numbers."""
    settings = {"batch": 24, "progress": False, "repeats": 2}
    found = fp.evaluate(folder, ["float32", "mixed"], task=blobs(), **settings).judged[0]
    weights = 2 * 16 + 16 + 16 * 4 + 4
    for precision, size in (("float32", 4), ("mixed", 2)):
        held = found.results[precision].bytes
        assert held == {"weights": weights * size, "activations": 24 * 34 * size}
        assert len(found.results[precision].times) == 2
    assert found.results["mixed"].held == found.base.held / 2
    first = fp.evaluate(tie, "float32", task=tied(40), examples=7, **QUIET).judged[0]
    assert first.base.predictions.targets.shape == (7,) and first.batch == 7


def pictures(n):
    x = np.random.default_rng(0).uniform(0.5, 1, (n, 1, 4, 4)).astype(np.float32)
    return fp.data.TensorDataset(x, np.ones(n, np.int64), classes=["<cat>", "dog"])


def tied(n=40):
    """A network whose classes differ by less than float16 can hold: 1 + 2^-12 becomes 1."""
    layers = partial(fp.nn.Sequential, fp.nn.Flatten(), fp.nn.Linear(16, 2, bias=False))
    return blobs(name="tied", model=layers, data=lambda: (pictures(4), pictures(n)))


@pytest.fixture
def tie(tmp_path):
    weights = np.ones((2, 16), np.float32)
    weights[1] += 2.0**-12
    model = Weights({"1.weight": weights}, policy.as_precision("float32"))
    return fp.save(tmp_path / "tied.safetensors", model=model)


def test_pictures_that_are_seen_otherwise_are_shown(tie, tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.setattr(drawing, "is_available", lambda: True)
    out = tmp_path / "out"
    found = fp.evaluate(tie, ["mixed", "float32"], task=tied(), out=out, figures="png", **QUIET)
    (judged,) = found.judged
    change = judged.changed("mixed")
    assert (len(change.places), change.gained, change.lost) == (40, 0, 40)
    assert judged.difference("mixed") == -100 and change.p == 2 * 0.5**40
    html = (out / "evaluation.html").read_text(encoding="utf-8")
    assert html.count("<img") == 40 and "float32: dog, 5" in html and "mixed: &lt;cat&gt;, " in html
    rows = [*csv.DictReader((out / "changed.csv").read_text(encoding="utf-8").splitlines())]
    assert len(rows) == 40 and {(r["true"], r["before"], r["now"]) for r in rows} == {
        ("dog", "dog", "<cat>")
    }  # fmt: skip
    assert {"evaluation-change.png", "changed.csv"} < {path.name for path in out.iterdir()}
    assert "40 of 40 predictions changed: 0 became right, 40 wrong" in found.table()


def test_the_loss_is_the_models_and_not_that_of_a_sum_in_float16(tie):
    """Of 4,096 losses of ln 2 a sum in float16 would stop growing on the way."""
    found = fp.evaluate(tie, ["float16", "float32"], task=tied(4096), **QUIET)
    losses = [r.loss for r in found.judged[0].results.values()]
    assert losses == pytest.approx([np.log(2)] * 2, abs=16 * 2.0**-12)  # as far as classes differ


def test_what_makes_no_sense_for_a_task_is_left_out_and_said(folder, tie):
    own = blobs(evaluate=lambda state, test_set: {"accuracy": 50.0, "loss": 1.0})
    found = fp.evaluate(folder / "runs" / "mixed,seed=0.safetensors", task=own, **QUIET)
    assert found.judged[0].results["mixed"].metrics == {"accuracy": 50.0}
    assert "left out: changed predictions, because the task" in found.table()
    outcomes = [np.full((n, 2), 0.5, np.float32) for n in (4, 40)]
    regression = blobs(
        name="regression", model=tied().model, metric=None, metric_name="error", metric_unit="",
        goal="min", margin=0.1, loss=lambda y, t: ((y - t) * (y - t)).mean(),
        data=lambda: tuple(fp.data.TensorDataset(pictures(len(t)).held[0], t) for t in outcomes),
    )  # fmt: skip
    judged = fp.evaluate(tie, ["float32", "mixed"], task=regression, **QUIET).judged[0]
    assert judged.left_out == ["changed predictions, because the outputs are not classes"]
    assert 0 < abs(judged.difference("mixed")) < 0.1 and judged.base.seconds > 0


def test_outputs_that_are_not_finite_name_no_class():
    y = np.array([[0, 1], [np.nan, 1], [2, 1], [5, np.inf]], np.float32)
    t = np.array([1, 1, 0, 1])
    found = predictions_of(y, t)
    assert found.classes.tolist() == [1, -1, 0, -1] and found.not_finite == 2
    assert found.shares[[1, 3]].tolist() == [0, 0]
    np.testing.assert_allclose(found.shares[[0, 2]], 1 / (1 + np.exp(-1)))
    assert class_name(pictures(1), -1) == "not finite"
    both = changed(found, predictions_of(y[::-1].copy(), t))
    assert both.places.ravel().tolist() == [0, 1, 2, 3] and (both.gained, both.lost) == (1, 2)
    ones = np.ones((3, 2))
    for outputs, targets in ((ones, ones), (ones, np.ones(4, int)), ([ones] * 2, np.ones(3, int))):
        assert predictions_of(outputs, targets) is None  # which are no classes
    sequence = predictions_of(np.eye(4)[None].repeat(2, 0), np.zeros((2, 4), int))
    assert sequence.classes.tolist() == [[0, 1, 2, 3]] * 2


@pytest.mark.parametrize("gained, lost", [(0, 0), (3, 3), (0, 7), (10, 2), (40, 61)])
def test_the_p_value_is_that_of_a_fair_coin(gained, lost):
    stats, n = pytest.importorskip("scipy.stats"), gained + lost
    expected = stats.binomtest(gained, n).pvalue if n else 1.0
    assert mcnemar_p(gained, lost) == pytest.approx(expected, rel=1e-12)


def test_a_picture_is_the_bytes_of_its_file_also_in_parts_of_a_data_set():
    from minifp.data.pictures import Pictures, pixel_levels

    bytes_ = np.arange(2 * 3 * 4 * 4, dtype=np.uint8).reshape(2, 3, 4, 4)
    levels = pixel_levels([0.5] * 3, [0.2] * 3, True)
    whole = Pictures(bytes_, np.array([0, 1]), levels, name="p", classes=None)
    part = fp.data.Subset(fp.data.Subset(whole, [1, 0]), [0])
    np.testing.assert_array_equal(picture_of(part, 0).pixels, bytes_[1].transpose(1, 2, 0))
    assert picture_of(clouds(3, 0), 0) is None
    grey = picture_of(pictures(2), 1).pixels
    assert (grey.shape, grey.min(), grey.max()) == ((4, 4), 0, 255)


def test_files_and_arguments_that_cannot_be_are_refused(folder, tie, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "is_available", lambda: True)
    path, empty = tmp_path / "x.safetensors", tmp_path / "empty"
    path.write_bytes(b"no tensors at all")
    empty.mkdir()
    task = blobs()
    for source, settings, told in (
        (path, {}, "truncated, damaged, or no safetensors"),
        (tmp_path / "y.safetensors", {}, "No such file"),
        (empty, {}, "no checkpoint in the folder .*--keep-weights"),
        ([], {}, "expected at least one file"),
        (folder, {}, "'blobs' was created in a program, .* --task"),
        (tie, {}, "does not name their task: name it"),
        (folder, {"task": tied()}, "is of the task 'blobs', not of 'tied'"),
        (tie, {"task": task}, "missing: 0.weight"),
        (folder, {"task": task, "repeats": 0}, "repeats=0"),
        (folder, {"task": task, "batch": 1.5}, "batch=1.5"),
        (folder, {"task": task, "examples": 0}, "examples=0"),
        (folder, {"task": task, "figures": "png"}, "figures='png' without out"),
        (folder, {"task": task, "precisions": ["mixed", "mixed"]}, "appears twice"),
    ):
        with pytest.raises((fp.ArgumentError, fp.CheckpointError), match=told):
            fp.evaluate(source, **{**QUIET, **settings})
    for keep in (lambda: fp.compare("mlp", keep_weights=True),
                 lambda: fp.gallery("vgg-d", keep_weights=True)):  # fmt: skip
        refuses(fp.ArgumentError, "keep_weights=True without out", keep)
    other = blobs(data=lambda: (clouds(160, 1), clouds(80, 3)))
    table = fp.evaluate(folder, "float32", task=other, **QUIET).table()
    assert "the test data was 'clouds, 80 examples, sha256" in table
