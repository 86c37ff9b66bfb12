"""Write the notebooks of the lessons from their sources: for students, with solutions, or run.

A source is notebooks/source/NAME.py, in jupytext's percent format: a text that can be read,
compared and formatted. In the cell of an exercise the lines between "### BEGIN SOLUTION" and
"### END SOLUTION" (nbgrader's marks) are taken out for students; the cell after it, which checks,
is the one that nbgrader gives points for. What draws, and imports, is tagged "hide-input": it is
there, and folded.
"""

import os
import re
import sys
import time
from datetime import datetime
from pathlib import Path

import click
import jupytext
import nbformat

from minifp.saving import files
from minifp.teach import glossary

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
SOURCES = NOTEBOOKS / "source"
SOLUTION = re.compile(
    r"^(?P<indent> *)### BEGIN SOLUTION\n(?P<body>.*?)^ *### END SOLUTION\n?", re.M | re.S
)
MARK = re.compile(r"^ *### (?:BEGIN|END) SOLUTION\n?", re.M)
ASSIGNED = re.compile(r"^(\w+) = ", re.M)
CHECK = re.compile(r"^(?=teach\.check\()", re.M)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
COLAB = "https://colab.research.google.com"
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
HIDDEN = "hide-input"  # the tag of a cell whose code is no part of the lesson
FOLDED = {"jupyter": {"source_hidden": True}, "tags": [HIDDEN]}  # as JupyterLab, and pages, fold it
POINTS = 1  # of each exercise, for nbgrader
PATIENCE = 2  # seconds, above which a cell is told
OF_A_CHECKOUT = {"on-a-gpu"}  # which use programs in scripts/, and are no lessons
SECONDS = 3600  # after which a cell that runs is given up


# ---- from a source to its versions ---------------------------------------------------------------


def names() -> list[str]:
    """All sources, in order."""
    return sorted(path.stem for path in SOURCES.glob("*.py"))


def read(name: str) -> nbformat.NotebookNode:
    """The notebook of a source, with its marks."""
    notebook = jupytext.read(SOURCES / f"{name}.py", fmt="py:percent")
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for i, cell in enumerate(notebook.cells):
        folded = HIDDEN in cell.metadata.get("tags", ())
        cell["id"], cell.metadata = f"cell-{i}", nbformat.from_dict(FOLDED if folded else {})
    return notebook


def for_students(name: str) -> nbformat.NotebookNode:
    """Without solutions: what a function is to do raises, and a value is `...`, until written."""
    return changed(read(name), lambda source: SOLUTION.sub(to_write, source))


def with_solutions(name: str) -> nbformat.NotebookNode:
    """With solutions, and without their marks."""
    return changed(read(name), lambda source: MARK.sub("", source))


def for_nbgrader(name: str) -> nbformat.NotebookNode:
    """As nbgrader takes a source: marked solutions, and checks that have points, and must hold.

    nbgrader leaves nothing of a solution, so names of variables stand in front of it, too.
    """
    notebook = changed(read(name), lambda s: SOLUTION.sub(with_names, CHECK.sub("assert ", s)))
    for i, cell in enumerate(notebook.cells):
        if "### BEGIN SOLUTION" in cell.source:
            cell.metadata["nbgrader"] = graded(f"{name}-{i}", solution=True)
        elif cell.source.startswith("assert teach.check("):
            cell.metadata["nbgrader"] = graded(f"{name}-{i}", grade=True, points=POINTS)
    return notebook


def for_colab(name: str, repository: str) -> nbformat.NotebookNode:
    """For students on Colab: a badge that opens it there, and a first cell that installs minifp.

    repository: OWNER/NAME on GitHub, where it lies on the branch main in the folder colab.
    """
    notebook = for_students(name)
    there = f"{COLAB}/github/{repository}/blob/main/colab/{name}.ipynb"
    badge = f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({there})"
    source = f"https://github.com/{repository}"
    install = f'%pip install --quiet "minifp[plot] @ git+{source}"'
    if name in OF_A_CHECKOUT:
        install = f"!git clone --quiet {source} minifp-checkout"
    notebook.cells[:0] = [
        nbformat.v4.new_markdown_cell(badge, id="colab-badge"),
        nbformat.v4.new_code_cell(install, id="colab-install"),
    ]
    return notebook


def changed(notebook, change):
    """The notebook with its code cells' texts changed."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = change(cell.source).rstrip("\n")
    return notebook


def to_write(solution: re.Match) -> str:
    """What stands in place of a solution."""
    if solution["indent"]:
        return f"{solution['indent']}raise NotImplementedError  # your turn\n"
    return "".join(f"{name} = ...  # your turn\n" for name in ASSIGNED.findall(solution["body"]))


def with_names(solution: re.Match) -> str:
    """A solution, with what students see of variables in front of it."""
    return solution[0] if solution["indent"] else to_write(solution) + solution[0]


def graded(name: str, *, solution: bool = False, grade: bool = False, **more) -> dict:
    """What nbgrader wants to know of a cell, in the third version of its schema."""
    flags = {"grade": grade, "solution": solution, "locked": grade, "task": False}
    return {"schema_version": 3, "grade_id": name, "cell_type": "code", **flags, **more}


# ---- running -------------------------------------------------------------------------------------


def run(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run all cells in a folder, with answers shown. What a cell raises stops it, and is told.
    Raises ValueError where a cell writes to stderr: no lesson shows warnings."""
    from nbclient import NotebookClient

    os.environ["MINIFP_TEACH"] = "show"
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=where).execute()
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", ()))
    warned = [output.text for output in outputs if output.get("name") == "stderr"]
    if warned:
        raise ValueError(f"a lesson shows what was written to stderr: {warned[0]}")


def slow_cells(notebook: nbformat.NotebookNode) -> str:
    """The seconds of cells that took longer than PATIENCE, by how they begin."""
    found = []
    for cell in notebook.cells:
        told = cell.metadata.get("execution", {})
        ends = [told.get(key) for key in ("iopub.execute_input", "shell.execute_reply")]
        if all(ends):
            first, last = (datetime.fromisoformat(end.replace("Z", "+00:00")) for end in ends)
            seconds = (last - first).total_seconds()
            if seconds > PATIENCE:
                found.append(f"{cell.source.splitlines()[0][:40]!r} {seconds:.0f} s")
    return ", ".join(found) or f"none over {PATIENCE} s"


# ---- the command ---------------------------------------------------------------------------------


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("chosen", metavar="[NAME]...", nargs=-1)
@click.option("--solutions", type=click.Path(path_type=Path), help="Write them with solutions.")
@click.option("--nbgrader", type=click.Path(path_type=Path), help="Write sources for nbgrader.")
@click.option("--colab", type=(str, click.Path(path_type=Path)), metavar="OWNER/NAME PATH",
              help="Write them for Colab: badges, and a cell that installs.")  # fmt: skip
@click.option("--run", "ran", type=click.Path(path_type=Path), help="Run them: .ipynb and .html.")
def main(chosen, solutions, nbgrader, colab, ran):
    """Write notebooks/NAME.ipynb for students; or, with an option, other versions into a folder.

    FAST=1 makes --run quick.

    \b
    Examples:
      python scripts/write_notebooks.py 01-sixteen-bits
      python scripts/write_notebooks.py --run runs/notebooks 01-sixteen-bits
      python scripts/write_notebooks.py --colab OWNER/NAME colab
    """
    if colab and not REPOSITORY.fullmatch(colab[0]):
        raise click.BadParameter(f"expected OWNER/NAME, as on GitHub; got {colab[0]!r}")
    for name in chosen or names():
        if solutions:
            write(with_solutions(name), solutions / f"{name}.ipynb")
        elif nbgrader:
            write(for_nbgrader(name), nbgrader / "source" / name / f"{name}.ipynb")
        elif colab:
            write(for_colab(name, colab[0]), colab[1] / f"{name}.ipynb")
        elif ran:
            run_one(name, ran)
        else:
            write(for_students(name), NOTEBOOKS / f"{name}.ipynb")


def run_one(name: str, folder: Path) -> None:
    """Run one, and write what it has shown, also if it stops."""
    from lessons import page

    folder.mkdir(parents=True, exist_ok=True)
    notebook, began = with_solutions(name), time.perf_counter()
    try:
        run(notebook, folder)
    finally:
        took = time.perf_counter() - began
        write(notebook, folder / f"{name}.ipynb")
        cell = nbformat.v4.new_markdown_cell(glossary.path().read_text(encoding="utf-8"))
        words = page.page(nbformat.v4.new_notebook(cells=[cell]))
        files.write_all({
            folder / f"{name}.html": page.page(notebook), folder / "glossary.html": words,
        })  # fmt: skip
        click.echo(f"{name}: {took:.0f} s; cells: {slow_cells(notebook)}", err=True)


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Write a notebook that keeps to the format."""
    nbformat.validate(notebook)
    files.write(path, nbformat.writes(notebook) + "\n")


if __name__ == "__main__":
    sys.exit(main())
