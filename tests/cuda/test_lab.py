"""Training, comparing and checkpoints with a GPU, from the command line and from Python."""

import json

import numpy as np
import pytest
from refusals import refuses

pytest.importorskip("click")
from click.testing import CliRunner

import minifp as fp
from minifp import nn, optim
from minifp.cli import main
from minifp.lab.resume import train_one
from minifp.lab.run import READ_AFTER, Run, Training
from minifp.lab.tasks import load_task
from minifp.numerics.policy import precision
from minifp.runtime import device


@pytest.fixture(scope="module")
def task():
    return load_task("mlp", "digits")


def run_of(task, place, graph=None, steps=READ_AFTER + 9, **settings):
    settings |= {"progress": False, "device": place, "graph": graph}
    return train_one(task, "mixed", 0, steps=steps, **settings)


def test_a_run_is_nearly_that_of_the_cpu(task):
    there, here = run_of(task, "cuda"), run_of(task, "cpu")
    assert there.status == here.status and there.steps == here.steps
    assert there.history["step"] == here.history["step"]
    assert there.history["scale"] == here.history["scale"]
    assert np.allclose(there.history["loss"], here.history["loss"], rtol=0.02)
    assert (there.metric, there.bytes) == (pytest.approx(here.metric, abs=3), here.bytes)


def test_a_graph_changes_no_number(task):
    with_graph, without = run_of(task, "cuda", graph=True), run_of(task, "cuda", graph=False)
    assert (with_graph.history, with_graph.metric) == (without.history, without.metric)


def test_a_step_that_no_graph_can_do_goes_on_without(task):
    def loss(y, t):
        value = nn.functional.cross_entropy(y, t)
        return value * (1.0 if value.item() > 0 else 2.0)

    odd = fp.Task("odd", task.model, task.data, loss, task.optimizer, batch_size=64, steps=8)
    data = odd.data()
    with precision("mixed"), device.default_device("cuda"):
        training = Training(odd, Run("mixed", 0), data)
        run = training.to_the_end(None)
    assert run.steps == 8 and len(run.history["loss"]) == 8
    assert "reads a result on the CPU" in training.refusal and "test_lab.py" in training.refusal
    refuses(fp.CaptureError, "reads a result", run_of, odd, "cuda", graph=True)


def test_a_checkpoint_moves_between_devices(task, tmp_path):
    path = tmp_path / "run.safetensors"
    run_of(task, "cuda", steps=10, save=path)
    model = task.model()
    fp.load(path, model=model)
    assert all(p.device == "cpu" and np.isfinite(p.numpy()).all() for p in model.parameters())
    for place in ("cpu", "cuda"):
        run = train_one(task, steps=20, resume=path, device=place, progress=False)
        assert run.steps == 20 and len(run.history["loss"]) == 20
        run_of(task, "cuda", steps=10, save=path)


def test_a_resumed_run_on_the_gpu_is_the_whole_one_bit_for_bit(task, tmp_path):
    path, whole = tmp_path / "part.safetensors", run_of(task, "cuda", steps=30)
    run_of(task, "cuda", steps=12, save=path)
    resumed = train_one(task, resume=path, steps=30, progress=False, device="cuda")
    assert resumed.history == whole.history


def test_the_command_line_takes_a_device(tmp_path):
    out = tmp_path / "runs"
    command = ["compare", "mlp", "--device", "cuda", "--steps", "6", "--seeds", "1", "-q"]
    result = CliRunner().invoke(main, [*command, "--out", str(out), "--figures", "none"])
    assert result.exit_code == 0, result.output
    found = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert [run["steps"] for run in found["runs"]] == [6, 6]
    trained = CliRunner().invoke(main, ["train", "mlp", "--device", "cuda", "--steps", "6", "-q"])
    assert trained.exit_code == 0, trained.output
    assert fp.zeros(1).device == "cpu"  # the default is as it was


def test_the_doctor_tells_of_the_gpu():
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert " in CUDA C++" in text and "matrix products by" in text
    assert "GPU math tensor_cores: tensor cores multiply numbers of 16 bits" in text


def test_a_default_device_is_for_tensors_and_modules():
    fp.set_default_device("cuda")
    try:
        layer = nn.Linear(2, 3)
        made = [fp.zeros(2), fp.tensor([1]), fp.rand(3), fp.arange(3), layer.weight, layer.bias]
        assert {t.device for t in made} == {"cuda"}
        optim.SGD(layer.parameters(), lr=0.1)
    finally:
        fp.set_default_device(None)
    assert fp.zeros(2).device == "cpu"
