"""The notebooks: each runs from top to bottom, shows its pictures and warns of nothing.

Their own asserts check what their sentences say. They are kept without outputs.
"""

import os
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}

# tqdm says so wherever it runs in a kernel without ipywidgets, and then draws its bars with text.
# On a machine where no kernel was compiled before, a line says that they are.
NO_WARNING = re.compile(
    r".*TqdmWarning: IProgress not found.*\n.*notebook_tqdm\n|.*minifp compiles its kernels.*"
)


def read(path):
    """The notebook in a file, checked against the format."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def executed(request, tmp_path_factory):
    """A notebook and the empty folder in which all its cells ran."""
    notebook, folder = read(request.param), tmp_path_factory.mktemp(request.param.stem)
    where = {"metadata": {"path": str(folder)}}
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where)
    client.execute(env={**os.environ, **ONE_THREAD})
    return notebook, folder


def outputs(notebook):
    """What all cells showed."""
    return [out for cell in notebook.cells for out in cell.get("outputs", ())]


def shown(notebook, kind):
    """What was shown of one MIME type."""
    return [out.data[kind] for out in outputs(notebook) if kind in out.get("data", ())]


def test_it_runs_in_an_empty_folder_warns_of_nothing_and_leaves_nothing(executed):
    notebook, folder = executed
    said = "".join(out.text for out in outputs(notebook) if out.get("name") == "stderr")
    assert NO_WARNING.sub("", said).strip() == ""
    assert not list(folder.iterdir())


def test_every_comparison_shows_its_pictures_and_their_numbers_as_tables(executed):
    notebook, _ = executed
    asked = sum("fp.compare(" in cell.source for cell in notebook.cells if is_code(cell))
    pages = shown(notebook, "text/html")
    assert asked == len(pages) > 0
    assert all("<table" in page.split("<iframe")[0] for page in pages)  # the card's
    assert all("<svg" in page.split("<iframe")[1] for page in pages)


def test_results_with_the_dial_say_what_it_means(executed):
    notebook, _ = executed
    dials = [re.search(r"dial=(\d+)", cell.source) for cell in notebook.cells if is_code(cell)]
    notes = [f"Exponent dial k = {dial[1]}" for dial in dials if dial]
    pages = "".join(shown(notebook, "text/html"))
    assert notes and all(note in pages for note in notes)


def test_every_prediction_is_answered_by_numbers_of_the_run(executed):
    notebook, _ = executed
    guesses = sum(cell.source.startswith("guess =") for cell in notebook.cells)
    answers = sum(text.startswith("You guessed") for text in shown(notebook, "text/markdown"))
    assert guesses == answers > 0


def is_code(cell):
    """Whether a cell is run."""
    return cell.cell_type == "code"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs_and_ends_with_what_a_gpu_changes(path):
    cells = read(path).cells
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]
    assert "real GPU" in cells[-1].source
    assert sum("assert " in cell.source for cell in cells if is_code(cell)) >= 3
