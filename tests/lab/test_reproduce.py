"""reproduce.sh: what it calls, what it says, and that it makes the same results."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from lab_blobs import blobs
from terminals import call

import minifp as fp
from minifp.lab.results import origin, reproduce

ROOT = Path(__file__).resolve().parents[2]
FILE = """\
from lab_blobs import blobs
mine = blobs(steps=4)
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a script for sh")


def run(path, *words, cwd):
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
    }
    command = ["sh", path, *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8")


@pytest.fixture
def project(tmp_path, no_pictures, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "the tasks").mkdir()
    (tmp_path / "the tasks" / "my task.py").write_text(FILE, encoding="utf-8")
    words = "-p float32 mixed,loss_scale=8 --seeds 1,4 --out runs/one --quiet".split()
    result = call("compare", "the tasks/my task.py:mine", *words)
    assert result.exit_code == 0, result.output
    return tmp_path


def test_the_script_makes_the_same_results(project):
    path = project / "runs" / "one" / "reproduce.sh"
    assert os.access(path, os.X_OK)
    assert str(project) not in path.read_text(encoding="utf-8")
    result = run(path, "runs/two", cwd=project)
    assert result.returncode == 0, result.stderr
    assert "4 runs in all, 4 of them twice, with the same bits." in result.stdout
    assert len(fp.Comparison.load(project / "runs" / "two").runs) == 4
    elsewhere = run(path, "two", cwd=project / "runs")
    assert elsewhere.returncode == 2
    assert elsewhere.stderr == "run this in the folder where the tasks/my task.py is\n"


def test_a_task_without_a_name_is_asked_for(tmp_path, no_pictures):
    fp.compare(blobs(steps=2), ["float32"], 1, out=tmp_path, progress=False)
    result = run(tmp_path / "reproduce.sh", cwd=tmp_path)
    assert result.returncode != 0 and "give it as FILE.py:NAME" in result.stderr


def of(*asked, **changes):
    first = fp.compare(blobs(steps=2), ["float32"], 1, progress=False)
    precisions = list(dict.fromkeys(arm for arm, _ in asked))
    fields = {"precisions": precisions, "asked": list(asked), "runs": [], **changes}
    return replace(first, **fields)


def test_arms_with_the_same_seeds_are_one_call(monkeypatch):
    asked = [(p, s) for s in range(3) for p in ("float32", "mixed@order")] + [("mixed", 7)]
    made = origin.Origin("lenet", "mnist", "cuda", {"MINIFP_KERNELS": "numpy; true"}, "0a1b2c")
    facts = {"x\ntouch ran #": "y\ntouch ran"}  # which another may have written
    text = reproduce.script(of(*asked, origin=made, dial=3, environment=facts))
    assert text.count("-m minifp compare lenet --data mnist") == 2
    ends = "--steps 2 --dial 3 --device cuda"
    assert f"--precision float32 mixed@order --seeds 3 {ends}" in text
    assert f"--precision mixed --seeds 7, {ends}" in text
    assert "\nexport MINIFP_KERNELS='numpy; true'\n" in text and "\n# commit: 0a1b2c\n" in text
    assert "\n# x touch ran #: y touch ran\n" in text
    calls = []
    monkeypatch.setattr("minifp.lab.compare", lambda *words, **more: calls.append(words))
    call("compare", "mlp", "--seeds", "7,")  # one seed alone
    assert calls[0][2] == [7]


def test_an_origin_is_told_without_folders_of_the_machine(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text("from lab_blobs import blobs\ntask = blobs()\n", encoding="utf-8")
    (tmp_path / "inner").mkdir()
    task = fp.load_task(f"{path}:task")
    for folder, named in ((tmp_path, "mine.py:task"), (tmp_path / "inner", "mine.py:task")):
        monkeypatch.chdir(folder)
        made = origin.origin_of(task, environment={"MINIFP_KERNELS": "numpy", "HOME": "x"})
        assert (made.task, made.variables) == (named, {"MINIFP_KERNELS": "numpy"})
    assert origin.origin_of(fp.load_task("lenet", "mnist"), "cpu", {}).data == "mnist"


def test_the_commit_is_told_with_what_is_changed(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("no git")
    assert origin.commit(tmp_path) == ""

    def git(*words):
        named = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *named, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    (tmp_path / "file").write_text("one", encoding="utf-8")
    git("add", "file")
    git("commit", "-m", "first")
    first = origin.commit(tmp_path)
    assert len(first) == 40 and int(first, 16)
    (tmp_path / "file").write_text("two", encoding="utf-8")
    assert origin.commit(tmp_path) == f"{first}, and changes in 1 file"
