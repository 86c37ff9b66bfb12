"""The benchmark: its models train, both libraries compute the same. Nothing here is of speed."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import models

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from benchmarks import child, floor, memory, ours, profile_report, rounds, tasks, workloads
from benchmarks.gallery import TRAINED
from benchmarks.process import Failure, Process
from benchmarks.profiling import PYTHON, Profile
from benchmarks.tracing import Trace

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench.py"
MODELS = [w.name for w in workloads.MODELS]
SEQUENCES = tasks.GROUPS["sequences"]
OTHERS = [m.name for m in (*tasks.DETECTORS, *tasks.SEQUENCES, *tasks.WHOLE)]
NETWORKS = [m.name for m in TRAINED if "-narrow" not in m.name]


@pytest.fixture
def theirs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (minifp[parity])")
    before = torch.get_num_threads()
    from benchmarks import theirs

    torch.set_num_threads(1)
    yield theirs
    torch.set_num_threads(before)


def tiny(kind, name):
    return workloads.find(kind, name, tiny=True)


def test_resnet20_has_the_papers_number_of_weights():
    """0.27M in table 6 of He et al. 2015."""
    model = models.CIFARResNet(depth=20)
    assert sum(p.array.size for p in model.parameters()) == 269_722
    assert model(fp.ones(2, 3, 32, 32)).shape == (2, 10)


@pytest.mark.sampled(6, core=lambda name: name in (*MODELS, "mobilenetv2", "vittiny"))
@pytest.mark.parametrize("name", [*MODELS, *NETWORKS])
def test_loss_and_gradients_of_a_model_are_those_of_the_same_model_in_pytorch(name, theirs):
    torch = theirs.torch
    with fp.precision("float64"):
        mine = ours.Training(tiny("model", name))
        x, t = mine.batches[0]
        x = x.to(dtype="float64") if x.ndim != 2 or name == "mlp" else x
        loss = F.cross_entropy(mine.model(x), t)
        loss.backward()
    counterpart = theirs.Training(tiny("model", name), theirs.Side("float32"))
    counterpart.model.double()
    u, v = counterpart.batches[0]
    scores = counterpart.model(u.double() if u.is_floating_point() else u)
    other = torch.nn.functional.cross_entropy(scores, v)
    other.backward()
    assert loss.item() == pytest.approx(other.item(), rel=1e-10)
    there = dict(counterpart.model.named_parameters())
    assert {*there} == {n for n, _ in mine.model.named_parameters()}
    for path, p in mine.model.named_parameters():
        np.testing.assert_allclose(p.grad.array, there[path].grad.numpy(), atol=1e-10, err_msg=path)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported")  # by PyTorch's oneDNN
@pytest.mark.parametrize("name", SEQUENCES)
def test_networks_of_sequences_are_the_same_in_pytorch(name, theirs):
    """Begun alike, they have one loss; but a language model samples other words in each."""
    with fp.precision("float32"):
        mine = ours.Side.make(None, tiny("model", name))
        phases = list(mine.step())
    other = theirs.Side("float32").make(tiny("model", name))
    assert list(other.step()) == phases
    there = {n: tuple(p.shape) for n, p in other.model.named_parameters()}
    assert {n: p.shape for n, p in mine.model.named_parameters()} == there
    if name != "biglstm":
        assert mine.value() == pytest.approx(other.value(), rel=1e-5)


@pytest.mark.sampled(6, core=lambda name, **_: name in MODELS)
@pytest.mark.parametrize("precision", ["float32", "mixed"])
@pytest.mark.parametrize("kind, name", [("model", n) for n in (*MODELS, *OTHERS)] + [
    ("operation", w.name) for w in workloads.OPERATIONS
])  # fmt: skip
def test_every_workload_takes_steps(kind, name, precision):
    with fp.precision(precision):
        made = ours.Side.make(None, tiny(kind, name))
        first = list(made.step())
        assert first == list(made.step())  # the phases
    assert first[-1] in ("update", "backward", "forward")


def trace(name, kind="model"):
    with fp.precision("mixed"):
        made = ours.Side.make(None, tiny(kind, name))
        with Trace() as found:
            list(made.step())
    return found.found()


def flops(found):
    return sum(2 * np.prod(shapes[0]) * n for shapes, n in found["products"])


def test_products_and_bytes_of_a_step_are_those_by_hand():
    n, sizes = 4, (16, 12, 12, 10)
    layers = [2 * n * a * b for a, b in zip(sizes, sizes[1:])]
    found = trace("mlp")  # three for each layer, and two for the first
    assert flops(found) == 3 * sum(layers) - layers[0]
    assert [[[4, 12, 16]], 1] in found["products"] and [[[12, 16, 4]], 1] in found["products"]
    b, t, h, v = 2, 3, 6, 5
    step = 2 * b * t * 4 * h * h  # of one weight of one layer, in one direction
    assert flops(trace("lstm")) == 3 * (2 * 2 * step + 2 * b * t * h * v)
    assert flops(trace("gru")) == 3 * (2 * 2 * step * 3 // 4 + 2 * b * t * h * v)
    n, c, o, size = 2, 3, 5, 4
    found = trace("conv-16-16-32", "operation")  # of the unfolded input
    assert flops(found) == 3 * 2 * n * o * size**2 * 9 * c
    pixels = n * size**2
    assert [[[pixels, o, 9 * c], [o, pixels, 9 * c]], 1] in found["products"]
    of_attention = trace("gpt")["products"][:2]  # of two texts, in five blocks of one head
    assert of_attention == [[[[3, 3, 5]], 2 * 10], [[[3, 5, 3]], 4 * 10]]
    assert [name for name in MODELS if trace(name)["unknown"]] == []
    assert trace("relu", "operation")["moved"] == [(128 * 2 * 2, 1), (128 * 2 * 3, 1)]
    for precision, formats in (("float32", 4 + 4 + 16 + 4), ("mixed", 4 + 4 + 16 + 2 + 2)):
        with fp.precision(precision):
            adam = ours.Adam(tiny("operation", "adam"))
        assert adam.moved_by_update() == 16 * formats


class Machine:
    """A child that multiplies at 1 flop a second and moves 10 bytes a second, or 20 in 64 KiB."""

    def ask(self, do, shape=None, size=None, seconds=None):
        if do == "multiply":
            return {"a": 2.0 * np.prod(shape), "b": 3.0 * np.prod(shape)}
        return {"a": 20.0 if size == 65536 else 10.0, "b": 5.0}


def test_the_floor_is_products_at_their_rates_and_bytes_at_the_bandwidth():
    rates = floor.Rates(tiny=True)
    rates.processes = [Machine()]
    assert (rates.bandwidth(1), rates.bandwidth(131072), rates.bandwidth(1 << 40)) == (10, 20, 10)
    assert rates.bandwidth(65536) == pytest.approx(15)  # half way from 32 KiB, logarithmically
    found = {"products": [[[[2, 3, 4], [3, 2, 4]], 5]], "moved": [[100, 2], [0, 3]], "unknown": []}
    under = floor.floor(found, rates, inner=2)
    assert (under["products"], under["bytes"]) == (2 * 24 * 5 / 2, 100 * 2 / 10 / 2)
    assert under["seconds"] == 130 and under["flops"] == 120 and under["moved"] == 100


class Slow:
    def __init__(self, implementation, seconds, loss=2.3):
        self.implementation, self.seconds, self.value = implementation, seconds, loss

    def ask(self, do, limit=None, steps=1, **given):
        if do == "run":
            taken = [{"forward": self.seconds / 4, "update": self.seconds * 3 / 4}] * steps
            return {"steps": taken, "skipped": 0}
        return {"loss": self.value}


def contestant(implementation, seconds, loss=2.3, repeat=5):
    settings = rounds.Settings(repeat=repeat, seconds=0.25)
    one = rounds.Contestant(Slow(implementation, seconds, loss), settings, "model", "mlp")
    for _ in range(repeat):
        one.take()
    return one


def test_steps_fill_a_round_and_ratios_are_those_of_each():
    found = contestant("minifp-mixed", 0.01).found()
    assert found["steps_a_round"] == 25 and len(found["rounds"]) == 5
    assert found["seconds"] == pytest.approx(0.01)
    assert found["phases"] == pytest.approx({"forward": 0.0025, "update": 0.0075})
    assert contestant("torch-float32", 3.0).found()["steps_a_round"] == 1
    found = contestant("torch-float16", 3.0).found()  # where two steps are enough
    assert len(found["rounds"]) == 2 and found["is_slow"]
    assert len(contestant("torch-float16", 0.1).found()["rounds"]) == 5
    both = [contestant("minifp-mixed", 0.01), contestant("torch-float32", 0.02)]
    both[0].rounds = [{"total": t} for t in (1.0, 2.0, 30.0)]
    both[1].rounds = [{"total": t} for t in (2.0, 4.0, 10.0)]
    assert rounds.ratios(both) == {"minifp-mixed/torch-float32": 0.5}


def test_losses_that_differ_are_told():
    alike = [contestant("torch-float32", 1.0, 2.3), contestant("minifp-mixed", 1.0, 2.31)]
    assert rounds.disagreements(alike) == []
    (told,) = rounds.disagreements([*alike, contestant("minifp-float32", 1.0, 2.31)])
    assert told == "the first loss of minifp-float32 is 2.3100, not 2.3000"
    assert rounds.disagreements([alike[0], contestant("minifp-mixed", 1.0, float("nan"))])
    assert rounds.disagreements([alike[0], contestant("minifp-mixed", 1.0, 2.6)], drops=True) == []
    assert rounds.disagreements([alike[0], contestant("minifp-mixed", 1.0, 3.0)], drops=True)


def test_a_child_answers_says_what_failed_and_ends():
    with Process("minifp-mixed", 1) as process:
        about = process.ask("about", 100)
        assert about["about"]["minifp"] and about["imported"] == pytest.approx(about["imported"])
        with pytest.raises(Failure, match="^ValueError: "):
            process.ask("make", 100, kind="model", name="nothing", tiny=True)
        process.ask("make", 100, kind="operation", name="relu", tiny=True)
        answer = process.ask("run", 100, steps=2, before=1)
        assert [set(step) for step in answer["steps"]] == [{"forward", "backward"}] * 2
        assert process.ask("loss")["loss"] is None
        assert all(s > 0 for s in process.ask("multiply", shape=[2, 3, 4], seconds=0).values())
        assert all(r > 0 for r in process.ask("move", size=4096, seconds=0).values())
        assert {*child.CLOCKS} == {"wall", "processor"}
        assert len(process.ask("run", 100, steps=3, clock="processor")["steps"]) == 3
    assert process.child.poll() is not None
    with Process("minifp-mixed", 1) as process:
        refuses(Failure, "no answer within 0.01 s", process.ask, "about", 0.01)
        refuses(Failure, "ended with", process.ask, "about", 1)


def test_the_parts_of_a_profile_are_named_and_add_up_to_the_step():
    with fp.precision("mixed,loss_scale=128"):
        made = ours.Training(tiny("model", "mlp"))
        list(made.step())
        start = perf_counter()
        with Profile() as profile:
            for _ in range(4):
                profile.run(made.step())
        elapsed = perf_counter() - start
    parts = profile.found()
    assert 0 < sum(part[3] for part in parts) < elapsed
    assert all(part[3] >= part[4] for part in parts)
    assert {part[0] for part in parts} == {"zero_grad", "forward", "backward", "update"}
    named = {(phase, operation, kernel): calls for phase, operation, kernel, _, _, calls in parts}
    assert named["forward", "linear", "linear.linear_forward"] == 3
    assert named["backward", "linear", "linear.linear_dx"] == 2  # the batch needs no gradient
    assert named["backward", "relu", PYTHON] == 2
    assert any(key[:2] == ("update", "optimizer") and "adam" in key[2] for key in named)
    spans = list(profile_report.bars(parts))
    for level in range(4):
        whole = sum(seconds for at, _, seconds, _, _ in spans if at == level)
        assert whole == pytest.approx(spans[0][2])
    assert "linear.linear_dw" in profile_report.markdown("title", parts)


def bench(*options):
    command = [sys.executable, SCRIPT, "--tiny", *map(str, options)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env={**os.environ})


@pytest.mark.slow
@pytest.mark.nightly
def test_the_script_measures_writes_and_profiles(tmp_path):
    done = bench(
        *("--models", "mlp", "--kernels", "add", "--threads", 1, "--repeat", 2),
        *("--seconds", 0.01, "--implementations", "minifp-float32", "minifp-mixed"),
        *("--out", tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "bench.md").read_text(encoding="utf-8") in done.stdout + "\n"
    found = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    model, operation = found["results"]
    assert (model["name"], operation["name"]) == ("mlp", "add") and model["notes"] == []
    for name in rounds.OURS:
        measured = model["implementations"][name]
        assert len(measured["rounds"]) == 2 and measured["skipped"] == 0
        assert model["floor"][name]["seconds"] > 0 and model["held"][name]["activations"] > 0
        if memory.STATUS.exists():
            sizes = model["memory"][name]
            assert sizes["process"] >= sizes["loaded"] > sizes["imports"] > 0
    assert model["ratios"].keys() == {"minifp-mixed/minifp-float32"}
    assert found["rates"]["1"]["seconds"] and found["settings"]["repeat"] == 2
    done = bench("--profile", "lenet", "--threads", 1, "--repeat", 1, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "profile-lenet-mixed.md").read_text(encoding="utf-8")
    assert "conv.conv_dw" in text and "between operations" in text


def test_the_script_says_what_ended_early_and_what_is_not_known(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINIFP_KERNELS", "fortran")
    done = bench(
        *("--models", "mlp", "--kernels", "none", "--threads", 1, "--repeat", 1),
        *("--implementations", "minifp-mixed", "--out", tmp_path),
    )
    said = "mlp, 1 thread: minifp-mixed: ArgumentError: environment variable MINIFP_KERNELS"
    assert done.returncode == 1 and f"bench.py: {said}" in done.stderr
    assert "expected numba, numpy or checked" in (tmp_path / "bench.md").read_text(encoding="utf-8")
    for options, said in (
        ("--models nothing", "--models: nothing: expected some of mlp"),
        ("--kernels add nothing", "--kernels: nothing"),
        ("--implementations jax", "--implementations: jax"),
        *(("--threads 0", "--threads 0: expected numbers"), ("--repeat 0", "--repeat 0")),
        ("--clock processor --threads 2", "expected --threads 1"),
    ):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--tiny", *options.split()])
        refuses(SystemExit, "2", runpy.run_path, str(SCRIPT), run_name="__main__")
        assert said in capsys.readouterr().err
