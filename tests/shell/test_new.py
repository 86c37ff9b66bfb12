"""`minifp new`: what it writes is short, in the house's style, and runs as it is, twice."""

import re
import runpy
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from terminals import call

import minifp
from minifp.lab.commands.new import KINDS
from minifp.lab.environment import python_word

ROOT = Path(minifp.__file__).parents[1]
QUICK = {"EPOCHS = 3": "EPOCHS = 1", "STEPS = 100": "STEPS = 20", "epochs=3": "epochs=1"}
new = partial(call, "new")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("minifp.report.drawing.is_available", lambda: False)


def quick(path):
    text = path.read_text("utf-8")
    for usual, fewer in QUICK.items():
        text = text.replace(usual, fewer)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_program_is_short_and_runs_as_it_is_and_again(kind, tmp_path, capsys):
    assert f"Run it: {python_word()} mine.py" in new(kind, "mine").output
    path = tmp_path / "mine.py"
    assert len(path.read_text("utf-8").splitlines()) < 60
    quick(path)
    for _ in range(2):  # the second goes on from the checkpoint, or makes the same anew
        runpy.run_path(str(path), run_name="__main__")
        assert re.search(r"loss|accuracy", capsys.readouterr().out)
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == "mine" and [*folder.glob("*.safetensors")]


def test_a_checkpoint_is_gone_on_from(tmp_path, capsys):
    new("cnn", "mine.py")
    quick(tmp_path / "mine.py")
    for epoch in (1, 2):
        runpy.run_path("mine.py")
        assert f"epoch {epoch}: " in capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_has_the_same_cells_and_keeps_to_the_format(kind, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    assert "jupyter lab mine.ipynb" in new(kind, "mine.ipynb").output
    new(kind, "mine.py")
    notebook = nbformat.read(tmp_path / "mine.ipynb", as_version=4)
    nbformat.validate(notebook)
    text = (tmp_path / "mine.py").read_text("utf-8")
    assert len(notebook.cells) == 1 + text.count("# %%")
    assert notebook.cells[0].source in text.partition("# %%")[0]
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert code and all(source in text for source in code)
    assert not any(c.source.startswith("#") for c in notebook.cells if c.cell_type == "markdown")


def test_nothing_is_overwritten_and_an_unknown_kind_is_refused(tmp_path):
    (tmp_path / "mine.py").write_text("my work", encoding="utf-8")
    for name in ("mine.py", "mine"):
        result = new("cnn", name)
        assert result.exit_code == 2 and "already exists" in result.output
    assert (tmp_path / "mine.py").read_text("utf-8") == "my work"
    result = new("gru", "other.py")
    assert result.exit_code == 2 and all(kind in result.output for kind in KINDS)
    new("lstm", 'one "two".py')
    assert 'Path("runs/one \\"two\\"")' in (tmp_path / 'one "two".py').read_text("utf-8")


@pytest.mark.parametrize("check", ["check", "format --check"])
def test_templates_are_in_the_house_style_wherever_they_are_written(check, tmp_path):
    for kind in KINDS:
        new(kind, f"{kind}.py")
    command = [sys.executable, "-m", "ruff", *check.split(), "--config", ROOT / "pyproject.toml"]
    done = subprocess.run([*command, tmp_path], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
