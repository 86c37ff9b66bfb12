"""`minifp train`: one run with checkpoints, stopped and taken up again."""

import errno
import math
import os
import random as chance
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from lab_blobs import blobs, clouds
from snapshots import frozen
from terminals import call

import minifp as fp
from minifp.lab.resume import train_one
from minifp.lab.run import Training
from minifp.saving import checkpoint, files, tensor_file

ROOT = Path(fp.__file__).parents[1]
TIMES = ("seconds", "processor_seconds", "seconds_per_step")


def at_night(value):
    return pytest.param(value, marks=pytest.mark.nightly)


def outside(*words, **settings):
    env = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    command = [sys.executable, "-m", "minifp", "train", *map(str, words), "--quiet"]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def content(path):
    """All that a checkpoint holds, to the last bit, but how long it took."""
    arrays, tree = tensor_file.read(path)
    run = {k: v for k, v in tree["extra"]["run"].items() if k not in TIMES}
    return frozen((arrays, {**tree, "extra": {**tree["extra"], "run": run}}))


@pytest.mark.parametrize("precision", ["float32", "mixed", "autocast"])
def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path, precision):
    """Stopped within an epoch of 46 batches, and again at the end of the first."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    settings = {"precision": precision, "seed": 3, "progress": False}
    first = train_one("mlp", steps=60, save=whole, **settings)
    train_one("mlp", steps=17, save=parts, **settings)
    train_one("mlp", steps=45, resume=parts, progress=False)
    last = train_one("mlp", steps=60, resume=parts, progress=False)
    assert frozen(last.history) == frozen(first.history)
    assert (last.metric, last.steps, last.precision) == (first.metric, 60, precision)
    tree = [tensor_file.read(path)[1] for path in (whole, parts)]
    assert tree[0]["extra"]["settings"] == tree[1]["extra"]["settings"]
    for path in (whole, parts):  # the shorter runs evaluated at their own ends
        arrays, states = tensor_file.read(path)
        states["extra"]["run"] = None
        states["done"] = frozen(arrays)
        tree.append(frozen(states))
    assert tree[2] == tree[3]


def test_saved_where_and_when_it_is_asked_for_and_a_finished_run_stays_as_it_is(tmp_path):
    saved, save = [], checkpoint.save

    def noted(path, *args, extra, **kwargs):
        saved.append((Path(path).name, extra["run"]["steps"]))
        return save(path, *args, extra=extra, **kwargs)

    a, b = tmp_path / "a", tmp_path / "b"
    with mock.patch.object(checkpoint, "save", noted):
        train_one("mlp", steps=12, save=a, every=5, progress=False)
        first = train_one("mlp", steps=14, save=b, resume=a, every=1, progress=False)
    assert saved == [("a", 5), ("a", 10), ("a", 12), ("b", 13), ("b", 14)]
    before, again = content(b), train_one("mlp", steps=14, resume=b, progress=False)
    assert content(b) == before
    assert (again.metric, again.history) == (first.metric, first.history)


def test_the_command_trains_saves_and_goes_on(tmp_path):
    path = tmp_path / "c.safetensors"
    result = call("train", "mlp", "--steps", 10, "--save", path, "--every", 4, "-q")
    assert result.exit_code == 0, result.output
    assert "mixed, seed 0" in result.output and str(path) in result.output
    result = call("train", "mlp", "--steps", 15, "--resume", path, "-q")
    assert result.exit_code == 0 and "15, of which" in result.output
    assert fp.load(path, model=fp.load_task("mlp").model())["run"]["steps"] == 15
    result = call("train", "mlp", "--steps", 3, "--precision", "float32", "--seed", 5, "-q")
    assert result.exit_code == 0
    assert "float32, seed 5" in result.output and "Nothing was saved" in result.output


def test_another_run_is_not_gone_on_with(tmp_path):
    path = tmp_path / "c"
    train_one("mlp", steps=6, save=path, progress=False)
    before = path.read_bytes()
    for words, problem in (
        ("lenet", "is of another run: task: 'mlp-digits' then, 'lenet-digits' now"),
        ("mlp --seed 7", "seed: 0 then, 7 now"),
        ("mlp --precision float32", "precision: 'mixed' then, 'float32' now"),
        ("mlp --dial 3", "dial: 0 then, 3 now"),
        ("mlp --data digits --steps 2", "has done 6 steps, more than the 2"),
        ("mlp --every 0", "every=0"),
    ):
        result = call("train", *words.split(), "--resume", path, "-q")
        assert result.exit_code == 2 and problem in " ".join(result.output.split())
        assert path.read_bytes() == before


@contextmanager
def each_step(act):
    step = Training.step

    def acted(training, *batch):
        act(training)
        step(training, *batch)

    with mock.patch.object(Training, "step", acted):
        yield


@contextmanager
def interrupted_after(steps):
    def interrupt(training):
        if training.run.steps == steps:
            raise KeyboardInterrupt

    with each_step(interrupt), pytest.raises(KeyboardInterrupt):
        yield


@pytest.mark.parametrize("precision", ["float32", "mixed", "mixed,master_weights=off"])
def test_averages_of_unrounded_weights_go_on_to_the_bit_and_are_judged_as_stored(
    tmp_path, precision
):
    parts = partial(fp.nn.Linear, 2, 8), partial(fp.nn.BatchNorm1d, 8), partial(fp.nn.Linear, 8, 4)
    task = blobs(model=lambda: fp.nn.Sequential(*(part() for part in parts)), average=0.1)
    whole, part, noted = tmp_path / "whole", tmp_path / "part", []
    with each_step(lambda t: noted.append(t.state.weights()[""]["0.weight"])):
        first = train_one(task, precision, save=whole, progress=False)
    with interrupted_after(17):
        train_one(task, precision, save=part, every=7, progress=False)
    last = train_one(task, resume=part, progress=False)
    assert frozen(last.metrics) == frozen(first.metrics) and content(part) == content(whole)
    saved = fp.load(whole)["averaged"][""]
    mean, *after = map(np.float32, [*noted[1:], tensor_file.read(whole)[0]["0.weight"]])
    for n, weights in enumerate(after, 2):
        mean = mean + (weights - mean) / min(n, 4)  # a tenth of 40 steps
    np.testing.assert_allclose(saved["0.weight"], mean, 1e-5, 1e-6)
    inputs = task.data()[0][np.arange(160)][0] @ mean.T + saved["0.bias"]
    np.testing.assert_allclose(saved["1.running_mean"], inputs.mean(0), 1e-2, 1e-3)
    judged = fp.evaluate(whole, [precision], task=task, repeats=1, progress=False).judged[1]
    assert judged.trained.name.endswith(f"({precision}, seed 0, averaged)")
    assert judged.base.metrics["accuracy"] == first.metrics["averaged accuracy"][-1]
    assert judged.base.loss == pytest.approx(first.metrics["averaged test loss"][-1], rel=2e-3)


@pytest.mark.parametrize("meant", [5, 9], ids=["finished", "stopped"])
def test_a_resumed_run_goes_on_by_the_schedule_of_the_longer_one(tmp_path, meant):
    """As if the longer run had been asked for at first, but for the rates until then."""
    path, rates = tmp_path / "c", []
    with interrupted_after(5) if meant > 5 else nullcontext():
        train_one("lenet", steps=meant, save=path, every=1, progress=False)
    with each_step(lambda training: rates.extend(training.state.schedulers[""].get_last_lr())):
        run = train_one("lenet", steps=12, resume=path, progress=False)
    assert run.steps == 12 and run.skipped == 0
    cosine = [2.5e-3 * (1 + math.cos(math.pi * n / 12)) for n in range(12)]
    assert rates == pytest.approx(cosine[5:])
    assert tensor_file.read(path)[1]["extra"]["settings"]["steps"] == 12


def test_without_a_length_a_resumed_run_ends_where_it_was_meant_to(tmp_path):
    path = tmp_path / "c"
    with interrupted_after(3):
        train_one("lenet", steps=5, dial=2, save=path, every=1, progress=False)
    run = train_one("lenet", resume=path, progress=False)
    straight = train_one("lenet", steps=5, dial=2, progress=False)
    assert frozen(run.history) == frozen(straight.history)


def test_epochs_are_all_epochs_those_done_included(tmp_path):
    def small():
        return replace(fp.load_task("mlp"), data=lambda: (clouds(32, 1), clouds(16, 2)), **MODEL)

    path = tmp_path / "c"
    assert train_one(small(), epochs=1, save=path, progress=False).steps == 2
    assert train_one(small(), epochs=3, resume=path, progress=False).steps == 6
    with pytest.raises(fp.CheckpointError, match="done 6 steps, more than the 4.*epochs=3"):
        train_one(small(), epochs=2, resume=path, progress=False)
    straight = train_one(small(), epochs=3, progress=False)
    assert train_one(small(), resume=path, progress=False).history == straight.history


MODEL = {"model": lambda: fp.nn.Linear(2, 4), "batch_size": 16}


def test_a_scheduler_of_ones_own_has_no_longer_run(tmp_path):
    mine = mock.Mock(spec=["step", "state_dict", "load_state_dict"])
    mine.state_dict.return_value = {}
    task = replace(fp.load_task("mlp"), schedule=lambda optimizer, steps: mine)
    train_one(task, steps=2, save=tmp_path / "c", progress=False)
    with pytest.raises(fp.CheckpointError, match="steps: 2 then, 5 now"):
        train_one(task, steps=5, resume=tmp_path / "c", progress=False)


def test_a_place_that_cannot_be_written_is_found_before_the_first_step(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with mock.patch("minifp.lab.resume.train") as train:
        result = call("train", "mlp", "--save", tmp_path / "file" / "c", "-q")
    assert result.exit_code == 2 and "is, or is in, a file" in result.output
    assert not train.called
    with mock.patch("minifp.lab.resume.train", side_effect=KeyboardInterrupt):
        result = call("train", "mlp", "--save", tmp_path / "new" / "c", "-q")
    assert result.exit_code == 130 and "Nothing was saved yet" in result.output
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_disk_that_fills_up_leaves_the_last_checkpoint(tmp_path):
    path = tmp_path / "c"
    train_one("mlp", steps=3, save=path, progress=False)
    before, fill = path.read_bytes(), files.fill

    def full(part, data, was):
        if len(data) > 1000:
            raise OSError(errno.ENOSPC, "No space left on device")
        fill(part, data, was)

    with mock.patch.object(files, "fill", full):
        result = call("train", "mlp", "--resume", path, "--steps", 6, "-q")
    assert result.exit_code == 2 and "No space left on device" in result.output
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["c"]


def test_what_cannot_be_resumed_is_refused(tmp_path):
    fp.save(tmp_path / "c", model=fp.load_task("mlp").model(), extra={"step": 1})
    for words, problem in (
        (("--resume", tmp_path / "c"), "not written by `minifp train`"),
        *((("--resume", tmp_path / "nothing"), "No such file"), (("--every", "3"), "without save")),
        *((("--save", ""), "path is empty"), (("--resume", ""), "path is empty")),
    ):
        result = call("train", "mlp", *words)
        assert result.exit_code == 2 and problem in result.output


@pytest.mark.nightly
def test_the_number_of_threads_changes_no_bit(tmp_path):
    """Saved with one thread and resumed with two, as with two and one, and as in one go."""
    whole = tmp_path / "whole"
    threads = [dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), n) for n in "12"]
    task = tmp_path / "lenet.py"  # as a schedule of 12 steps is not one of 5
    task.write_text(
        "from dataclasses import replace\nimport minifp as fp\n"
        "task = replace(fp.load_task('lenet'), schedule=None)\n",
        encoding="utf-8",
    )
    arguments = (task, "--seed", 1)
    runs = [outside(*arguments, "--steps", 12, "--save", whole, **threads[0])]
    for name, env in zip("ab", threads):
        runs.append(outside(*arguments, "--steps", 5, "--save", tmp_path / name, **env))
    for run in runs:
        assert run.communicate(timeout=300) and run.returncode == 0
    for name, env in zip("ab", reversed(threads)):
        path = tmp_path / name
        run = outside(*arguments, "--steps", 12, "--resume", path, **env)
        assert run.communicate(timeout=300) and run.returncode == 0
        arrays, tree = tensor_file.read(path)
        expected, other = tensor_file.read(whole)
        assert frozen(arrays) == frozen(expected)
        assert frozen(tree["optimizer"]) == frozen(other["optimizer"])


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGINT, *map(at_night, (signal.SIGKILL, signal.SIGTERM))])
def test_stopped_by_a_signal_it_goes_on_from_the_last_checkpoint(tmp_path, how):
    path, when = tmp_path / "c", chance.Random(1)
    process = outside("mlp", "--steps", 1000000, "--save", path, "--every", 1)
    while not path.is_file() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(when.uniform(0, 0.3))
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130 and b"--resume" in errors
    if how == signal.SIGTERM:
        assert process.returncode == 143 and b"--resume" in errors
    if how != signal.SIGKILL:
        assert [p.name for p in tmp_path.iterdir()] == ["c"]
    steps = tensor_file.read(path)[1]["extra"]["run"]["steps"]
    assert steps >= 1
    run = train_one("mlp", steps=steps + 3, resume=path, progress=False)
    straight = train_one("mlp", steps=steps + 3, progress=False)
    assert frozen(run.history) == frozen(straight.history)
    assert np.isfinite(run.metric)


def test_a_run_that_ends_where_a_checkpoint_lies_between_evaluations_is_evaluated(tmp_path):
    """The checkpoint of step 5 was written before any evaluation."""
    save, kept = checkpoint.save, tmp_path / "5"

    def copied(path, *args, extra, **kwargs):
        save(path, *args, extra=extra, **kwargs)
        if extra["run"]["steps"] == 5:
            kept.write_bytes(Path(path).read_bytes())

    with mock.patch.object(checkpoint, "save", copied):
        train_one("mlp", steps=12, save=tmp_path / "c", every=5, progress=False)
    run = train_one("mlp", steps=5, resume=kept, progress=False)
    assert (run.metric, run.steps) == (train_one("mlp", steps=5, progress=False).metric, 5)
