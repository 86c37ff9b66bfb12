"""The lessons: each is written from its source, has all that a lesson has, and runs: all of them
with `make notebooks`, those that are quick here, with FAST=1."""

import importlib
import os
import re
from pathlib import Path

import pytest
from loading import script as script_named

from minifp.report import in_notebook
from minifp.report.document import document, hash_of
from minifp.teach.exercise import all_exercises
from minifp.teach.lessons import LESSONS

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("jupytext")

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).resolve().parents[2]
RUN_HERE = ("01-sixteen-bits", "02-the-update-that-wasnt", "08-summing-in-half")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}

# What kernels of notebooks say of themselves, and minifp where no kernel was compiled before.
NO_WARNING = re.compile(
    r".*TqdmWarning: IProgress not found.*\n.*notebook_tqdm\n|.*minifp compiles its kernels.*"
)


def script():
    return script_named("write_notebooks")


NAMES = sorted(path.stem for path in (ROOT / "notebooks" / "source").glob("*.py"))


def code_of(name):
    cells = script().with_solutions(name).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize("name", NAMES)
def test_students_get_what_the_source_says(name):
    kept = (ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    written = nbformat.writes(script().for_students(name)) + "\n"
    assert kept == written, "write them again: python scripts/write_notebooks.py"


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_has_all_that_a_lesson_has(name):
    code, last = code_of(name), script().with_solutions(name).cells
    prose = "\n".join(cell.source for cell in last if cell.cell_type == "markdown")
    assert f'teach.begin("{name}")' in code
    answered = len(re.findall(r"(?<!fp)\.explain\(", code))
    assert code.count("teach.predict(") == answered > 0
    unmade = len(re.findall(r"=\.\.\.,?\s*\)", code))
    assert unmade == code.count("teach.predict("), "a guess is made for the student"
    assert "real GPU" in prose and "read next" in prose
    mine = [e.name for e in all_exercises().values() if e.lesson == name]
    asked = re.findall(r"teach\.check\((\w+)", code)
    assert sorted(mine) == sorted(asked)
    assert len(mine) >= 3 or name == "compare"


def test_every_lesson_has_its_source():
    assert {*NAMES} == {*LESSONS} | script().OF_A_CHECKOUT


@pytest.mark.parametrize("name", [name for name in RUN_HERE if name in NAMES])
def test_it_runs_in_an_empty_folder_warns_not_and_leaves_nothing(name, tmp_path, monkeypatch):
    for key, value in {"FAST": "1", **ONE_THREAD}.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("MINIFP_TEACH", os.environ.get("MINIFP_TEACH", ""))  # run sets it
    notebook = script().with_solutions(name)
    script().run(notebook, tmp_path)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    said = "".join(out.text for out in outputs if out.get("name") == "stderr")
    assert NO_WARNING.sub("", said).strip() == ""
    assert not list(tmp_path.iterdir())
    assert any("image/png" in out.get("data", ()) for out in outputs)
    assert any("<table" in out.get("data", {}).get("text/html", "") for out in outputs)
    assert not any("waits for your prediction" in str(out) for out in outputs)


def test_solutions_are_taken_out_for_students_and_kept_for_graders():
    module = script()
    source = "def f(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION\n"
    left = "def f(x):\n    raise NotImplementedError  # your turn\n"
    assert module.SOLUTION.sub(module.to_write, source) == left
    value = "### BEGIN SOLUTION\nlargest = 65504\n### END SOLUTION"
    assert module.SOLUTION.sub(module.to_write, value) == "largest = ...  # your turn\n"
    graded = [c for c in module.for_nbgrader("01-sixteen-bits").cells if "nbgrader" in c.metadata]
    kinds = [(c.metadata["nbgrader"]["solution"], c.metadata["nbgrader"]["grade"]) for c in graded]
    assert kinds == [(True, False), (False, True)] * (len(kinds) // 2) != []
    (asked,) = (c.source for c in graded if c.source.endswith("= 2.0**-25\n### END SOLUTION"))
    assert asked.startswith("zero_up_to = ...  # your turn\n### BEGIN SOLUTION\nzero_up_to = ")


def test_for_colab_a_badge_and_a_cell_that_installs_come_first():
    badge, install, *cells = script().for_colab("01-sixteen-bits", "somebody/minifp").cells
    assert "/github/somebody/minifp/blob/main/colab/01-sixteen-bits.ipynb)" in badge.source
    wanted = "minifp[plot] @ git+https://github.com/somebody/minifp"
    assert install.source == f'%pip install --quiet "{wanted}"'
    assert cells == script().for_students("01-sixteen-bits").cells
    clone = script().for_colab("on-a-gpu", "somebody/minifp").cells[1].source
    assert clone == "!git clone --quiet https://github.com/somebody/minifp minifp-checkout"


def test_a_page_fetches_nothing_and_sets_its_formulas():
    cells = [
        nbformat.v4.new_markdown_cell("# Halves\n\nBelow $2^{-25}$, `cost = $5` and $3$."),
        nbformat.v4.new_code_cell("print('$x$')"),
    ]
    page = script_named("lessons/page").page(nbformat.v4.new_notebook(cells=cells))
    assert page.count("<math") == 2 and "cost = $5" in page and "$x$" in page
    assert "font-src data:" in page and page.count("data:font/woff2") == 1
    assert "<title>Halves</title>" in page and "https://" not in page.replace("xmlns", "")


def test_the_script_of_a_page_in_a_frame_is_allowed():
    """By its hash: that of a comparison, which a lesson shows with `fp.compare`."""
    card = in_notebook.card("c", "", document("c", "", script="let a = '&<1>';"))
    output = nbformat.v4.new_output("display_data", {"text/html": card})
    cells = [nbformat.v4.new_markdown_cell("# A"), nbformat.v4.new_code_cell(outputs=[output])]
    page = script_named("lessons/page").page(nbformat.v4.new_notebook(cells=cells))
    framed = importlib.import_module("lessons.page").scripts_in_frames
    (inside,) = framed(page.replace("<script>", "<other>"))
    assert "let a = '&<1>';" in inside
    assert f"'sha256-{hash_of(inside)}'" in page.partition("script-src")[2].partition('"')[0]


def test_where_there_are_widgets_there_are_buttons_and_sliders(tmp_path, monkeypatch):
    """In a kernel that somebody uses; elsewhere the same are pictures."""
    pytest.importorskip("ipywidgets")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.delenv("MINIFP_TEACH", raising=False)
    code = (
        "from minifp import teach\nteach.bits(0.1)",
        "def draw(log2_scale):\n    print(f'S is 2^{log2_scale}')\n"
        "teach.explore(draw, log2_scale=(0, 24, 8))",
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in code])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [out.get("data", {}) for cell in notebook.cells for out in cell.outputs]
    view = "application/vnd.jupyter.widget-view+json"
    assert sum(view in data for data in shown) == 2
    state = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    kinds = [one["model_name"] for one in state.values()]
    assert kinds.count("ToggleButtonModel") == 16 and kinds.count("IntSliderModel") == 1
    assert "S is 2^8" in str(state) and "0.0999755859375" in str(state)
