"""`minifp new`."""

import ast
import json
import re
from importlib import resources
from pathlib import Path

import click

from minifp.errors import ArgumentError
from minifp.lab.environment import python_word
from minifp.saving import files
from minifp.shell import options

KINDS = ("cnn", "lstm", "compare")  # the files in templates/
CELL = re.compile(r"^# %%(.*)\n", re.MULTILINE)
COMMENT = re.compile(r"^# ?", re.MULTILINE)
NOTEBOOK = ".ipynb"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name", type=options.Place(dir_okay=False))
def new(kind, name):
    """Write a training program to start from, which runs as it is, in seconds.

    KIND is cnn (pictures of digits), lstm (Shakespeare, character by character) or compare (your
    own task in several precisions). Each has under 60 lines, with bundled data, mixed precision, a
    checkpoint to resume from, and the microscope. NAME is the file to write: a notebook if it ends
    in .ipynb. The program writes its results into runs/, in a folder of the same name. An existing
    file is never overwritten.

    \b
    Examples:
      minifp new cnn mine.py
      minifp new lstm poems.ipynb
      minifp new compare runs.py
    """
    path = Path(name)
    path = path if path.suffix in (".py", NOTEBOOK) else path.with_name(f"{path.name}.py")
    if path.exists():
        raise ArgumentError(f"{path} already exists and was not changed: choose another name")
    text = program(kind, path.stem)
    files.write(path, notebook(text) if path.suffix == NOTEBOOK else text)
    program_of = "-m jupyter lab " if path.suffix == NOTEBOOK else ""
    how = f"{python_word()} {program_of}{path}"
    click.echo(f"Wrote {path}. Run it: {how}")


def program(kind: str, stem: str) -> str:
    """The text of a template, which writes into runs/STEM."""
    folder = resources.files("minifp.lab.commands.templates")
    text = folder.joinpath(f"{kind}.py").read_text(encoding="utf-8")
    return text.replace(f'"runs/{kind}"', json.dumps(f"runs/{stem}", ensure_ascii=False))


def notebook(text: str) -> str:
    """A program, whose cells begin with "# %%" after what it says of itself, as a notebook."""
    _, *parts = CELL.split(text)
    cells = [cell(0, True, ast.get_docstring(ast.parse(text)) or "")]
    for i, (head, body) in enumerate(zip(parts[::2], parts[1::2]), 1):
        cells.append(cell(i, is_text="markdown" in head, source=body.strip("\n")))
    about = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def cell(number: int, is_text: bool, source: str) -> dict:
    """One of its cells, as the format (4.5) has it."""
    common = {"id": f"cell-{number}", "metadata": {}}
    if is_text:
        return {"cell_type": "markdown", **common, "source": COMMENT.sub("", source)}
    return {"cell_type": "code", **common, "source": source, "outputs": [], "execution_count": None}
