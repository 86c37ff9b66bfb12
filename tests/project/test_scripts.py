"""The scripts in scripts/: they run as their help says, and train what `compare` trains."""

import json
import os
import re
import subprocess
import sys

import pytest
from loading import SCRIPTS, script

import minifp as fp

NAMES = [path.stem for path in sorted(SCRIPTS.glob("*.py"))]
TRAIN = [name for name in NAMES if name.startswith("train_")]
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


def run(name, *options):
    command = [sys.executable, "-W", "error", SCRIPTS / f"{name}.py", *map(str, options)]
    streams = {"capture_output": True, "text": True, "encoding": "utf-8"}
    done = subprocess.run(command, **streams, env={**os.environ, **ONE_THREAD}, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def number(pattern, text):
    return float(re.search(pattern, text)[1])


ENDS = {  # of a script: its task, its length, what it says at the end, and how near
    "train_cnn": ("lenet", {"epochs": 2}, r"test accuracy ([\d.]+)%", 0.6),  # 2 of 360 pictures
    "train_lstm": ("charlstm", {"steps": 10}, r"validation loss ([\d.]+) nats", 0.002),
}
nightly = pytest.mark.nightly


@pytest.mark.parametrize("precision", ["mixed", pytest.param("float32", marks=nightly)])
@pytest.mark.parametrize("name", ["train_cnn", pytest.param("train_lstm", marks=nightly)])
def test_a_script_ends_where_compare_ends(name, precision):
    task, length, pattern, near = ENDS[name]
    ((unit, count),) = length.items()
    said, progress = run(name, "--precision", precision, f"--{unit}", count, "--seed", 3)
    (there,) = fp.compare(task, [precision], seeds=[3], progress=False, **length).runs
    found = [float(value) for value in re.findall(pattern, said)]
    assert found[-1] == pytest.approx(there.metric, abs=near)
    assert number(r"(\d+) steps skipped", said) == 0
    assert number(r"loss scale (\d+)", said) == there.final_scale
    assert ("23/23" if name == "train_cnn" else "10/10") in progress
    if (name, precision) == ("train_cnn", "float32"):
        assert found[0] < found[1]
        said, _ = run("train_cnn", "--precision", "mixed,loss_scale=1e8", "--epochs", 1)
        assert number(r"(\d+) steps skipped", said) == 23
        assert number(r"loss scale ([\de+]+)", said) == 1e8


@pytest.mark.parametrize("name", TRAIN)
def test_a_script_is_at_most_40_lines_with_the_loop_in_full_view(name):
    text = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert "def " not in text and "class " not in text
    loop = ("F.cross_entropy(", "zero_grad()", "backward(", ".step()", ".eval()", "no_grad()")
    assert [call for call in loop if call not in text] == []


@nightly
@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")
def test_killed_while_saving_no_checkpoint_is_lost(tmp_path):
    """`python scripts/kill_saving.py --times 200` kills it more often."""
    said, _ = run("kill_saving", "--times", 6, "--out", tmp_path / "counts.json")
    counts = json.loads((tmp_path / "counts.json").read_text(encoding="utf-8"))
    assert json.loads(said) == counts
    assert counts["killed"] == 6 and counts["steps"] >= 6 and counts["checkpoints lost"] == 0


@pytest.mark.sampled(12, core=lambda name: name == "train_cnn")
@pytest.mark.parametrize("name", NAMES)
def test_help_names_a_command_to_begin_with(name):
    said, _ = run(name, "--help")
    assert f"scripts/{name}.py" in said
    assert f"{name}.py" in (SCRIPTS / "README.md").read_text(encoding="utf-8")
    if name in TRAIN:
        length = "--epochs" if name == "train_cnn" else "--steps"
        wanted = ("--precision", "--data", "--seed", length)
        assert [option for option in wanted if option not in said] == []


@nightly
def test_the_table_of_faces_is_that_of_its_figures_and_is_measured():
    """`variable = 1` is a process of its own; the figures that do not depend on seeds are there."""
    faces = script("compare_faces")
    results = json.loads((SCRIPTS / "results" / "faces.json").read_text("utf-8"))
    assert [*results["faces"]] == [*faces.FACES] and results["seeds"] == 5
    varying = ("accuracy", "skipped", "scale_for")
    for name in ("Apex O3", "variable = 1"):
        found, told = faces.in_a_process(name, seeds=1, epochs=1), results["faces"][name]
        assert {k for k in found if not k.startswith(varying) and found[k] != told[k]} == set()
        assert (found["accuracy_of_small"][0] > 80) == (name != "Apex O3")
