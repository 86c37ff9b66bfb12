"""The index of commands: it lists them without importing them, and the examples of each work."""

import shlex
from pathlib import Path

import pytest
from own_process import python
from terminals import call

import minifp
from minifp import cli
from minifp.teach.commands.teach import COMMANDS as LESSONS

ROOT = Path(minifp.__file__).parents[1]
ALL = (*cli.COMMANDS, *(f"teach {name}" for name in LESSONS))
SPIRALS = """
from dataclasses import replace
import minifp as fp
task = replace(fp.load_task("mlp"), name="spirals")
"""


def test_every_file_in_a_folder_of_commands_is_in_the_index():
    """But those whose name begins with a command's, which are what this command alone needs."""
    files = {(path.parts[-3], path.stem) for path in ROOT.glob("minifp/*/commands/[!_]*.py")}
    index = {(room, name.replace("-", "_")) for name, (room, _) in cli.COMMANDS.items()}
    parts = {(room, stem) for room, stem in files if (room, stem.partition("_")[0]) in index}
    assert index <= files and files - index <= parts


def test_commands_are_listed_in_order_and_none_is_imported():
    code = "import sys, minifp; before = {*sys.modules}; from minifp.cli import main; "
    code += "main(['--help'], standalone_mode=False); print('new:', *{*sys.modules} - before)"
    text, _, new = python(code).stdout.rpartition("new:")
    lines = text.partition("Commands:\n")[2].splitlines()
    listed = [line.split()[0] for line in lines if line[2:3].strip()]
    assert listed[: len(cli.COMMANDS)] == [*cli.COMMANDS]
    ours = {name for name in new.split() if name.startswith("minifp")}
    assert ours == {"minifp.cli", "minifp.shell", "minifp.shell.group"}
    assert not {"numba", "tqdm", "matplotlib"} & {*new.split()}


@pytest.mark.parametrize("name", ["", *ALL])
def test_help_fits_100_columns_and_shows_examples(name):
    result = call(*name.split(), "--help")
    assert result.exit_code == 0 and max(map(len, result.output.splitlines())) <= 100
    assert "Start here:" in result.output if name == "" else examples(name)


def examples(name):
    lines = call(*name.split(), "--help").output.partition("Examples:\n")[2].partition("\n\n")[0]
    return [shlex.split(line, comments=True) for line in lines.splitlines()]


def shorter(words):
    values = {"--steps": "2", "--seeds": "1"}
    return [values.get(before, word) for before, word in zip(["", *words], words)]


@pytest.mark.sampled(20, core=lambda name: name in ("train", "compare", "teach lessons"))
@pytest.mark.parametrize("name", ALL)
def test_every_example_works(name, a_class, little_tasks, short_demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("minifp.report.drawing.is_available", lambda: False)
    (tmp_path / "spirals.py").write_text(SPIRALS, encoding="utf-8")
    for program, *words in examples(name):
        result = call(*shorter(words))
        assert program == "minifp" and result.exit_code == 0, result.output
